import type { Details, Index } from "./entry";
import { Store } from "./store";

/** Six entries of two models, in parts of two; the fourth is in Arabic and was judged by two raters who differ. */
export const INDEX: Index = {
  title: "A study",
  note: "",
  made_with: "1",
  part: 2,
  ids: ["d1", "d2", "d3", "a|b:1", "d5", "d6"],
  previews: ["Hello", "Good day", "How are you?", "مرحبا", "Hi", ""],
  rated: ["", "", "", "", "", "fluent 4.5"],
  turns: [3, 1, 2, 6, 3, 3],
  seconds: [30, 10, null, 90, 20, 60],
  started: ["2024-05-01T09:00", "2024-05-02T09:00", "", "2024-05-03T09:00", "", ""],
  disagreement: [null, null, 0.25, 1, null, 0],
  facets: {
    model: { values: ["ada", "bob"], of: [[0], [1], [0, 1], [0, 1], [0], [1]] },
    rater: { values: ["r1", "r2"], of: [[0], [0], [1], [0, 1], [1], [1]] },
    metric: { values: ["preference"], of: [[], [], [], [0], [], []] },
    check: { values: ["too_fast"], of: [[], [0], [], [], [], []] },
  },
};

const TURN = { turn: 1, replies: [], answers: [] };
export const DETAILS: Record<string, Details> = {
  d1: {
    questions: ["Which is better?"],
    turns: [
      {
        turn: 1,
        human: { text: "Hello" },
        replies: [
          { text: "**Yes**", markup: [{ tag: "p", parts: [{ tag: "b", parts: ["Yes"] }] }], model: "ada", position: 1 },
          { text: "I am <b>a bot</b>", model: "bob", position: 2, masked: true, raw: "I am Bob", continued: true },
        ],
        answers: [
          { by: "r1", kind: "rater", chosen: ["bob"], reason: "It is Honest", seconds: 12.4 },
          { by: "gpt", kind: "judge", order: 2, chosen: ["ada"], says: [["wrote", "A, as it is short"]] },
        ],
      },
      { ...TURN, turn: 2 },
      { ...TURN, turn: 3 },
    ],
    checks: [{ name: "too_fast", passed: false, reason: "1 s", by: "r1" }],
  },
  d2: { turns: [TURN], feedback: [["r1", "What a Zeppelin"]] },
  d3: { turns: [TURN] },
  "a|b:1": {
    talks: [
      { id: "a", title: "ada", lines: [{ text: "مرحبا", who: "ada", person: false }] },
      { id: "b", title: "bob", lines: ["zeppelin", ""].map((text) => ({ text, who: "bob", person: false })) },
    ],
    answers: [
      { by: "r1", kind: "rater", says: [["humanness", "ada better than bob"]] },
      { by: "r2", kind: "rater", says: [["Sounds human.", "bob better than ada"]], reason: "Of the two" },
    ],
  },
  d5: { turns: [TURN] },
  d6: {},
};

/** A store whose parts are handed over as soon as they are asked for, and those that `broken` names never. */
export function filledStore(broken: readonly number[] = []): Store {
  const store: Store = new Store((source) => {
    const part = Number(/\d+/.exec(source)?.[0]);
    if (broken.includes(part)) {
      return Promise.resolve(false);
    }
    const ids = INDEX.ids.slice(part * INDEX.part, (part + 1) * INDEX.part);
    store.receive(part, JSON.stringify(Object.fromEntries(ids.map((id) => [id, DETAILS[id]]))));
    return Promise.resolve(true);
  });
  store.receive("index", JSON.stringify(INDEX));
  return store;
}
