import { beforeEach, describe, expect, it, vi } from "vitest";
import { CHOOSE, MESSAGE, pageState } from "../test/fakes";
import { live } from "../test/visit";
import type { AnswerBody } from "../wire/state";
import { actionDraft, EMPTY_DRAFT, readDraft, writeDraft } from "../wire/drafts";
import { notUnderstood } from "./session";

const ANSWER: AnswerBody = { kind: "choose", step_id: "c1", selected: ["a"], none: false, reason: "much nicer" };
const WAIT = { kind: "wait", text: "Partner is typing…", slow: false, idle: false, coming: null } as const;

beforeEach(() => {
  vi.useFakeTimers();
});

describe("answering", () => {
  it("sends one answer a step, however often it is asked to", async () => {
    const { session, sockets, view } = await live();
    sockets.last.receiveState(pageState(1, CHOOSE), 1);
    session.answer(ANSWER);
    session.answer(ANSWER);
    expect(sockets.last.ofType("mephisto_bound_live_update")).toHaveLength(1);
    expect(sockets.last.ofType("mephisto_bound_live_update")[0]?.data).toMatchObject(ANSWER);
    expect(view().pending).toMatchObject(ANSWER);
  });

  it("sends nothing for a step that is no longer in view", async () => {
    const { session, sockets } = await live();
    sockets.last.receiveState(pageState(1, MESSAGE), 1);
    session.answer(ANSWER);
    expect(sockets.last.ofType("mephisto_bound_live_update")).toEqual([]);
  });

  it("clears the draft when the answer is taken", async () => {
    const { session, sockets, view } = await live();
    sockets.last.receiveState(pageState(1, CHOOSE), 1);
    writeDraft("agent", "c1", { ...EMPTY_DRAFT, text: "much nicer", selected: ["a"] });
    session.answer(ANSWER);
    const id = view().pending?.update_id ?? "";
    sockets.last.receiveState(pageState(2, WAIT, { confirmed: [id] }), 2);
    expect(readDraft("agent", "c1").text).toBe("");
    expect(view().pending).toBeNull();
  });

  it("clears an action's text when it is taken, and neither a half-written message nor the text of a refused one", async () => {
    const { session, sockets, view } = await live();
    const key = actionDraft("m1", "topic");
    const send = () => {
      session.answer({ kind: "action", step_id: "m1", action_id: "topic", text: "Cats" });
      return [view().pending?.update_id ?? ""];
    };
    sockets.last.receiveState(pageState(1, MESSAGE), 1);
    writeDraft("agent", "m1", { ...EMPTY_DRAFT, text: "half a mess" });
    writeDraft("agent", key, { ...EMPTY_DRAFT, text: "Cats" });
    sockets.last.receiveState(pageState(2, MESSAGE, { confirmed: send(), notice: { level: "error", text: "No.", points: [] } }), 2);
    expect(readDraft("agent", key).text).toBe("Cats");
    sockets.last.receiveState(pageState(3, MESSAGE, { confirmed: send() }), 3);
    expect(readDraft("agent", key).text).toBe("");
    expect(readDraft("agent", "m1").text).toBe("half a mess");
    expect(view().pending).toBeNull();
  });

  it("keeps the draft when the answer is refused, and takes another", async () => {
    const { session, sockets, view } = await live();
    sockets.last.receiveState(pageState(1, CHOOSE), 1);
    writeDraft("agent", "c1", { ...EMPTY_DRAFT, text: "much nicer", selected: ["a"] });
    session.answer(ANSWER);
    const id = view().pending?.update_id ?? "";
    sockets.last.receiveState(pageState(2, CHOOSE, { confirmed: [id], notice: { level: "error", text: "No.", points: [] } }), 2);
    expect(view().pending).toBeNull();
    expect(readDraft("agent", "c1").text).toBe("much nicer");
    session.answer(ANSWER);
    expect(sockets.last.ofType("mephisto_bound_live_update")).toHaveLength(2);
  });

  it("shows words for a state that it does not understand, and reports it", async () => {
    const { sockets, view, http } = await live();
    sockets.last.receive({ packet_type: "client_bound_live_update", data: { kind: "state", state: { version: 1 } }, router_seq: 1 });
    expect(view().screen).toEqual({ kind: "problem", text: notUnderstood() });
    expect(http.logError).toHaveBeenCalledWith(expect.objectContaining({ agentId: "agent" }), expect.stringContaining("phase"));
  });

  it("ends with the router's sentence when that is fatal", async () => {
    const { sockets, view } = await live();
    sockets.last.receive({ packet_type: "error", data: { error: "This conversation belongs to another page.", fatal: true } });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(view().screen).toEqual({ kind: "problem", text: "This conversation belongs to another page." });
    expect(sockets.all).toHaveLength(1);
  });
});
