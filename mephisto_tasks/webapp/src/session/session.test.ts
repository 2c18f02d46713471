import { beforeEach, describe, expect, it, vi } from "vitest";
import { agent, CHOOSE, CONFIG, end, fakeCrowd, fakeHttp, MESSAGE, pageState, refusal, update } from "../test/fakes";
import { live, settle, visit } from "../test/visit";
import type { AnswerBody } from "../wire/state";
import { HttpError } from "../wire/http";
import { notUnderstood } from "./session";

const ANSWER: AnswerBody = { kind: "choose", step_id: "c1", selected: ["a"], none: false, reason: "much nicer" };
const refused = (reason: string) => ({ kind: "refused", title: null, reason, redirect: null });

beforeEach(() => {
  vi.useFakeTimers();
});

describe("what the router says of a unit", () => {
  it.each(["timeout", "expired", "returned", "disconnect", "partner disconnect"])("closes it, and opens it again: %s", async (status) => {
    const { sockets, view } = await live();
    const say = (said: string) => sockets.last.receive({ packet_type: "update_status", data: { status: said } });
    say(status);
    expect(view().closed).toContain("saved");
    say("in task");
    expect(view().closed).toBeNull();
  });

  it("stands until the next state", async () => {
    const { sockets, view } = await live();
    sockets.last.receive({ packet_type: "error", data: { error: "Too large." } });
    expect(view().linkProblem).toBe("Too large.");
    sockets.last.receiveState(pageState(1, CHOOSE), 1);
    expect(view().linkProblem).toBeNull();
  });
});

describe("resuming after a reload", () => {
  it("shows the newest of the replayed states before the websocket says anything", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValue(agent("agent", [update(pageState(1, MESSAGE)), update(pageState(4, CHOOSE))]));
    const { view } = await live(http);
    expect(view().state?.version).toBe(4);
  });

  it("opens no line when what is replayed cannot be understood", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValue(agent("agent", [{ kind: "state", state: { version: 4 } }]));
    const { session, sockets } = visit(http);
    session.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(session.getView().screen).toEqual({ kind: "problem", text: notUnderstood() });
    expect(sockets.all).toHaveLength(0);
  });

  it("sends an answer again that was on its way, and still counts it as sent", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValue(agent("agent", [update(pageState(1, MESSAGE)), update(pageState(4, CHOOSE))]));
    const first = await live(http);
    first.session.answer(ANSWER);
    const id = first.sockets.last.ofType("mephisto_bound_live_update")[0]?.data.update_id;
    first.session.stop();

    const second = await live(http);
    expect(second.view().pending?.update_id).toBe(id);
    expect(second.sockets.last.ofType("mephisto_bound_live_update").map((packet) => packet.data.update_id)).toEqual([id]);
  });
});

describe("a study that was launched again while the page stayed open", () => {
  it("is registered with anew, and gets the answer that was on its way, for the same step of the same unit", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValueOnce(agent("agent", [update(pageState(4, CHOOSE, { unit: "u" }))]));
    const { session, sockets, view } = await live(http);
    session.answer(ANSWER);
    const id = view().pending?.update_id;
    http.requestAgent.mockResolvedValueOnce(agent("later", [update(pageState(1, CHOOSE, { unit: "u" }))]));
    sockets.last.cut();
    await vi.advanceTimersByTimeAsync(10_000);
    sockets.last.accept();
    sockets.last.receive({ packet_type: "error", data: { error: "Not known here.", fatal: true, reason: "unknown" } });
    await vi.waitFor(() => expect(view().agentId).toBe("later"));
    sockets.last.accept();
    expect(view()).toMatchObject({ screen: { kind: "live" }, state: { version: 1 }, pending: { update_id: id } });
    expect(sockets.last.ofType("mephisto_bound_live_update").map((packet) => packet.data.update_id)).toEqual([id]);
  });

  it("has taken the answer that was never confirmed: it is not sent for another step", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValueOnce(agent("agent", [update(pageState(4, CHOOSE, { unit: "u" }))]));
    const { session, sockets, view } = await live(http);
    session.answer(ANSWER);
    http.requestAgent.mockResolvedValueOnce(agent("later", [update(pageState(1, MESSAGE, { unit: "u" }))]));
    sockets.last.receive({ packet_type: "error", data: { error: "Not known here.", fatal: true, reason: "unknown" } });
    await vi.waitFor(() => expect(view().agentId).toBe("later"));
    sockets.last.accept();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(view().pending).toBeNull();
    expect(sockets.last.ofType("mephisto_bound_live_update")).toEqual([]);
  });
});

describe("a study that was paused", () => {
  const paused = pageState(9, { ...end("stay"), resumes: true }, { phase: "ended", unit: "u" });
  const later = agent("later", [update(pageState(1, MESSAGE, { unit: "u" }))]);

  it("goes on by itself in a page that stayed open, with the next launch", async () => {
    const http = fakeHttp();
    const { sockets, view } = await live(http);
    sockets.last.receiveState(paused, 1);
    sockets.last.cut();
    http.requestAgent.mockResolvedValueOnce(later);
    await vi.advanceTimersByTimeAsync(10_000);
    sockets.last.accept();
    sockets.last.receive({ packet_type: "error", data: { error: "Not known here.", fatal: true, reason: "unknown" } });
    await vi.waitFor(() => expect(view()).toMatchObject({ agentId: "later", screen: { kind: "live" } }));
  });

  it("goes on when the rater says so", async () => {
    const http = fakeHttp();
    const { session, sockets, view } = await live(http);
    sockets.last.receiveState(paused, 1);
    http.requestAgent.mockResolvedValueOnce(later);
    session.goOn();
    await vi.waitFor(() => expect(view()).toMatchObject({ agentId: "later", screen: { kind: "live" } }));
  });
});

describe("another study at the same address", () => {
  const over = { kind: "refused", title: "This study has ended", over: true };

  it("is not joined by a page that stayed open", async () => {
    const http = fakeHttp();
    const { session, sockets, view } = await live(http);
    http.requestAgent.mockResolvedValueOnce({ ...refusal("Another study is open."), title: "This study has ended", screen: "other_study" });
    sockets.last.receive({ packet_type: "error", data: { error: "Not known here.", fatal: true, reason: "unknown" } });
    await vi.waitFor(() => expect(view().screen).toMatchObject({ ...over, reason: "Another study is open." }));
    expect(http.requestAgent.mock.lastCall?.[0]).toMatchObject({ study: "this" });
    session.stop();
  });

  it("is not begun by the start button of a page that stayed open", async () => {
    const http = fakeHttp();
    http.freshIds.mockResolvedValue({ worker_id: "w", assignment_id: "a", study: "next" });
    const { session, goTo } = visit(http, fakeCrowd(null, null));
    session.start();
    await settle();
    session.begin();
    await settle();
    expect(session.getView().screen).toMatchObject(over);
    expect(goTo).not.toHaveBeenCalled();
  });
});

describe("the task in another window", () => {
  it("is told apart from other faults, and this window does not come back by itself", async () => {
    const { sockets, view } = await live();
    sockets.last.receive({ packet_type: "error", data: { error: "Opened elsewhere.", fatal: true, reason: "other_window" } });
    sockets.last.cut();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(view().screen).toEqual({ kind: "other_window", text: "Opened elsewhere." });
    expect(sockets.all).toHaveLength(1);
  });
});

describe("the end of the practice", () => {
  it("hands it in and goes on with the task's agent on a new line", async () => {
    const { sockets, view, http } = await live();
    sockets.last.receiveState(pageState(9, end("submit_onboarding"), { phase: "practice" }), 1);
    await settle();
    expect(http.submitOnboarding.mock.calls[0]?.[1]).toMatchObject({ agentId: "agent", agentToken: "token-agent" });
    expect(sockets.all).toHaveLength(2);
    sockets.last.accept();
    expect(sockets.last.sent[0]).toMatchObject({ subject_id: "task-agent", data: { agent_token: "token-task-agent", last_seq: 0 } });
    sockets.last.receiveState(pageState(1, MESSAGE), 1);
    expect(view()).toMatchObject({ agentId: "task-agent", state: { version: 1 }, delivery: { kind: "none" } });
  });

  it("shows the refusal of a worker who did not pass", async () => {
    const http = fakeHttp();
    http.submitOnboarding.mockResolvedValue(refusal("The practice was not passed."));
    const { sockets, view } = await live(http);
    sockets.last.receiveState(pageState(9, end("submit_onboarding")), 1);
    await settle();
    expect(view().screen).toEqual(refused("The practice was not passed."));
  });

  it("asks who it is by now when the practice was handed in already", async () => {
    const http = fakeHttp();
    http.submitOnboarding.mockRejectedValue(new HttpError("Unknown agent.", 404));
    http.requestAgent.mockResolvedValueOnce(agent("agent")).mockResolvedValue(agent("task-agent"));
    const { sockets, view } = await live(http);
    sockets.last.receiveState(pageState(9, end("submit_onboarding")), 1);
    await settle();
    expect(view().agentId).toBe("task-agent");
  });
});

describe("the end of the task", () => {
  it("submits once, closes the line, and leaves the mock provider's alert alone", async () => {
    const crowd = fakeCrowd();
    const { sockets, view, http } = await live(fakeHttp(), crowd);
    sockets.last.receiveState(pageState(9, end("submit")), 1);
    sockets.last.receiveState(pageState(10, end("submit")), 2);
    await settle();
    expect(http.submitTask).toHaveBeenCalledTimes(1);
    expect(view().delivery).toEqual({ kind: "done" });
    expect(crowd.submitToProvider).not.toHaveBeenCalled();
  });

  it("tells a real provider", async () => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, entry: "site", unit: "HIT" });
    const crowd = fakeCrowd();
    const { sockets } = await live(http, crowd);
    sockets.last.receiveState(pageState(9, end("submit")), 1);
    await settle();
    expect(crowd.submitToProvider).toHaveBeenCalledTimes(1);
  });

  it("keeps trying while the server cannot be reached, and says so", async () => {
    const http = fakeHttp();
    http.submitTask.mockRejectedValueOnce(new HttpError("The server could not be reached.", 0));
    const { sockets, view } = await live(http);
    sockets.last.receiveState(pageState(9, end("submit")), 1);
    await settle();
    expect(view().delivery).toEqual({ kind: "failed", text: "The server could not be reached.", retrying: true });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(view().delivery).toEqual({ kind: "done" });
  });

  it("offers another try after a refusal", async () => {
    const http = fakeHttp();
    http.submitTask.mockRejectedValueOnce(new HttpError("Wrong token.", 403));
    const { session, sockets, view } = await live(http);
    sockets.last.receiveState(pageState(9, end("submit")), 1);
    await settle();
    expect(view().delivery).toMatchObject({ kind: "failed", retrying: false });
    session.deliverAgain();
    await settle();
    expect(view().delivery).toEqual({ kind: "done" });
  });

  it("sends nothing where the server only says goodbye", async () => {
    const { sockets, http } = await live();
    sockets.last.receiveState(pageState(9, end("stay")), 1);
    await settle();
    expect(http.submitTask).not.toHaveBeenCalled();
  });

  it("opens no line again after the goodbye, nor at all when a reload replays it", async () => {
    const { sockets } = await live();
    sockets.last.receiveState(pageState(9, end("stay"), { phase: "ended" }), 1);
    sockets.last.cut();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sockets.all).toHaveLength(1);

    const http = fakeHttp();
    http.requestAgent.mockResolvedValue(agent("agent", [update(pageState(9, end("stay"), { phase: "ended" }))]));
    const again = visit(http);
    again.session.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(again.sockets.all).toHaveLength(0);
    expect(again.session.getView().state?.version).toBe(9);
  });
});
