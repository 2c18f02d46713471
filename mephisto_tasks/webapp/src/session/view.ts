/** What the page shows at one moment, and how events change it. Pure: no timers, no network. */
import type { Answer } from "../wire/answers";
import type { ConsentForm, TaskConfig } from "../wire/config";
import type { Link } from "../wire/connection";
import type { Redirect } from "../wire/redirect";
import type { PageState } from "../wire/state";
import { closedSentence } from "./closed";

/** What the loading screen waits for. */
export type Waiting = "config" | "agent" | "connection" | "first_state" | "onboarding";

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
}

/** There is no place just now; the page asks again by itself. */
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
  | { kind: "consent"; form: ConsentForm }
  | { kind: "live" }
  | Refusal
  | Outside
  | { kind: "other_browser"; title: string; text: string }
  | { kind: "other_window"; text: string }
  | { kind: "problem"; text: string };

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
  screen: { kind: "loading", waitingFor: "config", problem: null },
  config: null,
  agentId: null,
  state: null,
  link: "connecting",
  linkProblem: null,
  pending: null,
  closed: null,
  delivery: { kind: "none" },
};

export type Event =
  | { type: "waiting"; waitingFor: Waiting }
  | { type: "trouble"; problem: string }
  | { type: "configured"; config: TaskConfig }
  | { type: "preview"; start: Start; why?: string | undefined }
  | { type: "consent"; form: ConsentForm }
  | { type: "agent"; agentId: string }
  | { type: "link"; link: Link }
  | { type: "link_problem"; text: string }
  | { type: "state"; state: PageState; pending: Answer | null }
  | { type: "pending"; pending: Answer | null }
  | { type: "status"; status: string }
  | { type: "delivery"; delivery: Delivery }
  | { type: "refused"; refusal: Refusal }
  | { type: "other_window"; text: string }
  | { type: "other_browser"; title: string; text: string }
  | { type: "outside"; title: string; reason: string; nextTryAt: number }
  | { type: "asking_again" }
  | { type: "problem"; text: string };

export function reduce(view: View, event: Event): View {
  switch (event.type) {
    case "waiting":
      return { ...view, screen: { kind: "loading", waitingFor: event.waitingFor, problem: null } };
    case "trouble":
      return view.screen.kind === "loading" ? { ...view, screen: { ...view.screen, problem: event.problem } } : view;
    case "configured":
      return { ...view, config: event.config };
    case "preview":
      return { ...view, screen: { kind: "preview", start: event.start, why: event.why } };
    case "consent":
      return { ...view, screen: { kind: "consent", form: event.form } };
    case "agent":
      return {
        ...INITIAL_VIEW,
        config: view.config,
        agentId: event.agentId,
        screen: { kind: "loading", waitingFor: "connection", problem: null },
      };
    case "link":
      return linked(view, event.link);
    case "link_problem":
      return { ...view, linkProblem: event.text };
    case "state":
      if (!isNewer(view, event.state)) {
        return view;
      }
      return { ...view, screen: { kind: "live" }, state: event.state, pending: event.pending, linkProblem: null };
    case "pending":
      return { ...view, pending: event.pending };
    case "status":
      return { ...view, closed: closedSentence(event.status) };
    case "delivery":
      return { ...view, delivery: event.delivery };
    case "refused":
      return { ...view, screen: event.refusal };
    case "other_window":
      return { ...view, screen: { kind: "other_window", text: event.text } };
    case "other_browser":
      return { ...view, screen: { kind: "other_browser", title: event.title, text: event.text } };
    case "outside": {
      const tries = view.screen.kind === "outside" ? view.screen.tries + 1 : 1;
      return { ...view, screen: { kind: "outside", title: event.title, reason: event.reason, tries, nextTryAt: event.nextTryAt } };
    }
    case "asking_again":
      return view.screen.kind === "outside" ? { ...view, screen: { ...view.screen, nextTryAt: null } } : view;
    case "problem":
      return { ...view, screen: { kind: "problem", text: event.text } };
  }
}

/** Only the state with the greatest version counts; the same one again changes nothing. */
export function isNewer(view: View, state: PageState): boolean {
  return view.state === null || state.version > view.state.version;
}

function linked(view: View, link: Link): View {
  if (view.screen.kind !== "loading" || view.agentId === null) {
    return { ...view, link };
  }
  const waitingFor = link === "open" ? "first_state" : "connection";
  return { ...view, link, screen: { ...view.screen, waitingFor } };
}
