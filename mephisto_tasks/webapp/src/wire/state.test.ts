import { describe, expect, it } from "vitest";
import { CHOOSE, pageState, update } from "../test/fakes";
import { newestUpdate, parseUpdate } from "./state";

describe("parseUpdate", () => {
  it("fills in what steps.py leaves at its defaults", () => {
    const parsed = parseUpdate({
      update_id: "u",
      kind: "state",
      state: { version: 1, phase: "task", step: { kind: "choose", step_id: "c", question: "?", cards: [{ candidate_id: "a", text: "" }] } },
    });
    expect(parsed).toMatchObject({
      ok: true,
      state: {
        transcript: [],
        confirmed: [],
        context: null,
        step: { min_choices: 1, max_choices: 1, none_label: null, reason: null },
      },
    });
  });

  it("takes no answer of the worker for a state: Mephisto replays both", () => {
    expect(parseUpdate({ kind: "message", update_id: "x", step_id: "m", text: "hi" })).toBeNull();
    expect(parseUpdate(null)).toBeNull();
  });

  it("says where a state is wrong", () => {
    const parsed = parseUpdate({ kind: "state", state: { ...pageState(1, CHOOSE), phase: "lunch" } });
    expect(parsed).toMatchObject({ ok: false });
    expect(parsed?.ok === false && parsed.error).toContain("phase");
  });

  it("refuses a step of an unknown kind", () => {
    const parsed = parseUpdate({ kind: "state", state: { ...pageState(1, CHOOSE), step: { kind: "dance" } } });
    expect(parsed?.ok).toBe(false);
  });
});

describe("newestUpdate", () => {
  it("finds the greatest version among everything that was replayed", () => {
    const newest = update(pageState(7, CHOOSE));
    const answer = { kind: "message", update_id: "x", step_id: "m", text: "hi" };
    expect(newestUpdate([update(pageState(3, CHOOSE)), newest, answer, update(pageState(5, CHOOSE))])).toBe(newest);
  });

  it("finds nothing where no state was sent yet", () => {
    expect(newestUpdate([])).toBeNull();
  });
});
