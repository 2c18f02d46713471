import { describe, expect, it } from "vitest";
import { CHOOSE, CONFIG, MESSAGE, pageState } from "../test/fakes";
import { begun, INITIAL_VIEW, isNewer, linked, troubled, type View } from "./view";

const SEEN: View = { ...INITIAL_VIEW, config: CONFIG, agentId: "practice", screen: { kind: "live" }, state: pageState(9, CHOOSE) };

describe("the view", () => {
  it("takes the greatest version only, and no version twice", () => {
    expect([8, 9, 10].map((version) => isNewer(SEEN, pageState(version, MESSAGE)))).toEqual([false, false, true]);
  });

  it("forgets the practice's state and versions when the task's agent comes", () => {
    const view = begun(SEEN, "task");
    expect(view).toMatchObject({ state: null, agentId: "task", config: CONFIG, delivery: { kind: "none" } });
    expect(isNewer(view, pageState(1, MESSAGE))).toBe(true);
  });

  it("says what it waits for while the line is down, and when it is up", () => {
    const waiting = begun(SEEN, "task");
    expect(waiting.screen).toMatchObject({ kind: "loading", waitingFor: "connection" });
    expect(linked(waiting, "open").screen).toMatchObject({ waitingFor: "first_state" });
  });

  it("keeps the task in view when the line is lost", () => {
    expect(linked(SEEN, "lost")).toEqual({ link: "lost" });
  });

  it("keeps the reason of a failed try only while something loads", () => {
    expect(troubled(INITIAL_VIEW, "No server.").screen).toMatchObject({ problem: "No server." });
    expect(troubled(SEEN, "No server.")).toEqual({});
  });
});
