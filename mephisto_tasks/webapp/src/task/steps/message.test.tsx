import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { MESSAGE, pageState } from "../../test/fakes";
import { pendingAnswer, renderTask } from "../../test/renderTask";

const field = () => screen.getByLabelText("Your message");

describe("writing a message", () => {
  it("has the focus at once; Enter sends what was typed, to the letter", async () => {
    const { onAnswer } = renderTask(pageState(1, MESSAGE));
    expect(field()).toHaveFocus();
    await userEvent.keyboard(" hello  <b>you</b>{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "message", step_id: "m1", text: " hello  <b>you</b>" }]]);
  });

  it("starts a new line with Shift+Enter", async () => {
    const { onAnswer } = renderTask(pageState(1, MESSAGE));
    await userEvent.keyboard("one{Shift>}{Enter}{/Shift}two");
    expect(field()).toHaveValue("one\ntwo");
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("runs as the language does that is written, and before that as the page", async () => {
    renderTask(pageState(1, MESSAGE));
    expect(field()).not.toHaveAttribute("dir");
    await userEvent.keyboard("שלום");
    expect(field()).toHaveAttribute("dir", "auto");
  });

  it("leaves the Enter that ends a composed character to the input method", async () => {
    const { onAnswer } = renderTask(pageState(1, MESSAGE));
    await userEvent.keyboard("two words");
    field().dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true }));
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("says what is missing, and keeps the focus where it can be mended", async () => {
    const { onAnswer } = renderTask(pageState(1, MESSAGE));
    expect(screen.getByText("At least 2 words, 0 so far")).toBeVisible();
    await userEvent.keyboard("hello");
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    expect(onAnswer).not.toHaveBeenCalled();
    expect(screen.getByText("Your message needs at least 2 words; it has 1 so far.")).toHaveAttribute("role", "alert");
    expect(field()).toHaveFocus();
    expect(field()).toBeInvalid();
  });

  it("counts characters near the limit, as Python does, and refuses what is longer without cutting it", async () => {
    const { onAnswer } = renderTask(pageState(1, MESSAGE));
    await userEvent.keyboard(`ab c${"😀".repeat(45)}`);
    expect(screen.getByText("49 of 60 characters")).toBeVisible();
    await userEvent.keyboard(`${"😀".repeat(12)}{Enter}`);
    expect(onAnswer).not.toHaveBeenCalled();
    expect(screen.getByText("Your message is 1 character too long.")).toBeVisible();
  });

  it("keeps the counter's line once there are enough words, so that the button stays where it is", async () => {
    renderTask(pageState(1, MESSAGE));
    const line = screen.getByText("At least 2 words, 0 so far");
    await userEvent.keyboard("hello ...");
    expect(line).toHaveTextContent("At least 2 words, 1 so far");
    await userEvent.keyboard(" you");
    expect(line).toHaveTextContent("Enough words");
    expect(screen.getByRole("button", { name: "Send" })).not.toHaveAttribute("data-unready");
  });

  it("says in the counter, in the colour of errors, by how much a text is too long", async () => {
    renderTask(pageState(1, { ...MESSAGE, max_chars: 2_000 }));
    field().focus();
    await userEvent.paste(`${"a".repeat(1_998)} b`);
    expect(screen.getByText("2,000 of 2,000 characters").className).not.toContain("wrong");
    await userEvent.paste("b".repeat(8_000));
    expect(screen.getByText("Too long by 8,000 characters (10,000 of 2,000)").className).toContain("wrong");
    expect(await axeViolations()).toEqual([]);
  });

  it("cannot be sent twice or changed while it is on its way", async () => {
    const { onAnswer, show } = renderTask(pageState(1, MESSAGE));
    await userEvent.keyboard("hello there");
    show(pageState(1, MESSAGE), { pending: pendingAnswer("m1") });
    await userEvent.keyboard("!!{Enter}");
    await userEvent.click(screen.getByRole("button", { name: "Sending…" }));
    expect(field()).toHaveValue("hello there");
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("comes back after a reload as it was left", async () => {
    const { unmount } = renderTask(pageState(1, MESSAGE));
    await userEvent.keyboard("half a sent");
    unmount();
    renderTask(pageState(1, MESSAGE));
    expect(field()).toHaveValue("half a sent");
  });

  it("keeps what was typed when the server refuses it", async () => {
    const { show } = renderTask(pageState(1, MESSAGE));
    await userEvent.keyboard("hello there");
    show(pageState(1, MESSAGE), { pending: pendingAnswer("m1") });
    show(pageState(2, MESSAGE, { notice: { level: "error", text: "Please write a sentence.", points: [] } }));
    expect(screen.getByRole("alert")).toHaveTextContent("Please write a sentence.");
    expect(field()).toHaveValue("hello there");
  });

  it("starts empty at the next message", async () => {
    const { show } = renderTask(pageState(1, MESSAGE));
    await userEvent.keyboard("hello there");
    show(pageState(3, { ...MESSAGE, step_id: "m2" }));
    expect(field()).toHaveValue("");
  });

  it("has no violation, with and without a problem", async () => {
    renderTask(pageState(1, MESSAGE));
    expect(await axeViolations()).toEqual([]);
    await userEvent.keyboard("{Enter}");
    expect(await axeViolations()).toEqual([]);
  });
});
