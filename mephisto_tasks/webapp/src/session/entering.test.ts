import { beforeEach, describe, expect, it, vi } from "vitest";
import { CHOOSE, CONFIG, CONSENT, end, fakeCrowd, fakeHttp, pageState, refusal } from "../test/fakes";
import { live, settle, visit } from "../test/visit";
import { HttpError } from "../wire/http";
import { LEAVE_AFTER_MS, SOONEST_AGAIN_MS } from "./session";

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
