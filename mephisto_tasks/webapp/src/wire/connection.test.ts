import { beforeEach, describe, expect, it, vi } from "vitest";
import { FakeSockets, MESSAGE, pageState } from "../test/fakes";
import { type Answer, parseUpdate } from "./state";
import { Connection, HEARTBEAT_MS, type Link, RESEND_MS, SILENCE_MS } from "./connection";
import type { RouterError } from "./packets";

const ANSWER: Answer = { kind: "message", update_id: "x", step_id: "m1", text: "hello there" };

/** A connection whose world keeps the versions it saw, as the session does. */
function connect(agentToken: string | null = "secret") {
  const sockets = new FakeSockets();
  const versions: number[] = [];
  const links: Link[] = [];
  const statuses: string[] = [];
  const errors: RouterError[] = [];
  const unconfirmed: Answer[] = [];
  const connection = new Connection({
    agentId: "agent",
    agentToken,
    openSocket: sockets.open,
    unconfirmed: () => unconfirmed,
    onUpdate: (data) => {
      const parsed = parseUpdate(data);
      if (!parsed?.ok || parsed.state.version <= (versions.at(-1) ?? 0)) {
        return false;
      }
      versions.push(parsed.state.version);
      return true;
    },
    onStatus: (status) => statuses.push(status),
    onLink: (link) => links.push(link),
    onError: (problem) => errors.push(problem),
  });
  connection.start();
  return { connection, sockets, versions, links, statuses, errors, unconfirmed };
}

beforeEach(() => {
  vi.useFakeTimers();
});

describe("with our router", () => {
  it("says alive first, with its token and what it has seen", () => {
    const { sockets } = connect();
    sockets.last.accept();
    expect(sockets.last.sent[0]).toMatchObject({
      packet_type: "alive",
      subject_id: "agent",
      data: { agent_token: "secret", last_seq: 0 },
    });
  });

  it("acknowledges every numbered packet and drops repeats", () => {
    const { sockets, versions } = connect();
    sockets.last.accept();
    sockets.last.receiveState(pageState(1, MESSAGE), 1);
    sockets.last.receiveState(pageState(2, MESSAGE), 2);
    sockets.last.receiveState(pageState(1, MESSAGE), 1);
    expect(versions).toEqual([1, 2]);
    expect(sockets.last.ofType("ack").map((packet) => packet.data)).toEqual([{ last_seq: 1 }, { last_seq: 2 }, { last_seq: 2 }]);
  });

  it("drops a repeated status packet too, which no version protects", () => {
    const { sockets, statuses } = connect();
    sockets.last.accept();
    const packet = { packet_type: "update_status", subject_id: "agent", data: { status: "timeout" }, router_seq: 1 };
    sockets.last.receive(packet);
    sockets.last.receive(packet);
    expect(statuses).toEqual(["timeout"]);
  });

  it("asks after a reconnect for what came after the last number", () => {
    const { sockets } = connect();
    sockets.last.accept();
    sockets.last.receiveState(pageState(1, MESSAGE), 7);
    sockets.last.cut();
    vi.advanceTimersByTime(1_000);
    sockets.last.accept();
    expect(sockets.all).toHaveLength(2);
    const [first, again] = sockets.all.map((socket) => socket.sent[0]?.data as { page_id: string });
    expect(again).toMatchObject({ agent_token: "secret", last_seq: 7 });
    // One page: the router must not take the reconnect for a second window.
    expect(again?.page_id).toBe(first?.page_id);
  });

  it("takes a newer state under an old number: the router was restarted and counts anew", () => {
    const { sockets, versions } = connect();
    sockets.last.accept();
    sockets.last.receiveState(pageState(4, MESSAGE), 9);
    sockets.last.receiveState(pageState(5, MESSAGE), 1);
    expect(versions).toEqual([4, 5]);
    expect(sockets.last.ofType("ack").at(-1)?.data).toEqual({ last_seq: 1 });
  });

  it("passes on the router's errors", () => {
    const { sockets, errors } = connect();
    sockets.last.accept();
    sockets.last.receive({ packet_type: "error", subject_id: "agent", data: { error: "Wrong token.", fatal: true } });
    expect(errors).toEqual([{ error: "Wrong token.", fatal: true, reason: null }]);
  });

  it.each([
    ["other_window", "other_window"],
    [null, null],
    [{ code: 7 }, null],
  ])("passes on an error's reason, and the sentence whatever the reason is: %o", (sent, passed) => {
    const { sockets, errors } = connect();
    sockets.last.accept();
    sockets.last.receive({ packet_type: "error", subject_id: "agent", data: { error: "Closed.", fatal: true, reason: sent } });
    expect(errors).toEqual([{ error: "Closed.", fatal: true, reason: passed }]);
  });
});

describe("with Mephisto's node router", () => {
  it("sends neither token nor acknowledgement, and takes unnumbered states", () => {
    const { sockets, versions } = connect(null);
    sockets.last.accept();
    sockets.last.receiveState(pageState(1, MESSAGE));
    sockets.last.receiveState(pageState(3, MESSAGE));
    sockets.last.receiveState(pageState(2, MESSAGE));
    expect(versions).toEqual([1, 3]);
    expect(sockets.last.ofType("ack")).toEqual([]);
    expect(sockets.last.ofType("alive")[0]?.data).toMatchObject({ last_seq: 0 });
    expect(sockets.last.ofType("heartbeat")[0]?.data).toEqual({});
  });

  it("reads the status out of the heartbeat's echo", () => {
    const { sockets, statuses } = connect(null);
    sockets.last.accept();
    sockets.last.receive({ packet_type: "heartbeat", subject_id: "agent", data: { status: "disconnect", last_mephisto_ping: 1 } });
    expect(statuses).toEqual(["disconnect"]);
  });

  it("ignores what is no packet", () => {
    const { sockets, versions, errors } = connect(null);
    sockets.last.accept();
    sockets.last.receive([1, 2]);
    sockets.last.receive({ packet_type: "client_bound_live_update", data: { kind: "something else" } });
    expect(versions).toEqual([]);
    expect(errors).toEqual([]);
  });
});

describe("delivery of answers", () => {
  it("sends an answer again every 5 s until it is confirmed", () => {
    const { connection, sockets, unconfirmed } = connect();
    sockets.last.accept();
    unconfirmed.push(ANSWER);
    connection.send(ANSWER);
    const count = () => sockets.last.ofType("mephisto_bound_live_update").length;
    expect(count()).toBe(1);
    vi.advanceTimersByTime(RESEND_MS - 1);
    expect(count()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(count()).toBe(2);
    unconfirmed.pop();
    sockets.last.receive({ packet_type: "heartbeat", data: {} });
    vi.advanceTimersByTime(RESEND_MS);
    expect(count()).toBe(2);
  });

  it("sends what is unconfirmed on every reconnect, under the same id", () => {
    const { connection, sockets, unconfirmed } = connect();
    unconfirmed.push(ANSWER);
    connection.send(ANSWER);
    sockets.last.accept();
    sockets.last.cut();
    vi.advanceTimersByTime(1_000);
    sockets.last.accept();
    for (const socket of sockets.all) {
      expect(socket.ofType("mephisto_bound_live_update").map((packet) => packet.data.update_id)).toEqual(["x"]);
    }
  });
});

describe("the line", () => {
  it("beats every 5 s", () => {
    const { sockets } = connect();
    sockets.last.accept();
    const before = sockets.last.ofType("heartbeat").length;
    vi.advanceTimersByTime(2 * HEARTBEAT_MS);
    expect(sockets.last.ofType("heartbeat").length - before).toBe(2);
  });

  it("is given up when nothing is heard for 15 s, and opened again", () => {
    const { sockets, links } = connect();
    sockets.last.accept();
    vi.advanceTimersByTime(SILENCE_MS);
    expect(links.at(-1)).toBe("lost");
    vi.advanceTimersByTime(1_000);
    expect(sockets.all).toHaveLength(2);
    sockets.last.accept();
    expect(links.at(-1)).toBe("open");
  });

  it("waits longer after each failure, at most 8 s", () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    const { sockets } = connect();
    for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
      const before = sockets.all.length;
      sockets.last.cut();
      vi.advanceTimersByTime(wait - 1);
      expect(sockets.all).toHaveLength(before);
      vi.advanceTimersByTime(1);
      expect(sockets.all).toHaveLength(before + 1);
    }
  });

  it("is tried at once when the browser comes back online", () => {
    const { sockets } = connect();
    sockets.last.cut();
    window.dispatchEvent(new Event("online"));
    expect(sockets.all).toHaveLength(2);
  });

  it("stays closed once stopped", () => {
    const { connection, sockets } = connect();
    sockets.last.accept();
    connection.stop();
    vi.advanceTimersByTime(60_000);
    window.dispatchEvent(new Event("online"));
    expect(sockets.all).toHaveLength(1);
  });
});
