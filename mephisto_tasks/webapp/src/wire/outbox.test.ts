import { describe, expect, it } from "vitest";
import type { Answer } from "./state";
import { Outbox } from "./outbox";

const ANSWER: Answer = { kind: "choose", update_id: "x", step_id: "c1", selected: ["a"], none: false, reason: "nicer" };

describe("outbox", () => {
  it("survives a reload under the same update_id", () => {
    new Outbox("agent").add(ANSWER);
    expect(new Outbox("agent").answers).toEqual([ANSWER]);
  });

  it("keeps the answers of two agents apart", () => {
    new Outbox("agent").add(ANSWER);
    expect(new Outbox("other").answers).toEqual([]);
  });

  it("keeps an answer while neither its id is confirmed nor another step is open", () => {
    const outbox = new Outbox("agent");
    outbox.add(ANSWER);
    expect(outbox.settle(["y"], "c1")).toEqual([]);
    expect(outbox.settle([], null)).toEqual([]);
    expect(outbox.forStep("c1")).toEqual(ANSWER);
  });

  it("lets go of a confirmed answer, also in storage", () => {
    const outbox = new Outbox("agent");
    outbox.add(ANSWER);
    expect(outbox.settle(["x"], "c1")).toEqual([ANSWER]);
    expect(new Outbox("agent").answers).toEqual([]);
  });

  it("lets go of an answer whose step has given way to another", () => {
    const outbox = new Outbox("agent");
    outbox.add(ANSWER);
    expect(outbox.settle([], "m2")).toEqual([ANSWER]);
  });

  it("starts empty when the browser holds something else under its key", () => {
    window.sessionStorage.setItem("humaneval:outbox:agent", '[{"kind":"nonsense"}]');
    expect(new Outbox("agent").answers).toEqual([]);
  });
});
