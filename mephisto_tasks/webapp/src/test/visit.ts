/** A rater's visit on stand-ins, for tests of the session. */
import { expect, vi } from "vitest";
import { Session } from "../session/session";
import { fakeCrowd, fakeHttp, FakeSockets } from "./fakes";

/** A rater at the door. */
export function visit(http = fakeHttp(), crowd: ReturnType<typeof fakeCrowd> | null = fakeCrowd()) {
  const sockets = new FakeSockets();
  const goTo = vi.fn();
  const session = new Session({ http, crowd: () => crowd, openSocket: sockets.open, goTo, reads: ["en"] });
  return { session, sockets, http, crowd, goTo };
}

/** A visit that has come as far as the websocket. */
export async function live(http = fakeHttp(), crowd = fakeCrowd()) {
  const parts = visit(http, crowd);
  parts.session.start();
  await vi.waitFor(() => expect(parts.sockets.all.length).toBeGreaterThan(0));
  parts.sockets.last.accept();
  return { ...parts, view: () => parts.session.getView() };
}

/** Lets promises that are due settle. */
export const settle = () => vi.advanceTimersByTimeAsync(0);
