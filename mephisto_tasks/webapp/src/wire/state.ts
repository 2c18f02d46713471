/**
 * What the server tells the page to show: the models of `parlai_humaneval/schema/steps.py`, checked on arrival.
 *
 * Unknown extra fields are let through, so that a newer server can still speak to a page that was loaded earlier.
 */
import * as v from "valibot";
import { SAID } from "./markup";
import { FormSchema, PanelSchema, RankSchema } from "./panels";
import { MaybeRedirect } from "./redirect";
import { CardSchema, OptionSchema, ReasonSchema } from "./parts";

export type { FormQuestion, FormStep, Panel, PanelLine, RankStep } from "./panels";
export type { Card, Option, ReasonField } from "./parts";

const EntrySchema = v.object({
  entry_id: v.string(),
  speaker: v.picklist(["you", "partner"]),
  ...SAID,
  note: v.nullish(v.string(), null),
  column: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0)), null),
});

const ProgressSchema = v.object({
  unit: v.picklist(["turn", "conversation", "pair", "practice"]),
  current: v.number(),
  total: v.nullish(v.number(), null),
  minimum: v.nullish(v.number(), null),
});

const ContextSchema = v.object({ title: v.string(), lines: v.array(v.string()) });

const NoticeSchema = v.object({ level: v.picklist(["info", "success", "error"]), text: v.string(), points: v.optional(v.array(v.string()), []) });

const WaitSchema = v.object({
  kind: v.literal("wait"),
  text: v.string(),
  slow: v.optional(v.boolean(), false),
  idle: v.optional(v.boolean(), false),
});

const ActionSchema = v.object({
  action_id: v.string(),
  label: v.string(),
  group: v.nullish(v.string(), null),
  enabled: v.optional(v.boolean(), true),
  hint: v.nullish(v.string(), null),
  text_label: v.nullish(v.string(), null),
  confirm: v.nullish(v.string(), null),
});

const MessageSchema = v.object({
  kind: v.literal("message"),
  step_id: v.string(),
  label: v.string(),
  min_words: v.optional(v.number(), 1),
  max_chars: v.optional(v.number(), 2000),
  suggestions: v.optional(v.array(v.string()), []),
  actions: v.optional(v.array(ActionSchema), []),
});

const WriteSchema = v.object({
  kind: v.literal("write"),
  step_id: v.string(),
  label: v.string(),
  cards: v.array(CardSchema),
  min_words: v.optional(v.number(), 1),
  max_chars: v.optional(v.number(), 2000),
});

const ChooseSchema = v.object({
  kind: v.literal("choose"),
  step_id: v.string(),
  question: v.string(),
  cards: v.pipe(v.array(CardSchema), v.minLength(1)),
  min_choices: v.optional(v.number(), 1),
  max_choices: v.optional(v.number(), 1),
  none_label: v.nullish(v.string(), null),
  reason: v.nullish(ReasonSchema, null),
});

const TickSchema = v.object({
  kind: v.literal("tick"),
  step_id: v.string(),
  question: v.string(),
  reply: v.nullish(CardSchema, null),
  options: v.pipe(v.array(OptionSchema), v.minLength(1)),
  min_choices: v.optional(v.number(), 0),
  max_choices: v.pipe(v.number(), v.minValue(1)),
  none_label: v.nullish(v.string(), null),
  reason: v.nullish(ReasonSchema, null),
});

/** More radio buttons than this fit in no row and are surely a mistake. */
const MOST_POINTS = 21;

const ScaleSchema = v.pipe(
  v.object({
    scale_id: v.string(),
    statement: v.string(),
    style: v.picklist(["slider", "points"]),
    minimum: v.number(),
    maximum: v.number(),
    left: v.string(),
    right: v.string(),
    labels: v.optional(v.array(v.string()), []),
    hints: v.optional(v.array(v.string()), []),
  }),
  v.check(({ minimum, maximum }) => minimum < maximum, "The minimum must be less than the maximum."),
  v.check(
    ({ style, minimum, maximum }) =>
      style === "slider" || (Number.isInteger(minimum) && Number.isInteger(maximum) && maximum - minimum < MOST_POINTS),
    `A scale of points goes from one whole number to another, with at most ${MOST_POINTS} points.`,
  ),
  v.check(
    ({ style, minimum, maximum, labels, hints }) =>
      style === "slider" || [labels, hints].every(({ length }) => length === 0 || length === maximum - minimum + 1),
    "A scale of points has one label for each point, or none, and so with its hints.",
  ),
);

const RateSchema = v.object({
  kind: v.literal("rate"),
  step_id: v.string(),
  question: v.string(),
  scales: v.pipe(v.array(ScaleSchema), v.minLength(1)),
});

const TopicSchema = v.object({
  kind: v.literal("topic"),
  step_id: v.string(),
  label: v.string(),
  opinion_label: v.string(),
  opinions: v.array(OptionSchema),
  max_chars: v.optional(v.number(), 200),
});

const FeedbackSchema = v.object({
  kind: v.literal("feedback"),
  step_id: v.string(),
  label: v.string(),
  max_chars: v.optional(v.number(), 5000),
});

const EndSchema = v.object({
  kind: v.literal("end"),
  title: v.string(),
  text: v.string(),
  next: v.picklist(["submit", "submit_onboarding", "stay"]),
  redirect: MaybeRedirect,
  resumes: v.optional(v.boolean(), false),
});

const StepSchema = v.variant("kind", [
  WaitSchema,
  MessageSchema,
  WriteSchema,
  ChooseSchema,
  TickSchema,
  RateSchema,
  FormSchema,
  RankSchema,
  TopicSchema,
  FeedbackSchema,
  EndSchema,
]);

const PageStateSchema = v.pipe(
  v.object({
    version: v.number(),
    unit: v.optional(v.string(), ""),
    /** That of the unit; null: as the page speaks. */
    language: v.nullish(v.string(), null),
    phase: v.picklist(["practice", "task", "ended"]),
    guided: v.optional(v.boolean(), false),
    progress: v.nullish(ProgressSchema, null),
    within: v.nullish(ProgressSchema, null),
    context: v.nullish(ContextSchema, null),
    topic: v.nullish(v.string(), null),
    columns: v.optional(v.array(v.string()), []),
    transcript: v.optional(v.array(EntrySchema), []),
    panels: v.optional(v.pipe(v.array(PanelSchema), v.maxLength(2)), []),
    step: StepSchema,
    notice: v.nullish(NoticeSchema, null),
    confirmed: v.optional(v.array(v.string()), []),
  }),
  v.check(
    ({ columns, transcript }) => transcript.every(({ column }) => column === null || column < columns.length),
    "An entry of the transcript stands in a column that there is not.",
  ),
);

const UpdateSchema = v.object({ kind: v.literal("state"), state: v.unknown() });

const VersionedSchema = v.object({ kind: v.literal("state"), state: v.object({ version: v.number() }) });

export type Entry = v.InferOutput<typeof EntrySchema>;
export type Progress = v.InferOutput<typeof ProgressSchema>;
export type Context = v.InferOutput<typeof ContextSchema>;
export type Notice = v.InferOutput<typeof NoticeSchema>;
export type Action = v.InferOutput<typeof ActionSchema>;
export type Scale = v.InferOutput<typeof ScaleSchema>;
export type WaitStep = v.InferOutput<typeof WaitSchema>;
export type MessageStep = v.InferOutput<typeof MessageSchema>;
export type ChooseStep = v.InferOutput<typeof ChooseSchema>;
export type WriteStep = v.InferOutput<typeof WriteSchema>;
export type TickStep = v.InferOutput<typeof TickSchema>;
export type RateStep = v.InferOutput<typeof RateSchema>;
export type TopicStep = v.InferOutput<typeof TopicSchema>;
export type FeedbackStep = v.InferOutput<typeof FeedbackSchema>;
export type EndStep = v.InferOutput<typeof EndSchema>;
export type Step = v.InferOutput<typeof StepSchema>;
export type PageState = v.InferOutput<typeof PageStateSchema>;

export type Parsed = { ok: true; state: PageState } | { ok: false; error: string };

/** The state inside an update; null for an update of another kind (Mephisto also replays what the worker sent). */
export function parseUpdate(update: unknown): Parsed | null {
  const outer = v.safeParse(UpdateSchema, update);
  if (!outer.success) {
    return null;
  }
  const inner = v.safeParse(PageStateSchema, outer.output.state);
  return inner.success ? { ok: true, state: inner.output } : { ok: false, error: describeIssues(inner.issues) };
}

/** The state update with the greatest version among those replayed; null when there is none. */
export function newestUpdate(updates: readonly unknown[]): unknown {
  let newest: { version: number; update: unknown } | null = null;
  for (const update of updates) {
    const version = v.safeParse(VersionedSchema, update);
    if (version.success && (newest === null || version.output.state.version > newest.version)) {
      newest = { version: version.output.state.version, update };
    }
  }
  return newest?.update ?? null;
}

/** What the page keeps under for a unit of work: its own key, the same after a relaunch; or its agent, where it has none. */
export function keptUnder(state: PageState, agentId: string): string {
  return state.unit || agentId;
}

/** The id of the step that awaits an answer; null for the two kinds that await none. */
export function answerableStepId(step: Step): string | null {
  return step.kind === "wait" || step.kind === "end" ? null : step.step_id;
}

/** True for an end that only says goodbye: nothing is sent, and nothing more will come. */
export function staysAtEnd(step: Step): boolean {
  return step.kind === "end" && step.next === "stay";
}

function describeIssues(issues: readonly v.BaseIssue<unknown>[]): string {
  return issues.map((issue) => `${v.getDotPath(issue) ?? "state"}: ${issue.message}`).join("; ");
}
