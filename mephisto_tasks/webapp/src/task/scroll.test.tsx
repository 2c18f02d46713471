import { screen } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { entry, pageState, RATE, TICK } from "../test/fakes";
import { renderTask } from "../test/renderTask";
import type { Notice, PageState, Step } from "../wire/state";

const CHAT = [entry("1", "you", "Hi!"), entry("2", "partner", "Go away.")];
const VERDICT: Step = { ...TICK, reply: null };
const told = (level: Notice["level"]): Notice => ({ level, text: "About your last answer.", points: [] });
const practice = (step: Step, rest: Partial<PageState> = {}) => pageState(1, step, { phase: "practice", transcript: CHAT, ...rest });
const before = (one: Element, other: Element) =>
  (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;

/** A long page, scrolled to its end: every box lies where jsdom puts it, at the top. */
const scrollTo = vi.fn();
beforeEach(() => {
  scrollTo.mockClear();
  vi.stubGlobal("scrollTo", scrollTo);
});

describe("a chat to be judged in the practice", () => {
  it.each([["rate", RATE], ["verdict", VERDICT]] as const)("is read from its beginning: %s", (_, step) => {
    renderTask(practice(step));
    expect(scrollTo.mock.calls).toEqual([[{ top: 0, behavior: "smooth" }]]);
  });

  it("is not scrolled to again when an answer is refused", () => {
    const { show } = renderTask(practice(RATE));
    scrollTo.mockClear();
    show(practice(RATE, { version: 2, notice: told("error") }));
    expect(scrollTo).not.toHaveBeenCalled();
  });

  it("has what is said of the answer before above it, and a refusal at the question", () => {
    const { show } = renderTask(practice(RATE, { notice: told("success") }));
    const log = screen.getByRole("log");
    expect(before(screen.getByRole("alert"), log)).toBe(true);
    show(practice(RATE, { version: 2, notice: told("error") }));
    expect(before(log, screen.getByRole("alert"))).toBe(true);
  });
});

it.each([
  ["outside of the practice", pageState(1, RATE, { transcript: CHAT })],
  ["about one reply", practice(TICK)],
])("a question %s does not lead to the top", (_, state) => {
  renderTask(state);
  expect(scrollTo).not.toHaveBeenCalled();
});
