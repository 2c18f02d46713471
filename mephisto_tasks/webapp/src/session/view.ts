/** What the page shows at one moment, and how what happens changes it. Pure: no timers, no network. */
import type { ConsentForm, TaskConfig } from "../wire/config";
import type { Link } from "../wire/connection";
import type { Purpose } from "../wire/crowd";
import type { Answer, PageState, Redirect } from "../wire/state";

/** What the loading screen waits for. */
export type Waiting = "config" | "agent" | "connection" | "first_state";

/** How far the unit is on its way to the server at an `end` step. */
export type Delivery =
  | { kind: "none" }
  | { kind: "sending" }
  | { kind: "failed"; text: string; retrying: boolean }
  | { kind: "done" };

/** What the preview's button does: come back as somebody, nothing before a unit is accepted, ask the server, or nothing at all. */
export type Start = "fresh" | "accept_first" | "ask" | "only_look";

/** The server gives nothing out; `title` stands above its reason, and `redirect` leads back to the site that sent the rater. */
export interface Refusal {
  kind: "refused";
  title: string | null;
  reason: string;
  redirect: Redirect | null;
  /** The page is of a study that has ended; another one begins at this address without its parameters. */
  over?: boolean;
}

/** The study is full right now; the page asks again by itself. */
export interface Outside {
  kind: "outside";
  title: string;
  reason: string;
  /** How often it was asked; with each try the same words are news. */
  tries: number;
  /** When it asks next (milliseconds since the epoch); null: it asks now. */
  nextTryAt: number | null;
}

export type Screen =
  | { kind: "loading"; waitingFor: Waiting; problem: string | null }
  /** `why` stands beside a button that does nothing. */
  | { kind: "preview"; start: Start; why?: string | undefined }
  /** `purpose`: what the server is asked for once the worker has agreed. */
  | { kind: "consent"; form: ConsentForm; purpose: Purpose | undefined }
  | { kind: "live" }
  | Refusal
  | Outside
  | { kind: "other_browser"; title: string; text: string }
  | { kind: "other_window" | "problem"; text: string };

export interface View {
  screen: Screen;
  config: TaskConfig | null;
  agentId: string | null;
  state: PageState | null;
  link: Link;
  /** A sentence of the router about the connection; gone with the next state. */
  linkProblem: string | null;
  /** The answer to the step in view that waits for its confirmation. */
  pending: Answer | null;
  /** Why the server closed this unit before its end; null while it is open. */
  closed: string | null;
  delivery: Delivery;
}

export const INITIAL_VIEW: View = {
  screen: waitingFor("config"),
  config: null,
  agentId: null,
  state: null,
  link: "connecting",
  linkProblem: null,
  pending: null,
  closed: null,
  delivery: { kind: "none" },
};

export function waitingFor(what: Waiting, problem: string | null = null): Screen {
  return { kind: "loading", waitingFor: what, problem };
}

/** A try has failed; who reads something else need not know. */
export function troubled({ screen }: View, problem: string): Partial<View> {
  return screen.kind === "loading" ? { screen: { ...screen, problem } } : {};
}

/** An agent begins, of whom nothing is known yet. */
export function begun({ config }: View, agentId: string): View {
  return { ...INITIAL_VIEW, config, agentId, screen: waitingFor("connection") };
}

export function linked({ screen, agentId }: View, link: Link): Partial<View> {
  const waits = screen.kind === "loading" && agentId !== null;
  return waits ? { link, screen: { ...screen, waitingFor: link === "open" ? "first_state" : "connection" } } : { link };
}

/** There is no place; `nextTryAt` null: it is asked again just now. */
export function keptOutside({ screen }: View, words: Pick<Outside, "title" | "reason">, nextTryAt: number): Partial<View> {
  return { screen: { kind: "outside", ...words, tries: screen.kind === "outside" ? screen.tries + 1 : 1, nextTryAt } };
}

export function askingAgain({ screen }: View): Partial<View> {
  return screen.kind === "outside" ? { screen: { ...screen, nextTryAt: null } } : {};
}

/** Only the state with the greatest version counts; the same one again changes nothing. */
export function isNewer(view: View, state: PageState): boolean {
  return view.state === null || state.version > view.state.version;
}
