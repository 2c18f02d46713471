import { describe, expect, it } from "vitest";
import { CHOOSE, CONFIG, MESSAGE, pageState } from "../test/fakes";
import { type Event, INITIAL_VIEW, reduce, type View } from "./view";

function after(...events: Event[]): View {
  return events.reduce(reduce, INITIAL_VIEW);
}

const state = (version: number): Event => ({ type: "state", state: pageState(version, CHOOSE), pending: null });

describe("reduce", () => {
  it("shows the greatest version, whatever order states come in", () => {
    expect(after(state(2), state(5), state(3)).state?.version).toBe(5);
  });

  it("changes nothing for the same version again", () => {
    const view = after(state(2));
    expect(reduce(view, state(2))).toBe(view);
  });

  it("forgets the practice's state and versions when the task's agent comes", () => {
    const view = after({ type: "configured", config: CONFIG }, state(9), { type: "agent", agentId: "task" });
    expect(view).toMatchObject({ state: null, agentId: "task", config: CONFIG, delivery: { kind: "none" } });
    expect(reduce(view, { type: "state", state: pageState(1, MESSAGE), pending: null }).state?.version).toBe(1);
  });

  it("says what it waits for while the line is down, and when it is up", () => {
    const waiting = after({ type: "agent", agentId: "x" });
    expect(waiting.screen).toMatchObject({ kind: "loading", waitingFor: "connection" });
    expect(reduce(waiting, { type: "link", link: "open" }).screen).toMatchObject({ waitingFor: "first_state" });
  });

  it("keeps the task in view when the line is lost", () => {
    expect(after(state(1), { type: "link", link: "lost" })).toMatchObject({ link: "lost", screen: { kind: "live" } });
  });

  it("keeps the reason of a failed try only while something loads", () => {
    expect(after({ type: "trouble", problem: "No server." }).screen).toMatchObject({ problem: "No server." });
    expect(after(state(1), { type: "trouble", problem: "No server." }).screen).toEqual({ kind: "live" });
  });

  it.each(["timeout", "expired", "returned", "disconnect", "partner disconnect"])("says that a unit was closed: %s", (status) => {
    expect(after(state(1), { type: "status", status }).closed).toContain("saved");
  });

  it("opens a closed unit again when the status says so", () => {
    expect(after({ type: "status", status: "disconnect" }, { type: "status", status: "in task" }).closed).toBeNull();
  });

  it("drops the router's complaint with the next state", () => {
    expect(after({ type: "link_problem", text: "Too large." }, state(1)).linkProblem).toBeNull();
  });
});
