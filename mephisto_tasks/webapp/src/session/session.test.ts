import { beforeEach, describe, expect, it, vi } from "vitest";
import { agent, CHOOSE, CONFIG, CONSENT, fakeCrowd, fakeHttp, MESSAGE, pageState, refusal, update } from "../test/fakes";
import { live, settle, visit } from "../test/visit";
import type { AnswerBody, EndStep } from "../wire/state";
import { HttpError } from "../wire/http";
import { LEAVE_AFTER_MS, notUnderstood, SOONEST_AGAIN_MS } from "./session";

const ANSWER: AnswerBody = { kind: "choose", step_id: "c1", selected: ["a"], none: false, reason: "much nicer" };
const end = (next: EndStep["next"], redirect: EndStep["redirect"] = null): EndStep => ({
  kind: "end",
  title: "Done",
  text: "Thanks.",
  next,
  redirect,
  resumes: false,
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

  it("shows the preview without ids, and starts with those that the server makes up and signs", async () => {
    const { session, goTo, http } = visit(fakeHttp(), fakeCrowd(null, null));
    session.start();
    await settle();
    session.begin();
    await settle();
    expect(goTo.mock.calls).toEqual([["?worker_id=rater-1f&assignment_id=try-2e&sig=s_-3"]]);
    expect(http.requestAgent).not.toHaveBeenCalled();
  });

  it("makes up ids by itself where the server is Mephisto's own, and asks again where it does not answer", async () => {
    const { session, goTo, http } = visit(fakeHttp(), fakeCrowd(null, null));
    http.freshIds.mockRejectedValueOnce(new HttpError("The server could not be reached.", 0)).mockResolvedValue(null);
    session.start();
    await settle();
    expect(session.getView().screen).toEqual({ kind: "preview", start: "fresh" });
    session.begin();
    await settle();
    expect(session.getView().screen).toMatchObject({ waitingFor: "agent", problem: "The server could not be reached." });
    await vi.advanceTimersByTimeAsync(1_000);
    session.begin();
    await settle();
    expect(goTo.mock.calls[0]?.[0]).toMatch(/^\?worker_id=rater-.{8}&assignment_id=try-.{8}$/);
    expect(goTo.mock.calls[0]).not.toEqual(goTo.mock.calls[1]);
    expect(http.requestAgent).not.toHaveBeenCalled();
  });

  it("shows the preview of a site's unit without registering anybody", async () => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, entry: "site", unit: "HIT" });
    const { session } = visit(http, fakeCrowd(null, null));
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

describe("a study that is full", () => {
  const full = (seconds: number) => refusal("All places are taken.", { title: "Full", screen: "full", try_again_s: seconds });

  it("is asked again after the time that the server names, under the same ids, until there is a place", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValueOnce(full(7)).mockResolvedValueOnce(full(9));
    const { session, sockets } = visit(http);
    session.start();
    await settle();
    expect(session.getView().screen).toEqual({
      kind: "outside",
      title: "Full",
      reason: "All places are taken.",
      tries: 1,
      nextTryAt: Date.now() + 7_000,
    });
    await vi.advanceTimersByTimeAsync(6_999);
    expect(http.requestAgent).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(session.getView().screen).toMatchObject({ kind: "outside", tries: 2 });
    await vi.advanceTimersByTimeAsync(9_000);
    expect(sockets.all).toHaveLength(1);
    const asked = http.requestAgent.mock.calls.map(([registration]) => registration);
    expect(asked).toEqual([asked[0], asked[0], asked[0]]);
  });

  it("is asked no oftener than every few seconds, however often the button is pressed", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValue(full(0));
    const { session } = visit(http);
    session.start();
    await settle();
    for (let second = 0; second < 20; second += 1) {
      session.askAgain();
      expect(session.getView().screen).toMatchObject({ nextTryAt: null });
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(http.requestAgent.mock.calls.length).toBeLessThanOrEqual(1 + 20_000 / SOONEST_AGAIN_MS);
    expect(http.requestAgent.mock.calls.length).toBeGreaterThan(2);
  });

  it("goes on asking while the server does not answer, and stops with the page", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValueOnce(full(5)).mockRejectedValueOnce(new HttpError("Gone.", 0)).mockResolvedValue(full(5));
    const { session } = visit(http);
    session.start();
    await vi.advanceTimersByTimeAsync(6_000);
    expect(session.getView().screen).toMatchObject({ kind: "outside", tries: 2 });
    session.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(http.requestAgent).toHaveBeenCalledTimes(3);
  });

  it("lets in who came by a link with what they were here to do", async () => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, entry: "address", panel: null });
    const preview = refusal(null, { preview: true });
    http.requestAgent.mockResolvedValueOnce(preview).mockResolvedValueOnce(full(5));
    const { session, sockets } = visit(http);
    session.start();
    await settle();
    session.begin();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(http.requestAgent.mock.calls.map(([sent]) => sent.here_to)).toEqual(["look", "begin", "begin"]);
    expect(sockets.all).toHaveLength(1);
  });
});

describe("a study with a consent text", () => {
  const asked = (form = CONSENT) => refusal("Please read this.", { title: form.title, screen: "consent", consent: form });

  it("shows it before anything else, and sends the version that was agreed to with the same request", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValueOnce(asked());
    const { session, sockets } = visit(http);
    session.start();
    await settle();
    expect(session.getView().screen).toEqual({ kind: "consent", form: CONSENT });
    session.agree();
    await settle();
    const [before, after] = http.requestAgent.mock.calls.map(([registration]) => registration);
    expect(after).toEqual({ ...before, consent: { version: "1.0", digest: "d1" } });
    expect(sockets.all).toHaveLength(1);
  });

  it("is shown again where the text has changed meanwhile", async () => {
    const http = fakeHttp();
    const newer = { ...CONSENT, version: "2.0", digest: "d2" };
    http.requestAgent.mockResolvedValueOnce(asked()).mockResolvedValueOnce(asked(newer));
    const { session } = visit(http);
    session.start();
    await settle();
    session.agree();
    await settle();
    expect(session.getView().screen).toEqual({ kind: "consent", form: newer });
    session.agree();
    await settle();
    expect(http.requestAgent.mock.calls[2]?.[0]).toMatchObject({ consent: { version: "2.0", digest: "d2" } });
  });

  it("thanks who says no, and tells the server nothing", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValueOnce(asked());
    const { session } = visit(http);
    session.start();
    await settle();
    session.decline();
    await settle();
    expect(session.getView().screen).toMatchObject({ kind: "refused", title: "You are not taking part" });
    expect(http.requestAgent).toHaveBeenCalledTimes(1);
  });

  it("asks the server for the way back where they came by a link, and goes on with what they came for if they agree", async () => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, entry: "address", panel: null });
    const preview = refusal(null, { preview: true });
    http.requestAgent.mockResolvedValueOnce(preview).mockResolvedValueOnce(asked());
    const { session, sockets } = visit(http);
    session.start();
    await settle();
    session.begin();
    await settle();
    session.agree();
    await settle();
    expect(http.requestAgent.mock.calls.map(([sent]) => sent.here_to)).toEqual(["look", "begin", "begin"]);
    expect(sockets.all).toHaveLength(1);
    session.decline();
    await settle();
    expect(http.requestAgent.mock.calls[3]?.[0]).toMatchObject({ here_to: "decline" });
  });
});

describe("a task that another browser began", () => {
  it("shows the server's words for that, and asks no more", async () => {
    const http = fakeHttp();
    http.requestAgent.mockResolvedValue(refusal("Go on there.", { title: "Open elsewhere", screen: "other_browser" }));
    const { session, sockets } = visit(http);
    session.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(session.getView().screen).toEqual({ kind: "other_browser", title: "Open elsewhere", text: "Go on there." });
    expect(http.requestAgent).toHaveBeenCalledTimes(1);
    expect(sockets.all).toHaveLength(0);
  });
});

describe("somebody who came by a link", () => {
  const byLink = () => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, entry: "address", panel: { title: "Prolific", may_decline: true } });
    return http;
  };
  const PREVIEW = refusal(null, { preview: true });
  const purposes = (http: ReturnType<typeof fakeHttp>) => http.requestAgent.mock.calls.map(([sent]) => sent.here_to);

  it("shows the preview alone to whoever cannot begin", async () => {
    const http = byLink();
    http.requestAgent.mockResolvedValueOnce({ ...PREVIEW, failure_reason: "For researchers." });
    const { session } = visit(http);
    session.start();
    await settle();
    expect(session.getView().screen).toEqual({ kind: "preview", start: "only_look", why: "For researchers." });
  });

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
