import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { PAIR, pageState, panel, SPOT } from "../../test/fakes";
import { AGENT_ID, pendingAnswer, renderTask } from "../../test/renderTask";
import { EMPTY_DRAFT, writeDraft } from "../../wire/drafts";
import type { FormStep } from "../../wire/state";

const PANELS = [panel("Conversation", ["Hi!", "Hello."])];
const state = (version: number, step: FormStep) => pageState(version, step, { panels: PANELS });
const group = (name: string) => screen.getByRole("radiogroup", { name });
const radio = (question: string, name: string) => within(group(question)).getByRole("radio", { name });
const reason = () => screen.getByLabelText("Why?");
const go = () => userEvent.click(screen.getByRole("button", { name: "Continue" }));

describe("several short questions", () => {
  it("stand in groups, each a radio group under its question", async () => {
    renderTask(state(1, SPOT));
    expect(screen.getByRole("form", { name: "Questions" })).toBeVisible();
    const first = screen.getByRole("group", { name: "Human or bot?" });
    expect(within(first).getAllByRole("radiogroup")).toHaveLength(2);
    expect(within(screen.getByRole("group", { name: "Who is better?" })).getAllByRole("radiogroup")).toHaveLength(1);
    expect(await axeViolations()).toEqual([]);
  });

  it("are answered by numbers alone, one after the other, and Enter", async () => {
    const { onAnswer } = renderTask(state(1, SPOT));
    await userEvent.keyboard("132{Enter}");
    const values = { label_0: "human", label_1: "bot", fluent: "same" };
    expect(onAnswer.mock.calls).toEqual([[{ kind: "form", step_id: "f2", values, reasons: {} }]]);
  });

  it("let a number change the question that has the focus", async () => {
    renderTask(state(1, SPOT));
    await userEvent.keyboard("13");
    await userEvent.click(radio("What is Speaker A?", "Human"));
    await userEvent.keyboard("2");
    expect(radio("What is Speaker A?", "Unsure")).toBeChecked();
    expect(radio("What is Speaker A?", "Unsure")).toHaveFocus();
    expect(screen.getByText("2 of 3 answered")).toBeVisible();
  });

  it("ignore a number that no option has", async () => {
    renderTask(state(1, SPOT));
    await userEvent.keyboard("40");
    expect(screen.queryByRole("radio", { checked: true })).toBeNull();
  });

  it("say what is missing, name it, and lead there", async () => {
    const { onAnswer } = renderTask(state(1, SPOT));
    await userEvent.click(radio("What is Speaker A?", "Bot"));
    await go();
    expect(onAnswer).not.toHaveBeenCalled();
    expect(screen.getByRole("alert")).toHaveTextContent("2 questions still need an answer. The first: “What is Speaker B?”");
    expect(radio("What is Speaker B?", "Human")).toHaveFocus();
    expect(group("What is Speaker B?")).toHaveAccessibleDescription("Not answered yet");
    expect(group("What is Speaker A?")).not.toHaveAttribute("aria-invalid");
    expect(await axeViolations()).toEqual([]);
    await userEvent.keyboard("1");
    expect(screen.getByRole("alert")).toHaveTextContent("Not answered yet: “Who is more fluent?”");
    await userEvent.keyboard("1");
    expect(screen.queryByRole("alert")).toBeNull();
    await userEvent.keyboard("{Enter}");
    expect(onAnswer).toHaveBeenCalledTimes(1);
  });

  it("come back after a reload", async () => {
    const { unmount } = renderTask(state(1, SPOT));
    await userEvent.keyboard("2");
    unmount();
    renderTask(state(1, SPOT));
    expect(radio("What is Speaker A?", "Unsure")).toBeChecked();
  });

  it("forget questions and options in the draft that are not shown", async () => {
    writeDraft(AGENT_ID, "f2", { ...EMPTY_DRAFT, picks: { label_0: "robot", gone: "x", label_1: "bot" } });
    const { onAnswer } = renderTask(state(1, SPOT));
    expect(screen.getByText("1 of 3 answered")).toBeVisible();
    await userEvent.keyboard("13{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ values: { label_0: "human", label_1: "bot", fluent: "b" } });
  });

  it("cannot be changed or sent twice while the answer is on its way", async () => {
    const { onAnswer, show } = renderTask(state(1, SPOT));
    await userEvent.keyboard("111");
    show(state(1, SPOT), { pending: pendingAnswer("f2") });
    await userEvent.click(radio("What is Speaker A?", "Bot"));
    await userEvent.keyboard("2{Enter}");
    await userEvent.click(screen.getByRole("button", { name: "Sending…" }));
    expect(radio("What is Speaker A?", "Human")).toBeChecked();
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("begin anew with the next step", async () => {
    const { show } = renderTask(state(1, SPOT));
    await userEvent.keyboard("111");
    show(state(2, { ...SPOT, step_id: "f3" }));
    expect(screen.getByText("0 of 3 answered")).toBeVisible();
  });
});

describe("one question with a reason", () => {
  it("is the heading itself, and works with keys alone: 2, a reason, Enter", async () => {
    const { onAnswer } = renderTask(state(1, PAIR));
    expect(screen.getByRole("heading", { name: "Who is nicer?" })).toBeVisible();
    expect(screen.queryByLabelText("Why?")).toBeNull();
    await userEvent.keyboard("2");
    expect(radio("Who is nicer?", "Speaker 2")).toBeChecked();
    expect(reason()).toHaveFocus();
    await userEvent.keyboard("it asks{Enter}");
    expect(onAnswer.mock.calls).toEqual([
      [{ kind: "form", step_id: "f1", values: { preference: "second" }, reasons: { preference: "it asks" } }],
    ]);
  });

  it("takes a digit in the reason for text, and Alt with a digit for a choice", async () => {
    renderTask(state(1, PAIR));
    await userEvent.keyboard("1");
    await userEvent.click(reason());
    await userEvent.keyboard("1{Alt>}2{/Alt}");
    expect(reason()).toHaveValue("1");
    expect(radio("Who is nicer?", "Speaker 2")).toBeChecked();
  });

  it("wants the choice first, then the reason", async () => {
    const { onAnswer } = renderTask(state(1, PAIR));
    await go();
    expect(screen.getByRole("alert")).toHaveTextContent("Choose an answer before you continue.");
    expect(group("Who is nicer?")).toHaveAccessibleDescription("Choose an answer before you continue.");
    expect(radio("Who is nicer?", "Speaker 1")).toHaveFocus();
    await userEvent.keyboard("1{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("Your reason is still empty. Please write at least 2 words.");
    expect(reason()).toHaveFocus();
    expect(await axeViolations()).toEqual([]);
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("keeps the reason over a reload and a refusal", async () => {
    const { unmount } = renderTask(state(1, PAIR));
    await userEvent.keyboard("1");
    await userEvent.type(reason(), "because so");
    unmount();
    const { show } = renderTask(state(1, PAIR));
    expect(reason()).toHaveValue("because so");
    show(pageState(2, PAIR, { panels: PANELS, notice: { level: "error", text: "In other words, please.", points: [] } }));
    expect(reason()).toHaveValue("because so");
  });

  it("may go without a reason that is optional, but not with half of one", async () => {
    const optional: FormStep = {
      ...PAIR,
      questions: PAIR.questions.map((one) => ({ ...one, reason: { label: "Why?", required: false, min_words: 2 } })),
    };
    const { onAnswer } = renderTask(state(1, optional));
    await userEvent.keyboard("1");
    await userEvent.type(screen.getByLabelText("Why? (optional)"), "hm{Enter}");
    expect(onAnswer).not.toHaveBeenCalled();
    await userEvent.clear(screen.getByLabelText("Why? (optional)"));
    await go();
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ reasons: { preference: "" } });
  });
});
