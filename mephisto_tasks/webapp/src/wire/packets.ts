/** Mephisto's packets, as PROTOCOL.md lists them. */
import * as v from "valibot";
import { type ConsentForm, ConsentSchema } from "./config";
import { MaybeRedirect, type Redirect } from "./redirect";

const PacketSchema = v.object({
  packet_type: v.string(),
  subject_id: v.optional(v.string(), ""),
  data: v.optional(v.unknown()),
  router_seq: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
});

export type Packet = v.InferOutput<typeof PacketSchema>;

const AgentDetailsSchema = v.object({
  data: v.object({
    agent_id: v.nullish(v.string(), null),
    failure_reason: v.nullish(v.string(), null),
    agent_token: v.nullish(v.string(), null),
    preview: v.optional(v.boolean(), false),
    title: v.nullish(v.string(), null),
    redirect: MaybeRedirect,
    screen: v.nullish(v.string(), null),
    consent: v.nullish(ConsentSchema, null),
    try_again_s: v.nullish(v.pipe(v.number(), v.minValue(0)), null),
    init_task_data: v.nullish(v.object({ past_live_updates: v.nullish(v.array(v.unknown()), []) }), null),
  }),
});

export interface AgentDetails {
  agentId: string | null;
  agentToken: string | null;
  failureReason: string | null;
  /** Stands above the reason; null: the page has words of its own. */
  title: string | null;
  redirect: Redirect | null;
  /** A refusal that has a screen of its own; null: the one that all others have. */
  screen: string | null;
  /** What the worker has to agree to before they are registered; null: nothing. */
  consent: ConsentForm | null;
  /** The refusal passes: after so many seconds the page asks again by itself. */
  tryAgainS: number | null;
  /** The visitor is to see what the task is before anything begins; with a `failureReason`, nothing begins afterwards. */
  preview: boolean;
  pastUpdates: unknown[];
}

const StatusSchema = v.object({ status: v.string() });
const ErrorSchema = v.object({
  error: v.string(),
  fatal: v.optional(v.boolean(), false),
  // A reason that this page cannot read must not swallow the sentence.
  reason: v.fallback(v.nullish(v.string(), null), null),
});

export type RouterError = v.InferOutput<typeof ErrorSchema>;

/** The `reason` of the fatal error that says that this page's task goes on in a newer window. */
export const OTHER_WINDOW = "other_window";

/** The `reason` of the fatal error that says that nobody of this id is here: the study was launched again meanwhile. */
export const UNKNOWN = "unknown";

/** The `screen` of a refusal for who comes with another browser than the one that began. */
export const OTHER_BROWSER = "other_browser";

/** A packet out of a websocket's text; null when it is none. */
export function parsePacket(text: string): Packet | null {
  try {
    const result = v.safeParse(PacketSchema, JSON.parse(text));
    return result.success ? result.output : null;
  } catch {
    return null;
  }
}

export function parseAgentDetails(body: unknown): AgentDetails | null {
  const result = v.safeParse(AgentDetailsSchema, body);
  if (!result.success) {
    return null;
  }
  const { agent_id, agent_token, failure_reason, init_task_data, title, redirect, preview, screen, try_again_s, consent } = result.output.data;
  return {
    agentId: agent_id,
    agentToken: agent_token,
    failureReason: failure_reason,
    title,
    redirect,
    preview,
    screen,
    consent,
    tryAgainS: try_again_s,
    pastUpdates: init_task_data?.past_live_updates ?? [],
  };
}

export function parseStatus(data: unknown): string | null {
  const result = v.safeParse(StatusSchema, data);
  return result.success ? result.output.status : null;
}

export function parseError(data: unknown): RouterError | null {
  const result = v.safeParse(ErrorSchema, data);
  return result.success ? result.output : null;
}
