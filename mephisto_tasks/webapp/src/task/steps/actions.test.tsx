import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { action, MESSAGE, pageState } from "../../test/fakes";
import { pendingAnswer, renderTask } from "../../test/renderTask";
import type { Action, MessageStep } from "../../wire/state";

const withActions = (...actions: Action[]): MessageStep => ({ ...MESSAGE, actions });
const button = (name: string) => screen.getByRole("button", { name });
const press = (name: string) => userEvent.click(button(name));
const field = () => screen.getByLabelText("Your message");
const dialog = (name: string) => screen.findByRole("dialog", { name });
const gone = () => waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());

describe("actions beside a message", () => {
  it("are sent when they are pressed", async () => {
    const { onAnswer } = renderTask(pageState(1, withActions(action("skip", "Skip"))));
    await press("Skip");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "action", step_id: "m1", action_id: "skip", text: "" }]]);
  });

  it("stand together under the name of their group", async () => {
    const names = ["A is better", "B is better", "Tie", "Both are bad"];
    const verdicts = names.map((name, index) => action(`v${index}`, name, { group: "Your verdict" }));
    const { onAnswer } = renderTask(pageState(1, withActions(...verdicts, action("skip", "Skip"))));
    const group = screen.getByRole("group", { name: "Your verdict" });
    expect(within(group).getAllByRole("button").map((one) => one.textContent)).toEqual(names);
    expect(await axeViolations()).toEqual([]);
    await press("Tie");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ action_id: "v2" });
  });

  it("of a group say once what they have in common, and answer to number keys, with Alt while one types", async () => {
    const shared = { group: "Who is better?", hint: "It ends the chat.", confirm: "Sure?" };
    const step = withActions(action("a", "A is better", shared), action("b", "B is better", shared), action("skip", "Skip"));
    const { onAnswer } = renderTask(pageState(1, step));
    expect(screen.getAllByText("It ends the chat.")).toHaveLength(1);
    expect(screen.getByText("Keys: 1 or 2 (plus Alt while typing).")).toBeInTheDocument();
    await userEvent.keyboard("1{Alt>}3{/Alt}");
    expect(field()).toHaveValue("1");
    expect(screen.queryByRole("dialog")).toBeNull();
    await userEvent.keyboard("{Alt>}2{/Alt}");
    const asked = await dialog("B is better");
    await waitFor(() => expect(within(asked).getByRole("button", { name: "B is better" })).toHaveFocus());
    await userEvent.keyboard("{Enter}");
    await gone();
    expect(onAnswer.mock.calls).toEqual([[{ kind: "action", step_id: "m1", action_id: "b", text: "" }]]);
  });

  it("ask once more where they are to be meant, and Cancel does nothing", async () => {
    const { onAnswer } = renderTask(pageState(1, withActions(action("end", "End it", { confirm: "You cannot come back." }))));
    await press("End it");
    const asked = await dialog("End it");
    expect(asked).toHaveTextContent("You cannot come back.");
    expect(await axeViolations()).toEqual([]);
    await userEvent.click(within(asked).getByRole("button", { name: "Cancel" }));
    await gone();
    expect(onAnswer).not.toHaveBeenCalled();
    expect(button("End it")).toHaveFocus();
    await press("End it");
    await userEvent.click(within(await dialog("End it")).getByRole("button", { name: "End it" }));
    await gone();
    expect(onAnswer.mock.calls).toEqual([[{ kind: "action", step_id: "m1", action_id: "end", text: "" }]]);
  });

  it("ask for their text, which must not be empty, and leave the message as it is", async () => {
    const { onAnswer } = renderTask(pageState(1, withActions(action("topic", "New topic", { text_label: "Which one?" }))));
    await userEvent.keyboard("half a mess");
    await press("New topic");
    const asked = await dialog("New topic");
    const text = within(asked).getByLabelText("Which one?");
    await waitFor(() => expect(text).toHaveFocus());
    await userEvent.keyboard("{Enter}");
    expect(within(asked).getByRole("alert")).toHaveTextContent("This field is still empty.");
    expect(await axeViolations()).toEqual([]);
    await userEvent.keyboard("Cats{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "action", step_id: "m1", action_id: "topic", text: "Cats" }]]);
    expect(field()).toHaveValue("half a mess");
  });

  it("keep a half-written text when the dialog is closed, and after a reload", async () => {
    const step = withActions(action("topic", "New topic", { text_label: "Which one?" }));
    const { unmount } = renderTask(pageState(1, step));
    await press("New topic");
    await userEvent.type(await screen.findByLabelText("Which one?"), "Ca");
    await userEvent.keyboard("{Escape}");
    await gone();
    unmount();
    renderTask(pageState(1, step));
    await press("New topic");
    expect(await screen.findByLabelText("Which one?")).toHaveValue("Ca");
  });

  it("that are not to be had yet can be reached, and say why instead of being sent", async () => {
    const waiting = action("end", "End it", { enabled: false, hint: "after 3 more messages", confirm: "Sure?" });
    const { onAnswer } = renderTask(pageState(1, withActions(waiting)));
    expect(button("End it")).toHaveAttribute("aria-disabled", "true");
    expect(button("End it")).toHaveAccessibleDescription("after 3 more messages");
    button("End it").focus();
    await userEvent.keyboard("{Enter}");
    expect(screen.getByText("after 3 more messages", { selector: "p *" })).toBeVisible();
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(onAnswer).not.toHaveBeenCalled();
    expect(await axeViolations()).toEqual([]);
  });

  it("cannot be pressed while an answer is on its way", async () => {
    const step = withActions(action("skip", "Skip"), action("end", "End it", { enabled: false }));
    const { onAnswer, show } = renderTask(pageState(1, step));
    show(pageState(1, step), { pending: pendingAnswer("m1") });
    await press("Skip");
    await press("End it");
    expect(onAnswer).not.toHaveBeenCalled();
  });
});

describe("suggestions", () => {
  const STEP: MessageStep = { ...MESSAGE, suggestions: ["Do you cook?", "Do you read?", "Do you sail?", "Do you <b>sing</b>?"] };
  const offered = async () =>
    within(await dialog("Suggested topics"))
      .getAllByRole("listitem")
      .map((item) => item.textContent);

  it("come three at a time, and one is put into the field, which has the focus then", async () => {
    const { onAnswer } = renderTask(pageState(1, STEP));
    await press("Topic ideas");
    expect(await offered()).toEqual(STEP.suggestions.slice(0, 3));
    expect(await axeViolations()).toEqual([]);
    await press("More suggestions");
    expect(await offered()).toEqual(["Do you <b>sing</b>?"]);
    await press("More suggestions");
    expect(await offered()).toEqual(STEP.suggestions.slice(0, 3));
    await press("Do you sail?");
    await gone();
    expect(field()).toHaveValue("Do you sail?");
    await waitFor(() => expect(field()).toHaveFocus());
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("replace what was written only when asked to", async () => {
    renderTask(pageState(1, STEP));
    await userEvent.keyboard("my own words");
    await press("Topic ideas");
    await userEvent.click(await screen.findByRole("button", { name: "Do you cook?" }));
    const asked = await dialog("Replace what you have written?");
    expect(asked).toHaveTextContent("Do you cook?");
    await press("Keep mine");
    await gone();
    expect(field()).toHaveValue("my own words");
    await press("Topic ideas");
    await userEvent.click(await screen.findByRole("button", { name: "Do you cook?" }));
    await press("Replace it");
    expect(field()).toHaveValue("Do you cook?");
  });

  it("take the place of one another without a question", async () => {
    renderTask(pageState(1, STEP));
    for (const suggestion of ["Do you cook?", "Do you read?"]) {
      await press("Topic ideas");
      await userEvent.click(await screen.findByRole("button", { name: suggestion }));
      await gone();
    }
    expect(field()).toHaveValue("Do you read?");
  });

  it("have no button where there are none", () => {
    renderTask(pageState(1, MESSAGE));
    expect(screen.queryByRole("button", { name: "Topic ideas" })).toBeNull();
  });
});
