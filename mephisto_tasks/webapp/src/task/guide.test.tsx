import { act, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../test/axe";
import { CHOOSE, CONFIG, MESSAGE, pageState, PAIR, panel } from "../test/fakes";
import { renderTask } from "../test/renderTask";

const GUIDE = {
  practice: [
    { at: "replies", text: "Read both replies." },
    { at: "send", text: "Press Continue." },
    { at: "a part of tomorrow", text: "Never seen." },
  ],
  task: [
    { at: "message", text: "Write a message." },
    { at: "replies", text: "Choose a reply." },
    { at: "reason", text: "Say why." },
    { at: "chats", text: "Read the chat." },
  ],
};
const config = { ...CONFIG, guide: GUIDE };
const WITHOUT_REASON = { ...CHOOSE, reason: null };

/** The sentences in sight, and what a screen reader is told. */
function shown(): [string[], string] {
  const texts = [...document.querySelectorAll("[data-guide]:not([data-past])")].map((sentence) => sentence.textContent);
  return [texts, screen.getByTestId("guide").textContent];
}

describe("the guide", () => {
  it("leads from part to part by what one does, and says each sentence aloud without taking the focus", async () => {
    renderTask(pageState(1, WITHOUT_REASON, { phase: "practice", guided: true }), {}, config);
    const question = screen.getByRole("heading", { name: CHOOSE.question });
    expect(question).toHaveFocus();
    expect(shown()).toEqual([["Read both replies."], "Read both replies."]);
    expect(screen.getByTestId("guide")).toHaveAttribute("role", "status");
    await userEvent.keyboard("1");
    expect(shown()).toEqual([["Press Continue."], "Press Continue."]);
    expect(screen.getAllByRole("radio")[0]).toHaveFocus();
    // Its place stays, so that the replies do not jump beneath the finger.
    expect(document.querySelector("[data-guide='replies']")).toHaveAttribute("data-past");
    expect(await axeViolations()).toEqual([]);
  });

  it("says a sentence in one step only, also after a reload", async () => {
    const next = { ...WITHOUT_REASON, step_id: "c2" };
    const first = renderTask(pageState(1, WITHOUT_REASON, { phase: "practice", guided: true }), {}, config);
    await userEvent.keyboard("1");
    first.show(pageState(2, next, { phase: "practice", guided: true }));
    expect(shown()).toEqual([[], ""]);
    first.unmount();
    renderTask(pageState(2, next, { phase: "practice", guided: true }), {}, config);
    await userEvent.keyboard("1");
    expect(shown()).toEqual([[], ""]);
  });

  it("stays at a step that was not answered yet, also after a reload and a refusal", () => {
    const state = pageState(1, MESSAGE, { guided: true });
    const first = renderTask(state, {}, config);
    expect(shown()[0]).toEqual(["Write a message."]);
    first.show(pageState(2, MESSAGE, { guided: true, notice: { level: "error", text: "Too short.", points: [] } }));
    expect(shown()[0]).toEqual(["Write a message."]);
    first.unmount();
    renderTask(state, {}, config);
    expect(shown()[0]).toEqual(["Write a message."]);
  });

  it("comes to a part when there is something to do at it: the reason after the choice", async () => {
    const { show } = renderTask(pageState(1, MESSAGE, { guided: true }), {}, config);
    show(pageState(2, CHOOSE, { guided: true }));
    expect(shown()[0]).toEqual(["Choose a reply."]);
    await userEvent.keyboard("2");
    expect(shown()[0]).toEqual(["Say why."]);
  });

  it("is over at replies once one of them is chosen, also where nothing else is said, and keeps its place", async () => {
    const alone = { ...config, guide: { ...GUIDE, task: GUIDE.task.slice(1, 2) } };
    renderTask(pageState(1, CHOOSE, { guided: true }), {}, alone);
    expect(shown()).toEqual([["Choose a reply."], "Choose a reply."]);
    await userEvent.keyboard("2");
    expect(shown()).toEqual([[], ""]);
    expect(document.querySelector("[data-guide='replies']")).toHaveAttribute("data-past");
  });

  it("stands above finished chats that are to be read first", () => {
    renderTask(pageState(1, PAIR, { guided: true, panels: [panel("Conversation 1", ["Hi!"])] }), {}, config);
    expect(shown()[0]).toEqual(["Read the chat."]);
  });

  it("is not for who knows the task, nor where there is none, nor when all is over", () => {
    const known = renderTask(pageState(1, MESSAGE), {}, config);
    expect(shown()).toEqual([[], ""]);
    act(() => known.show(pageState(2, MESSAGE, { guided: true, phase: "ended" })));
    expect(shown()).toEqual([[], ""]);
    known.unmount();
    renderTask(pageState(1, MESSAGE, { guided: true }));
    expect(shown()).toEqual([[], ""]);
  });
});
