/** Mephisto's packets, as PROTOCOL.md lists them. */
import * as v from "valibot";
import { ConsentSchema } from "./config";
import { read } from "./read";
import { RedirectSchema } from "./schema.gen";

const PacketSchema = v.object({
  packet_type: v.string(),
  subject_id: v.optional(v.string(), ""),
  data: v.optional(v.unknown()),
  router_seq: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
});

export type Packet = v.InferOutput<typeof PacketSchema>;

export const AgentSchema = v.object({
  agent_id: v.nullish(v.string(), null),
  failure_reason: v.nullish(v.string(), null),
  agent_token: v.nullish(v.string(), null),
  /** The visitor is to see what the task is before anything begins; with a `failure_reason`, nothing begins afterwards. */
  preview: v.optional(v.boolean(), false),
  /** Stands above the reason; null: the page has words of its own. */
  title: v.nullish(v.string(), null),
  redirect: v.fallback(v.nullish(RedirectSchema, null), null),
  /** A refusal that has a screen of its own; null: the one that all others have. */
  screen: v.nullish(v.string(), null),
  /** What the worker has to agree to before they are registered; null: nothing. */
  consent: v.nullish(ConsentSchema, null),
  /** The refusal passes: after so many seconds the page asks again by itself. */
  try_again_s: v.nullish(v.pipe(v.number(), v.minValue(0)), null),
  init_task_data: v.nullish(v.object({ past_live_updates: v.nullish(v.array(v.unknown()), []) }), null),
});

export type AgentDetails = v.InferOutput<typeof AgentSchema>;

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

/** The `screen` of a refusal for a page that stayed open from another study. */
export const OTHER_STUDY = "other_study";

/** A packet out of a websocket's text; null when it is none. */
export function parsePacket(text: string): Packet | null {
  try {
    return read(PacketSchema, JSON.parse(text));
  } catch {
    return null;
  }
}

export function parseStatus(data: unknown): string | null {
  return read(StatusSchema, data)?.status ?? null;
}

export function parseError(data: unknown): RouterError | null {
  return read(ErrorSchema, data);
}
