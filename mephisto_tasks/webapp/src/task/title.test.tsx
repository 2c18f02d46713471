import { fireEvent } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CONFIG, pageState } from "../test/fakes";
import { renderTask } from "../test/renderTask";
import type { MessageStep, WaitStep } from "../wire/state";

const WAIT: WaitStep = { kind: "wait", text: "Nobody needs a reply right now.", slow: false, idle: true, coming: null };
const WRITE: MessageStep = {
  kind: "message",
  step_id: "m1",
  label: "Write your reply",
  min_words: 1,
  max_chars: 2000,
  suggestions: [],
  actions: [],
};

function look(hidden: boolean): void {
  vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);
  fireEvent(document, new Event("visibilitychange"));
}

describe("the window's title", () => {
  afterEach(() => vi.restoreAllMocks());

  it("calls somebody who is in another window when the page waits for them, and no longer than that", () => {
    const { show } = renderTask(pageState(1, WAIT));
    look(true);
    expect(document.title).toBe(CONFIG.title);
    show(pageState(2, WRITE));
    expect(document.title).toBe(`Your turn – ${CONFIG.title}`);
    look(false);
    expect(document.title).toBe(CONFIG.title);
  });

  it("is left alone while the page is in sight", () => {
    const { show } = renderTask(pageState(1, WAIT));
    look(false);
    show(pageState(2, WRITE));
    expect(document.title).toBe(CONFIG.title);
  });
});
