import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { axeViolations } from "../../test/axe";
import { CHOOSE, pageState } from "../../test/fakes";
import { AGENT_ID, pendingAnswer, renderTask } from "../../test/renderTask";
import { EMPTY_DRAFT, writeDraft } from "../../wire/drafts";
import type { ChooseStep } from "../../wire/state";

const SAID = [{ entry_id: "e1", speaker: "you" as const, text: "Do you sail?", note: null, column: null, growing: false }];

const MANY: ChooseStep = {
  ...CHOOSE,
  step_id: "many",
  cards: [...CHOOSE.cards, { candidate_id: "c", text: "Third reply" }],
  min_choices: 0,
  max_choices: 2,
  none_label: "None of these",
  reason: null,
};

const first = () => screen.getByRole("radio", { name: "Reply 1 First reply" });
const second = () => screen.getByRole("radio", { name: "Reply 2 Second reply" });
const box = (name: string) => screen.getByRole("checkbox", { name });
const reason = () => screen.getByLabelText("Why?");
const go = () => userEvent.click(screen.getByRole("button", { name: "Continue" }));

describe("choosing one reply", () => {
  it("keeps the answered line beside the question, for narrow windows, also in the practice", () => {
    renderTask(pageState(1, CHOOSE, { transcript: SAID, phase: "practice" }));
    expect(document.querySelector("[data-pinned]")).toHaveTextContent("Do you sail?");
  });

  it("folds a question that was answered before, and shows all of it on demand", async () => {
    vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(20);
    const height = vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(60);
    window.ResizeObserver = class {
      constructor(measure: ResizeObserverCallback) {
        this.observe = () => measure([], this);
      }
      observe: () => void;
      unobserve = vi.fn();
      disconnect = vi.fn();
    };
    const turn = (current: number) => ({ progress: { unit: "turn", current, total: 6, minimum: null } as const });
    const { show } = renderTask(pageState(1, CHOOSE, turn(1)));
    const unfold = () => screen.queryByRole("button", { name: "Show the whole question" });
    expect(unfold()).toBeNull();
    show(pageState(2, { ...CHOOSE, step_id: "c2" }, turn(2)));
    expect(screen.getByRole("heading", { name: CHOOSE.question })).toHaveFocus();
    expect(unfold()).toHaveAttribute("aria-expanded", "false");
    await userEvent.click(unfold() ?? document.body);
    height.mockReturnValue(20);
    expect(unfold()).toHaveAttribute("aria-expanded", "true");
    expect(await axeViolations()).toEqual([]);
  });

  it("begins at the question, which names the group", () => {
    renderTask(pageState(1, CHOOSE));
    expect(screen.getByRole("heading", { name: CHOOSE.question })).toHaveFocus();
    expect(screen.getByRole("radiogroup", { name: CHOOSE.question })).toBeVisible();
  });

  it("works with keys alone: 2, a reason, Enter", async () => {
    const { onAnswer } = renderTask(pageState(1, CHOOSE));
    await userEvent.keyboard("2");
    expect(second()).toBeChecked();
    expect(reason()).toHaveFocus();
    await userEvent.keyboard("it asks{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "choose", step_id: "c1", selected: ["b"], none: false, reason: "it asks" }]]);
  });

  it("shows the chosen reply above the reason that is asked for then, and moves nothing before", async () => {
    const uncovered: string[] = [];
    vi.spyOn(Element.prototype, "scrollIntoView").mockImplementation(function (this: Element) {
      uncovered.push(this.textContent);
    });
    renderTask(pageState(1, CHOOSE));
    expect(uncovered).toEqual([]);
    await userEvent.click(second());
    await waitFor(() => expect(uncovered).toEqual([expect.stringContaining("Second reply")]));
    await userEvent.type(reason(), "it asks");
    expect(uncovered).toHaveLength(1);
  });

  it("takes a digit in the reason for text, and Alt with a digit for a choice", async () => {
    renderTask(pageState(1, CHOOSE));
    await userEvent.click(second());
    await userEvent.click(reason());
    await userEvent.keyboard("1");
    expect(reason()).toHaveValue("1");
    expect(second()).toBeChecked();
    await userEvent.keyboard("{Alt>}1{/Alt}");
    expect(first()).toBeChecked();
    expect(reason()).toHaveValue("1");
  });

  it("ignores digits without a card and digits with Ctrl", async () => {
    renderTask(pageState(1, CHOOSE));
    await userEvent.keyboard("9{Control>}1{/Control}");
    expect(screen.queryByRole("radio", { checked: true })).toBeNull();
  });

  it("says what is missing and leads there: first the choice, then the reason", async () => {
    const { onAnswer } = renderTask(pageState(1, CHOOSE));
    await go();
    expect(screen.getByRole("alert")).toHaveTextContent("Choose a reply before you continue.");
    expect(first()).toHaveFocus();
    await userEvent.keyboard("1{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("Your reason is still empty. Please write at least 2 words.");
    expect(reason()).toHaveFocus();
    await userEvent.keyboard("nicer");
    expect(screen.getByRole("alert")).toHaveTextContent("Your reason needs at least 2 words; it has 1 so far.");
    await userEvent.keyboard(" tone{Enter}");
    expect(onAnswer).toHaveBeenCalledTimes(1);
  });

  it("lets an optional reason be empty", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...CHOOSE, reason: { label: "Why?", required: false, min_words: 3 } }));
    await userEvent.keyboard("1{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: ["a"], reason: "" });
  });

  it("cannot be sent twice or changed while it is on its way", async () => {
    const { onAnswer, show } = renderTask(pageState(1, CHOOSE));
    await userEvent.keyboard("1");
    await userEvent.type(reason(), "it asks");
    show(pageState(1, CHOOSE), { pending: pendingAnswer("c1") });
    await userEvent.click(second());
    await userEvent.keyboard("{Alt>}2{/Alt}");
    await userEvent.type(reason(), "more{Enter}");
    await userEvent.click(screen.getByRole("button", { name: "Sending…" }));
    expect(first()).toBeChecked();
    expect(reason()).toHaveValue("it asks");
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("comes back after a reload with choice and reason", async () => {
    const { unmount } = renderTask(pageState(1, CHOOSE));
    await userEvent.keyboard("2");
    await userEvent.type(reason(), "because");
    unmount();
    renderTask(pageState(1, CHOOSE));
    expect(second()).toBeChecked();
    expect(reason()).toHaveValue("because");
  });

  it("keeps choice and reason when the server refuses the answer", async () => {
    const { show } = renderTask(pageState(1, CHOOSE));
    await userEvent.keyboard("2");
    await userEvent.type(reason(), "because so");
    show(pageState(1, CHOOSE), { pending: pendingAnswer("c1") });
    show(pageState(2, CHOOSE, { notice: { level: "error", text: "The reason repeats the reply.", points: [] } }));
    expect(screen.getByRole("alert")).toHaveTextContent("The reason repeats the reply.");
    expect(second()).toBeChecked();
    expect(reason()).toHaveValue("because so");
  });

  it("shows what a model wrote as text, whatever it wrote", () => {
    const text = '<img src=x onerror="alert(1)"> **bold**\n- line';
    renderTask(pageState(1, { ...CHOOSE, cards: [{ candidate_id: "a", text }] }));
    expect(screen.getByText((_, element) => element?.textContent === text && element.tagName === "SPAN")).toBeVisible();
    expect(document.querySelector("img")).toBeNull();
  });

  it("has no violation, with and without a problem", async () => {
    renderTask(pageState(1, CHOOSE));
    expect(await axeViolations()).toEqual([]);
    await go();
    expect(await axeViolations()).toEqual([]);
  });
});

describe("choosing any number of replies", () => {
  it("sends them in shown order, whatever the order of the clicks", async () => {
    const { onAnswer } = renderTask(pageState(1, MANY));
    expect(screen.getByText("Choose up to 2.")).toBeVisible();
    await userEvent.keyboard("31");
    await go();
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: ["a", "c"], reason: "" });
  });

  it("takes a second press back", async () => {
    renderTask(pageState(1, MANY));
    await userEvent.keyboard("11");
    expect(box("Reply 1 First reply")).not.toBeChecked();
  });

  it("takes no more than the limit", async () => {
    renderTask(pageState(1, MANY));
    await userEvent.keyboard("123");
    expect(box("Reply 3 Third reply")).not.toBeChecked();
    expect(box("Reply 1 First reply")).toBeChecked();
  });

  it("wants “none” said explicitly", async () => {
    const { onAnswer } = renderTask(pageState(1, MANY));
    await go();
    expect(screen.getByRole("alert")).toHaveTextContent("Choose a reply, or “None of these”, before you continue.");
    await userEvent.click(box("None of these"));
    await go();
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: [], none: true });
  });

  it("lets “none” and the cards exclude each other", async () => {
    renderTask(pageState(1, MANY));
    await userEvent.keyboard("1");
    await userEvent.click(box("None of these"));
    expect(box("Reply 1 First reply")).not.toBeChecked();
    await userEvent.keyboard("2");
    expect(box("None of these")).not.toBeChecked();
  });

  it("offers “none” as one more radio where one may be chosen", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...MANY, max_choices: 1 }));
    await userEvent.click(screen.getByRole("radio", { name: "None of these" }));
    await go();
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: [], none: true });
  });

  it("takes 0 for “none”, and nothing where there is none", async () => {
    const { show } = renderTask(pageState(1, MANY));
    await userEvent.keyboard("10");
    expect(box("None of these")).toBeChecked();
    expect(box("Reply 1 First reply")).not.toBeChecked();
    show(pageState(2, CHOOSE));
    await userEvent.keyboard("0");
    expect(screen.queryByRole("radio", { checked: true })).toBeNull();
  });

  it("asks of a single card whether it is chosen or not", async () => {
    const one: ChooseStep = { ...MANY, cards: CHOOSE.cards.slice(0, 1), max_choices: 1, none_label: "No" };
    const { onAnswer } = renderTask(pageState(1, one));
    expect(screen.getAllByRole("radio")).toHaveLength(2);
    await userEvent.click(screen.getByRole("radio", { name: "No" }));
    await go();
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: [], none: true });
  });

  it("forgets a card in the draft that is not shown", async () => {
    writeDraft(AGENT_ID, "many", { ...EMPTY_DRAFT, selected: ["gone", "a"] });
    const { onAnswer } = renderTask(pageState(1, MANY));
    await userEvent.keyboard("2{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: ["a", "b"] });
  });

  it("takes any of eight cards", async () => {
    const cards = Array.from({ length: 8 }, (_, index) => ({ candidate_id: `c${index}`, text: `Text ${index}` }));
    const { onAnswer } = renderTask(pageState(1, { ...MANY, cards, max_choices: 8 }));
    expect(screen.getByText("Choose all that apply.")).toBeVisible();
    await userEvent.keyboard("81{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ selected: ["c0", "c7"], none: false });
  });

  it("has no violation", async () => {
    renderTask(pageState(1, MANY));
    expect(await axeViolations()).toEqual([]);
  });
});
