import { describe, expect, it } from "vitest";
import { actionDraft, clearDraft, EMPTY_DRAFT, readDraft, writeDraft } from "./drafts";
import { store } from "./storage";

describe("a draft", () => {
  it("comes back as it was written", () => {
    const draft = { text: "Hi", selected: ["a"], none: false, values: { s1: 33.3 }, picks: { q: "first" }, open: ["a"], reasons: { q: "It asks." }, images: [{ digest: "d", alt: "A boat" }] };
    writeDraft("agent", "s", draft);
    expect(readDraft("agent", "s")).toEqual(draft);
    clearDraft("agent", "s");
    expect(readDraft("agent", "s")).toEqual(EMPTY_DRAFT);
  });

  it("of an earlier version of the page keeps what it has", () => {
    store.write("draft:agent:s", { text: "Hi", selected: ["a"], none: false });
    expect(readDraft("agent", "s")).toEqual({ ...EMPTY_DRAFT, text: "Hi", selected: ["a"] });
  });

  it.each([null, 7, "Hi", [], { text: 7 }, { values: { s1: "33" } }, { selected: "a", none: "yes" }, { picks: { q: 1 }, open: "a", reasons: { q: 1 } }])(
    "that is spoilt is empty: %j",
    (spoilt) => {
      store.write("draft:agent:s", spoilt);
      expect(readDraft("agent", "s")).toEqual(EMPTY_DRAFT);
    },
  );

  it("of an action is kept apart from that of its step", () => {
    writeDraft("agent", actionDraft("s", "topic"), { ...EMPTY_DRAFT, text: "Cats" });
    expect(readDraft("agent", "s")).toEqual(EMPTY_DRAFT);
    expect(readDraft("agent", actionDraft("s", "topic")).text).toBe("Cats");
  });
});
