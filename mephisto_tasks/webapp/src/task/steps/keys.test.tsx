/** Nobody who writes changes an answer by a key that prints, in any step; and a key that is held, or composes, is pressed once or not at all. */
import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { action, CHOOSE, MESSAGE, pageState, PAIR, panel, RANK, RATE, SPOT, TICK, TOPIC } from "../../test/fakes";
import { renderTask } from "../../test/renderTask";
import type { ChooseStep, RankStep, Step, TickStep } from "../../wire/state";

const WORDS = "Better than number 2.";
const WHY = { label: "Why?", required: true, min_words: 2 };
const TICKS: TickStep = { ...TICK, reason: WHY };
const RANKED: RankStep = { ...RANK, reason: WHY };
const YES_NO: TickStep = { ...TICK, max_choices: 1, reason: WHY };
const PANELS = [panel("Conversation", ["Hi!", "Hello."])];
const show = (step: Step) => renderTask(pageState(1, step, step.kind === "form" ? { panels: PANELS } : {}));
const reason = () => screen.getByLabelText<HTMLTextAreaElement>("Why?");
const chosen = () => [...document.querySelectorAll<HTMLInputElement>("input:checked")].map((one) => one.labels?.[0]?.textContent);
const option = () => screen.getAllByRole("radio").at(0) ?? document.body;
const touch = () => vi.spyOn(window, "matchMedia").mockImplementation((query) => ({ matches: false, media: query }) as MediaQueryList);

beforeEach(() => {
  vi.stubGlobal("scrollBy", vi.fn());
});

const EXPLAINED: [string, Step][] = [
  ["one reply", CHOOSE],
  ["one of two dialogues", PAIR],
  ["yes or no", YES_NO],
];

describe.each(EXPLAINED)("a reason for %s", (_, step) => {
  it("has the focus after a number and takes all that is typed", async () => {
    show(step);
    await userEvent.keyboard("1");
    expect(reason()).toHaveFocus();
    expect(reason()).toHaveAttribute("aria-invalid", "false");
    const before = chosen();
    await userEvent.keyboard(WORDS);
    expect(reason()).toHaveValue(WORDS);
    expect(chosen()).toEqual(before);
  });

  it("has it after a click, of the same option once more, too", async () => {
    show(step);
    await userEvent.click(option());
    expect(reason()).toHaveFocus();
    await userEvent.click(option());
    expect(reason()).toHaveFocus();
  });

  it("is left alone by arrow keys, which go on among the options", async () => {
    show(step);
    option().focus();
    await userEvent.keyboard("{ArrowDown}{ArrowDown}");
    expect(document.activeElement).toHaveAttribute("type", "radio");
  });

  it("opens no keyboard on a touch screen, and still gets what a real one types", async () => {
    const media = touch();
    show(step);
    await userEvent.click(option());
    expect(reason()).not.toHaveFocus();
    const before = chosen();
    await userEvent.keyboard(WORDS);
    expect(reason()).toHaveValue(WORDS);
    expect(chosen()).toEqual(before);
    media.mockRestore();
  });

  it("is said to be empty at the second try only", async () => {
    const { onAnswer } = show(step);
    await userEvent.keyboard("1{Enter}");
    expect(screen.queryByRole("alert")).toBeNull();
    await userEvent.keyboard("{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("Your reason is still empty.");
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("is not red by a choice that comes after a try without one", async () => {
    show(step);
    await userEvent.click(screen.getByRole("button", { name: "Continue" }));
    expect(screen.getByRole("alert")).toBeVisible();
    await userEvent.keyboard("1");
    expect(screen.queryByRole("alert")).toBeNull();
    expect(reason()).toHaveAttribute("aria-invalid", "false");
  });

  it("makes a number text as soon as it was begun, wherever the focus is", async () => {
    show(step);
    await userEvent.keyboard("1");
    await userEvent.keyboard("so");
    const before = chosen();
    reason().blur();
    await userEvent.keyboard("2");
    expect(reason()).toHaveValue("so2");
    expect(chosen()).toEqual(before);
    await userEvent.keyboard("{Alt>}2{/Alt}");
    expect(chosen()).not.toEqual(before);
    expect(reason()).toHaveValue("so2");
  });
});

describe("several ticks with a reason", () => {
  it("take one number after the other, and then the words", async () => {
    show(TICKS);
    await userEvent.keyboard(`13${WORDS}`);
    expect(chosen()).toHaveLength(2);
    expect(reason()).toHaveValue(WORDS);
  });
});

describe("a ranking with a reason", () => {
  it("keeps its places while one writes", async () => {
    show(RANKED);
    await userEvent.keyboard("12");
    const before = chosen();
    await userEvent.keyboard(WORDS);
    expect(reason()).toHaveValue(WORDS);
    expect(chosen()).toEqual(before);
  });
});

describe("a verdict beside a message", () => {
  const step = { ...MESSAGE, actions: ["a", "b"].map((id) => action(id, id, { group: "Which?", confirm: "Sure?" })) };

  it("is given by a number while nothing was written, and by none after", async () => {
    show(step);
    const field = screen.getByLabelText<HTMLTextAreaElement>("Your message");
    field.blur();
    await userEvent.keyboard("hm");
    field.blur();
    await userEvent.keyboard("2");
    expect(field).toHaveValue("hm2");
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("is asked for once by a number", async () => {
    show(step);
    screen.getByLabelText("Your message").blur();
    await userEvent.keyboard("2");
    expect(screen.getByRole("dialog", { name: "b" })).toBeVisible();
  });
});

describe("steps without a text", () => {
  it.each<[string, Step]>([
    ["replies", { ...CHOOSE, reason: null } satisfies ChooseStep],
    ["ticks", TICK],
    ["a form", SPOT],
    ["a ranking", RANK],
    ["scales", RATE],
    ["a topic", TOPIC],
  ])("%s: letters, signs, dead keys and composed characters answer nothing", async (_, step) => {
    show(step);
    (document.activeElement as HTMLElement).blur();
    await userEvent.keyboard("better, é");
    for (const odd of [
      { key: "Dead", code: "Digit2" },
      { key: "Process", code: "Digit2", isComposing: true },
      { key: "2", code: "Digit2", ctrlKey: true },
      { key: "2", code: "Digit2", metaKey: true },
      { key: "“", code: "Digit2", altKey: true, shiftKey: true },
    ]) {
      fireEvent.keyDown(document.body, odd);
    }
    expect(chosen()).toEqual([]);
    expect(document.querySelectorAll("[data-answered='true']")).toHaveLength(0);
  });

  it("answer one question by a key that is held down, and not all of them", () => {
    show(SPOT);
    fireEvent.keyDown(document.body, { key: "1", code: "Digit1" });
    for (let times = 0; times < 3; times += 1) {
      fireEvent.keyDown(document.body, { key: "1", code: "Digit1", repeat: true });
    }
    expect(chosen()).toHaveLength(1);
  });

  it("take the key of a row that types signs without Shift for its number", () => {
    show({ ...CHOOSE, reason: null });
    fireEvent.keyDown(document.body, { key: "é", code: "Digit2" });
    expect(chosen()).toHaveLength(1);
  });
});

describe("a character that types by Alt or by a row of signs", () => {
  it.each([
    { key: "@", code: "Digit2", altKey: true },
    { key: "é", code: "Digit2" },
    { key: "☺", code: "Numpad2", altKey: true },
  ])("is text: $key", async (typed) => {
    show(CHOOSE);
    await userEvent.keyboard("1");
    const before = chosen();
    fireEvent.keyDown(reason(), typed);
    expect(chosen()).toEqual(before);
  });
});

describe("Enter", () => {
  it("of a composed character, or held down, sends nothing", async () => {
    const { onAnswer } = show(CHOOSE);
    await userEvent.keyboard("1");
    await userEvent.keyboard("it asks");
    fireEvent.keyDown(reason(), { key: "Enter", isComposing: true });
    fireEvent.keyDown(reason(), { key: "Enter", keyCode: 229 });
    fireEvent.keyDown(reason(), { key: "Enter", repeat: true });
    expect(onAnswer).not.toHaveBeenCalled();
    fireEvent.keyDown(reason(), { key: "Enter" });
    expect(onAnswer).toHaveBeenCalledTimes(1);
  });

  it("on an option goes on, and held down does not do so again", () => {
    const { onAnswer } = show({ ...CHOOSE, reason: null });
    fireEvent.keyDown(document.body, { key: "1", code: "Digit1" });
    const radio = option();
    fireEvent.keyDown(radio, { key: "Enter", repeat: true });
    expect(onAnswer).not.toHaveBeenCalled();
    fireEvent.keyDown(radio, { key: "Enter" });
    expect(onAnswer).toHaveBeenCalledTimes(1);
  });
});
