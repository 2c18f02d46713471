import { beforeEach, describe, expect, it, vi } from "vitest";
import { agent, CHOOSE, CONFIG, fakeCrowd, fakeHttp, MESSAGE, pageState, refusal, update } from "../test/fakes";
import { live, settle, visit } from "../test/visit";
import type { AnswerBody } from "../wire/answers";
import { HttpError } from "../wire/http";
import type { EndStep } from "../wire/state";
import { LEAVE_AFTER_MS, NOT_UNDERSTOOD } from "./session";

const ANSWER: AnswerBody = { kind: "choose", step_id: "c1", selected: ["a"], none: false, reason: "much nicer" };
const end = (next: EndStep["next"], redirect: EndStep["redirect"] = null): EndStep => ({
  kind: "end",
  title: "Done",
  text: "Thanks.",
  next,
  redirect,
});
const refused = (reason: string) => ({ kind: "refused", title: null, reason, redirect: null });

beforeEach(() => {
  vi.useFakeTimers();
});

describe("arrival", () => {
  it("asks for an agent and shows its first state", async () => {
    const { sockets, view } = await live();
    expect(view().screen).toMatchObject({ kind: "loading", waitingFor: "first_state" });
    sockets.last.receiveState(pageState(1, CHOOSE), 1);
    expect(view()).toMatchObject({ screen: { kind: "live" }, state: { version: 1 } });
  });

  it("shows the preview without ids, and starts with fresh ones", async () => {
    const { session, goTo, http } = visit(fakeHttp(), fakeCrowd(null, null));
    session.start();
    await settle();
    expect(session.getView().screen).toEqual({ kind: "preview", start: "fresh" });
    session.begin();
    session.begin();
    expect(goTo.mock.calls[0]?.[0]).toMatch(/^\?worker_id=rater-.{8}&assignment_id=try-.{8}$/);
    expect(goTo.mock.calls[0]).not.toEqual(goTo.mock.calls[1]);
    expect(http.requestAgent).not.toHaveBeenCalled();
  });

  it.each([["ASSIGNMENT_ID_NOT_AVAILABLE"], [null]])("shows MTurk's preview without registering anybody: %s", async (assignment) => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, provider_type: "mturk" });
    const { session } = visit(http, fakeCrowd(null, assignment));
    session.start();
    await settle();
    expect(session.getView().screen).toEqual({ kind: "preview", start: "accept_first" });
    expect(http.requestAgent).not.toHaveBeenCalled();
  });

  it("shows the server's sentence to a worker who is turned away", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValue(refusal("You have done all conversations."));
    const { session } = visit(http);
    session.start();
    await settle();
    expect(session.getView().screen).toEqual(refused("You have done all conversations."));
  });

  it("keeps asking while the server does not answer, and says why it waits", async () => {
    const http = fakeHttp();
    http.requestAgent.mockRejectedValueOnce(new HttpError("The operator does not answer.", 503));
    const { session, sockets } = visit(http);
    session.start();
    await settle();
    expect(session.getView().screen).toMatchObject({ waitingFor: "agent", problem: "The operator does not answer." });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sockets.all).toHaveLength(1);
  });

  it("does not repeat a request that was refused for good", async () => {
    const http = fakeHttp();
    http.requestAgent.mockRejectedValue(new HttpError("The request is malformed.", 400));
    const { session } = visit(http);
    session.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(session.getView().screen).toEqual({ kind: "problem", text: "The request is malformed." });
    expect(http.requestAgent).toHaveBeenCalledTimes(1);
  });

  it("says so when the provider's script is missing", async () => {
    const { session } = visit(fakeHttp(), null);
    session.start();
    await settle();
    expect(session.getView().screen).toMatchObject({ kind: "problem" });
  });
});

describe("somebody who came by a link", () => {
  const byLink = () => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, provider_type: "link", panel: { title: "Prolific", may_decline: true } });
    return http;
  };
  const PREVIEW = { ...agent("none"), agentId: null, agentToken: null, preview: true };
  const purposes = (http: ReturnType<typeof fakeHttp>) => http.requestAgent.mock.calls.map(([sent]) => sent.here_to);

  it("looks first, and begins with the button", async () => {
    const http = byLink();
    http.requestAgent.mockResolvedValueOnce(PREVIEW);
    const { session, sockets, goTo } = visit(http);
    session.start();
    await settle();
    expect(session.getView().screen).toEqual({ kind: "preview", start: "ask" });
    session.begin();
    await settle();
    expect(purposes(http)).toEqual(["look", "begin"]);
    expect(sockets.all).toHaveLength(1);
    expect(goTo).not.toHaveBeenCalled();
  });

  it("goes on at once with what they began", async () => {
    const http = byLink();
    const { view } = await live(http);
    expect(purposes(http)).toEqual(["look"]);
    expect(view().agentId).toBe("agent");
  });

  it("is sent back to the panel where they do not want to take part", async () => {
    const http = byLink();
    const redirect = { site: "Prolific", url: "https://app.prolific.com/x?cc=N3", code: null };
    http.requestAgent.mockResolvedValueOnce(PREVIEW).mockResolvedValueOnce(refusal("That is all right.", { title: "Bye", redirect }));
    const { session, goTo } = visit(http);
    session.start();
    await settle();
    session.decline();
    await settle();
    expect(purposes(http)).toEqual(["look", "decline"]);
    expect(session.getView().screen).toEqual({ kind: "refused", title: "Bye", reason: "That is all right.", redirect });
    expect(goTo).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(LEAVE_AFTER_MS);
    expect(goTo.mock.calls).toEqual([[redirect.url]]);
  });

  it("gives the task back, and hears no more of it", async () => {
    const http = byLink();
    const { session, sockets, view } = await live(http);
    http.requestAgent.mockResolvedValueOnce(refusal("You have returned the task."));
    session.giveBack();
    await settle();
    expect(purposes(http)).toEqual(["look", "give_back"]);
    expect(view().screen).toEqual(refused("You have returned the task."));
    sockets.last.cut();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sockets.all).toHaveLength(1);
  });

  it("goes back to the panel by itself once the work has arrived, and not before", async () => {
    const http = byLink();
    http.submitTask.mockRejectedValueOnce(new HttpError("The server could not be reached.", 0));
    const { sockets, goTo } = await live(http);
    const url = "https://app.prolific.com/submissions/complete?cc=C1";
    sockets.last.receiveState(pageState(9, end("submit", { site: "Prolific", url, code: null })), 1);
    await settle();
    expect(goTo).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1_000 + LEAVE_AFTER_MS);
    expect(goTo.mock.calls).toEqual([[url]]);
  });

  it("stays where the last words are no end of their work", async () => {
    const { sockets, goTo } = await live(byLink());
    const redirect = { site: "Prolific", url: "https://app.prolific.com/x?cc=T4", code: null };
    sockets.last.receiveState(pageState(9, end("stay", redirect), { phase: "ended" }), 1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(goTo).not.toHaveBeenCalled();
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
    expect(session.getView().screen).toEqual({ kind: "problem", text: NOT_UNDERSTOOD });
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
    http.taskConfig.mockResolvedValue({ ...CONFIG, provider_type: "mturk" });
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
