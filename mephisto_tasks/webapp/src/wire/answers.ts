/** What the page answers: the `Answer` models of `parlai_humaneval/schema/steps.py`. */
import * as v from "valibot";

const ids = { update_id: v.string(), step_id: v.string() };
// `none` is absent from answers that an earlier version of this page kept.
const selection = { selected: v.array(v.string()), none: v.optional(v.boolean(), false), reason: v.string() };

export const AnswerSchema = v.variant("kind", [
  v.object({ ...ids, kind: v.literal("message"), text: v.string() }),
  v.object({ ...ids, kind: v.literal("write"), text: v.string() }),
  v.object({ ...ids, kind: v.literal("action"), action_id: v.string(), text: v.string() }),
  v.object({ ...ids, kind: v.literal("choose"), ...selection }),
  v.object({ ...ids, kind: v.literal("tick"), ...selection }),
  v.object({ ...ids, kind: v.literal("rate"), values: v.record(v.string(), v.number()) }),
  v.object({
    ...ids,
    kind: v.literal("form"),
    values: v.record(v.string(), v.string()),
    reasons: v.record(v.string(), v.string()),
  }),
  v.object({ ...ids, kind: v.literal("rank"), ranks: v.record(v.string(), v.number()), reason: v.string() }),
  v.object({ ...ids, kind: v.literal("topic"), text: v.string(), opinion: v.string() }),
  v.object({ ...ids, kind: v.literal("feedback"), text: v.string() }),
]);

export type Answer = v.InferOutput<typeof AnswerSchema>;

/** An answer as a step makes it; the session adds its `update_id`. */
export type AnswerBody = Answer extends infer A ? (A extends Answer ? Omit<A, "update_id"> : never) : never;

/** Most characters of any text in one answer (`MAX_TEXT` of steps.py). */
export const MAX_TEXT = 20_000;
