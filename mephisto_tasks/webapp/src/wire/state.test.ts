import { describe, expect, it } from "vitest";
import { CHOOSE, entry, MESSAGE, PAIR, pageState, panel, RANK, RATE, SCALE, update } from "../test/fakes";
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

  it.each([
    ["https://app.prolific.com/x?cc=C1", true],
    ["javascript:alert(1)", false],
    ["/somewhere", false],
  ])("takes nothing but a web address for a way back, and keeps the words without one: %s", (url, good) => {
    const step = { kind: "end", title: "Done", text: "Thanks.", next: "stay", redirect: { site: "Prolific", url } };
    const parsed = parseUpdate({ kind: "state", state: { ...pageState(1, CHOOSE), step } });
    const redirect = good ? { site: "Prolific", url, code: null } : null;
    expect(parsed).toMatchObject({ ok: true, state: { step: { title: "Done", redirect } } });
  });

  it("refuses a step of an unknown kind", () => {
    const parsed = parseUpdate({ kind: "state", state: { ...pageState(1, CHOOSE), step: { kind: "dance" } } });
    expect(parsed?.ok).toBe(false);
  });
});

const readStep = (step: object) => parseUpdate({ kind: "state", state: { version: 1, phase: "task", step } });

describe("the steps", () => {
  it.each([
    [{ kind: "message", step_id: "s", label: "?" }, { suggestions: [], actions: [] }],
    [
      { kind: "message", step_id: "s", label: "?", actions: [{ action_id: "a", label: "End" }] },
      { actions: [{ group: null, enabled: true, hint: null, text_label: null, confirm: null }] },
    ],
    [{ kind: "write", step_id: "s", label: "?", cards: [] }, { min_words: 1, max_chars: 2000 }],
    [
      { kind: "tick", step_id: "s", question: "?", options: [{ option_id: "o", label: "O" }], max_choices: 1 },
      { reply: null, min_choices: 0, none_label: null, reason: null },
    ],
    [{ kind: "rate", step_id: "s", question: "?", scales: [{ ...SCALE, labels: undefined, hints: undefined }] }, { scales: [{ labels: [], hints: [] }] }],
    [
      { kind: "form", step_id: "s", questions: [{ question_id: "q", text: "?", options: [{ option_id: "o", label: "O" }] }] },
      { questions: [{ group: null, reason: null }] },
    ],
    [{ kind: "rank", step_id: "s", question: "?", cards: [{ candidate_id: "a", text: "" }] }, { ties: false, reason: null }],
    [{ kind: "topic", step_id: "s", label: "?", opinion_label: "", opinions: [] }, { max_chars: 200 }],
  ])("have what steps.py leaves at its defaults: %j", (step, filled) => {
    expect(readStep(step)).toMatchObject({ ok: true, state: { step: filled, columns: [], topic: null, within: null } });
  });

  const points = { ...SCALE, style: "points", minimum: 1, maximum: 5 };
  it.each([
    ["no scales", { ...RATE, scales: [] }],
    ["a scale that ends where it begins", { ...RATE, scales: [{ ...SCALE, maximum: 0 }] }],
    ["points between whole numbers", { ...RATE, scales: [{ ...points, minimum: 0.5 }] }],
    ["more points than anybody can see", { ...RATE, scales: [{ ...points, maximum: 1000 }] }],
    ["too few labels", { ...RATE, scales: [{ ...points, labels: ["Never", "Always"] }] }],
    ["an unknown style", { ...RATE, scales: [{ ...SCALE, style: "stars" }] }],
    ["nothing to tick", { kind: "tick", step_id: "s", question: "?", options: [], max_choices: 1 }],
    ["nothing that may be ticked", { kind: "tick", step_id: "s", question: "?", options: [{ option_id: "o", label: "O" }], max_choices: 0 }],
    ["too few hints", { ...RATE, scales: [{ ...points, hints: ["Bad.", "Good."] }] }],
    ["a form that asks nothing", { ...PAIR, questions: [] }],
    ["a question without options", { ...PAIR, questions: [{ ...PAIR.questions[0], options: [] }] }],
    ["a question that stands twice", { ...PAIR, questions: [PAIR.questions[0], PAIR.questions[0]] }],
    ["nothing to rank", { ...RANK, cards: [] }],
    ["a reply to rank that stands twice", { ...RANK, cards: [RANK.cards[0], RANK.cards[0]] }],
    ["an action without a name", { ...MESSAGE, actions: [{ action_id: "a" }] }],
  ])("are refused with %s", (_, step) => {
    expect(readStep(step)?.ok).toBe(false);
  });
});

describe("the transcript", () => {
  const withEntry = (column: number, columns: string[]) =>
    parseUpdate(update(pageState(1, MESSAGE, { columns, transcript: [entry("1", "partner", "Hi", { column })] })))?.ok;

  it("stands in columns that there are, and in no others", () => {
    expect(withEntry(1, ["A", "B"])).toBe(true);
    expect([withEntry(2, ["A", "B"]), withEntry(0, []), withEntry(-1, ["A", "B"]), withEntry(0.5, ["A", "B"])]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe("finished dialogues", () => {
  const shown = (panels: object[]) =>
    parseUpdate({ kind: "state", state: { version: 1, phase: "task", progress: { unit: "pair", current: 1 }, panels, step: PAIR } });

  it("have what panels.py leaves at its defaults", () => {
    const parsed = shown([{ title: "Chat", lines: [{ line_id: "1", speaker: "A", judged: false, text: "Hi!" }] }]);
    expect(parsed).toMatchObject({ ok: true, state: { panels: [{ context: [], judged_label: null }] } });
    expect(readStep(MESSAGE)).toMatchObject({ ok: true, state: { panels: [] } });
  });

  it("are two at most, and every line says who said it", () => {
    const one = panel("Chat", ["Hi!"]);
    expect(shown([one, one])?.ok).toBe(true);
    expect(shown([one, one, one])?.ok).toBe(false);
    expect(shown([{ ...one, lines: [{ line_id: "1", judged: false, text: "Hi!" }] }])?.ok).toBe(false);
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
