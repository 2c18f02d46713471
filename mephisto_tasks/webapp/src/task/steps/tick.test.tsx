import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { pageState, TICK } from "../../test/fakes";
import { pendingAnswer, renderTask } from "../../test/renderTask";

const box = (name: string) => screen.getByRole("checkbox", { name });
const go = () => userEvent.click(screen.getByRole("button", { name: "Continue" }));

describe("ticking what applies", () => {
  it("asks about the reply, which stands between question and options as text", async () => {
    renderTask(pageState(1, { ...TICK, reply: { candidate_id: "r", text: "<b>Hm</b>" } }));
    expect(screen.getByRole("heading", { name: TICK.question })).toHaveFocus();
    expect(screen.getByRole("figure", { name: "The reply to judge" })).toHaveTextContent("Partner<b>Hm</b>");
    expect(screen.getByRole("group", { name: TICK.question })).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("asks about the whole conversation without a reply", () => {
    renderTask(pageState(1, { ...TICK, reply: null }));
    expect(screen.queryByRole("figure")).toBeNull();
  });

  it("works with keys alone, and sends what is ticked in shown order", async () => {
    const { onAnswer } = renderTask(pageState(1, TICK));
    await userEvent.keyboard("31{Enter}");
    expect(onAnswer.mock.calls).toEqual([
      [{ kind: "tick", step_id: "t1", selected: ["engaging", "interesting"], none: false, reason: "" }],
    ]);
  });

  it("says what is missing also when Enter is pressed before anything is chosen", async () => {
    const { onAnswer } = renderTask(pageState(1, TICK));
    await userEvent.keyboard("{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("Choose an answer, or “None of these”, before you continue.");
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("wants “none” said explicitly, with 0 or a click", async () => {
    const { onAnswer } = renderTask(pageState(1, TICK));
    await go();
    expect(screen.getByRole("alert")).toHaveTextContent("Choose an answer, or “None of these”, before you continue.");
    expect(onAnswer).not.toHaveBeenCalled();
    await userEvent.keyboard("20");
    expect(box("Human-like")).not.toBeChecked();
    expect(box("None of these")).toBeChecked();
    expect(box("None of these")).toHaveFocus();
    await go();
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: [], none: true });
  });

  it("is one choice among radios where one is asked for, without “none” where something must be said", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...TICK, min_choices: 1, max_choices: 1, none_label: null }));
    expect(screen.getAllByRole("radio").map((radio) => radio.closest("label")?.textContent)).toEqual([
      "1Engaging",
      "2Human-like",
      "3Interesting",
    ]);
    await userEvent.keyboard("0");
    expect(screen.queryByRole("radio", { checked: true })).toBeNull();
    await userEvent.click(screen.getByRole("radio", { name: "Interesting" }));
    await userEvent.keyboard("2{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: ["human"], none: false });
  });

  it("asks for a reason where one is wanted", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...TICK, reason: { label: "Why?", required: true, min_words: 2 } }));
    await userEvent.keyboard("1{Enter}");
    expect(screen.getByLabelText("Why?")).toHaveFocus();
    expect(screen.queryByRole("alert")).toBeNull();
    await userEvent.keyboard("{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("Your reason is still empty. Please write at least 2 words.");
    await userEvent.keyboard("it asks{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: ["engaging"], reason: "it asks" });
  });

  it("comes back after a reload, and cannot be changed while it is on its way", async () => {
    const { unmount } = renderTask(pageState(1, TICK));
    await userEvent.keyboard("0");
    unmount();
    const { onAnswer, show } = renderTask(pageState(1, TICK));
    expect(box("None of these")).toBeChecked();
    show(pageState(1, TICK), { pending: pendingAnswer("t1") });
    await userEvent.keyboard("1");
    await userEvent.click(screen.getByRole("button", { name: "Sending…" }));
    expect(box("None of these")).toBeChecked();
    expect(onAnswer).not.toHaveBeenCalled();
  });
});
