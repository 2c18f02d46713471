/** Written by .ci/wire_types.py from parlai_humaneval/schema; `npm run wire` rewrites it. */
import * as v from "valibot";
import { WebAddress, within } from "./lenient";

/** The most characters of a text in an answer. */
export const MAX_TEXT = 20000;

const ActionSchema = v.object({
  action_id: v.string(), label: v.string(), group: v.nullish(v.string(), null), enabled: v.optional(v.boolean(), true),
  hint: v.nullish(v.string(), null), text_label: v.nullish(v.string(), null), confirm: v.nullish(v.string(), null),
});
export type Action = v.InferOutput<typeof ActionSchema>;

const ActionAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("action"), action_id: v.string(),
  text: v.optional(v.string(), ""),
});

export interface Part {
  tag: "p" | "title" | "b" | "i" | "s" | "code" | "pre" | "ul" | "ol" | "li" | "quote" | "hr" | "br" | "table" | "tr" | "th" | "td";
  start?: number | undefined;
  parts: Markup;
}
const PartSchema: v.GenericSchema<Part> = v.lazy(() => v.object({
  tag: v.picklist(["p", "title", "b", "i", "s", "code", "pre", "ul", "ol", "li", "quote", "hr", "br", "table", "tr", "th", "td"]),
  start: v.optional(v.number()), parts: v.array(v.union([PartSchema, v.string()])),
}));

const PictureSchema = v.object({
  digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), alt: v.string(), width: v.number(), height: v.number(),
});
export type Picture = v.InferOutput<typeof PictureSchema>;

export type Markup = (Part | string)[];
const MarkupSchema = v.array(v.union([PartSchema, v.string()]));

const CardSchema = v.object({
  text: v.string(),
  markup: v.optional(v.fallback(v.nullable(v.pipe(MarkupSchema, v.check((some) => within(some, 16, 5000)))), null)),
  images: v.optional(v.fallback(v.array(PictureSchema), [])), candidate_id: v.string(),
});
export type Card = v.InferOutput<typeof CardSchema>;

const ChooseAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), selected: v.array(v.string()), none: v.optional(v.boolean(), false),
  reason: v.optional(v.string(), ""), kind: v.literal("choose"),
});

const ReasonFieldSchema = v.object({
  label: v.string(), required: v.optional(v.boolean(), true), min_words: v.optional(v.number(), 1),
});
export type ReasonField = v.InferOutput<typeof ReasonFieldSchema>;

const ChooseStepSchema = v.object({
  kind: v.literal("choose"), step_id: v.string(), question: v.string(), cards: v.array(CardSchema),
  min_choices: v.optional(v.number(), 1), max_choices: v.optional(v.number(), 1), none_label: v.nullish(v.string(), null),
  reason: v.nullish(ReasonFieldSchema, null),
});
export type ChooseStep = v.InferOutput<typeof ChooseStepSchema>;

const ContextSchema = v.object({
  title: v.string(), lines: v.array(v.string()),
});
export type Context = v.InferOutput<typeof ContextSchema>;

export const RedirectSchema = v.object({
  site: v.string(), url: v.nullish(WebAddress, null), code: v.nullish(v.string(), null),
});
export type Redirect = v.InferOutput<typeof RedirectSchema>;

const EndStepSchema = v.object({
  kind: v.literal("end"), title: v.string(), text: v.string(), next: v.picklist(["submit", "submit_onboarding", "stay"]),
  redirect: v.fallback(v.nullish(RedirectSchema, null), null), resumes: v.optional(v.boolean(), false),
});
export type EndStep = v.InferOutput<typeof EndStepSchema>;

const EntrySchema = v.object({
  text: v.string(),
  markup: v.optional(v.fallback(v.nullable(v.pipe(MarkupSchema, v.check((some) => within(some, 16, 5000)))), null)),
  images: v.optional(v.fallback(v.array(PictureSchema), [])), entry_id: v.string(),
  speaker: v.picklist(["you", "partner"]), note: v.nullish(v.string(), null), column: v.nullish(v.number(), null),
  growing: v.optional(v.boolean(), false),
});
export type Entry = v.InferOutput<typeof EntrySchema>;

const FeedbackAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("feedback"), text: v.string(),
});

const FeedbackStepSchema = v.object({
  kind: v.literal("feedback"), step_id: v.string(), label: v.string(), max_chars: v.optional(v.number(), 5000),
});
export type FeedbackStep = v.InferOutput<typeof FeedbackStepSchema>;

const FormAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("form"), values: v.record(v.string(), v.string()),
  reasons: v.optional(v.record(v.string(), v.string()), {}),
});

const OptionSchema = v.object({
  option_id: v.string(), label: v.string(),
});
export type Option = v.InferOutput<typeof OptionSchema>;

const FormQuestionSchema = v.object({
  question_id: v.string(), text: v.string(), options: v.array(OptionSchema), group: v.nullish(v.string(), null),
  reason: v.nullish(ReasonFieldSchema, null),
});
export type FormQuestion = v.InferOutput<typeof FormQuestionSchema>;

const FormStepSchema = v.object({
  kind: v.literal("form"), step_id: v.string(), questions: v.array(FormQuestionSchema),
});
export type FormStep = v.InferOutput<typeof FormStepSchema>;

const SentImageSchema = v.object({
  digest: v.string(), alt: v.string(),
});
export type SentImage = v.InferOutput<typeof SentImageSchema>;

const MessageAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("message"), text: v.string(),
  images: v.optional(v.array(SentImageSchema)),
});

const MessageStepSchema = v.object({
  kind: v.literal("message"), step_id: v.string(), label: v.string(), min_words: v.optional(v.number(), 1),
  max_chars: v.optional(v.number(), 2000), suggestions: v.optional(v.array(v.string()), []),
  actions: v.optional(v.array(ActionSchema), []), max_images: v.optional(v.number()),
});
export type MessageStep = v.InferOutput<typeof MessageStepSchema>;

const NoticeSchema = v.object({
  level: v.picklist(["info", "success", "error"]), text: v.string(), points: v.optional(v.array(v.string()), []),
});
export type Notice = v.InferOutput<typeof NoticeSchema>;

const PanelLineSchema = v.object({
  text: v.string(),
  markup: v.optional(v.fallback(v.nullable(v.pipe(MarkupSchema, v.check((some) => within(some, 16, 5000)))), null)),
  images: v.optional(v.fallback(v.array(PictureSchema), [])), line_id: v.string(), speaker: v.string(),
  judged: v.boolean(),
});
export type PanelLine = v.InferOutput<typeof PanelLineSchema>;

const PanelSchema = v.object({
  title: v.string(), context: v.optional(v.array(v.string()), []), judged_label: v.nullish(v.string(), null),
  lines: v.array(PanelLineSchema),
});
export type Panel = v.InferOutput<typeof PanelSchema>;

const ProgressSchema = v.object({
  unit: v.picklist(["turn", "conversation", "pair", "practice"]), current: v.number(), total: v.nullish(v.number(), null),
  minimum: v.nullish(v.number(), null),
});
export type Progress = v.InferOutput<typeof ProgressSchema>;

const RankStepSchema = v.object({
  kind: v.literal("rank"), step_id: v.string(), question: v.string(), cards: v.array(CardSchema),
  ties: v.optional(v.boolean(), false), reason: v.nullish(ReasonFieldSchema, null),
});
export type RankStep = v.InferOutput<typeof RankStepSchema>;

const ScaleSchema = v.object({
  scale_id: v.string(), statement: v.string(), style: v.picklist(["slider", "points"]), minimum: v.number(),
  maximum: v.number(), left: v.string(), right: v.string(), labels: v.optional(v.array(v.string()), []),
  hints: v.optional(v.array(v.string()), []),
});
export type Scale = v.InferOutput<typeof ScaleSchema>;

const RateStepSchema = v.object({
  kind: v.literal("rate"), step_id: v.string(), question: v.string(), scales: v.array(ScaleSchema),
});
export type RateStep = v.InferOutput<typeof RateStepSchema>;

const TickStepSchema = v.object({
  kind: v.literal("tick"), step_id: v.string(), question: v.string(), reply: v.nullish(CardSchema, null),
  options: v.array(OptionSchema), min_choices: v.optional(v.number(), 0), max_choices: v.number(),
  none_label: v.nullish(v.string(), null), reason: v.nullish(ReasonFieldSchema, null),
});
export type TickStep = v.InferOutput<typeof TickStepSchema>;

const TopicStepSchema = v.object({
  kind: v.literal("topic"), step_id: v.string(), label: v.string(), opinion_label: v.string(),
  opinions: v.array(OptionSchema), max_chars: v.optional(v.number(), 200),
});
export type TopicStep = v.InferOutput<typeof TopicStepSchema>;

const WaitStepSchema = v.object({
  kind: v.literal("wait"), text: v.string(), slow: v.optional(v.boolean(), false), idle: v.optional(v.boolean(), false),
  coming: v.nullish(v.variant("kind", [ChooseStepSchema, TickStepSchema]), null),
});
export type WaitStep = v.InferOutput<typeof WaitStepSchema>;

const WriteStepSchema = v.object({
  kind: v.literal("write"), step_id: v.string(), label: v.string(), cards: v.array(CardSchema),
  min_words: v.optional(v.number(), 1), max_chars: v.optional(v.number(), 2000),
});
export type WriteStep = v.InferOutput<typeof WriteStepSchema>;

export const StepSchema = v.variant("kind", [WaitStepSchema, MessageStepSchema, WriteStepSchema, ChooseStepSchema, TickStepSchema, RateStepSchema, FormStepSchema, RankStepSchema, TopicStepSchema, FeedbackStepSchema, EndStepSchema]);
export type Step = v.InferOutput<typeof StepSchema>;

export const PageStateSchema = v.object({
  version: v.number(), unit: v.optional(v.string(), ""), language: v.nullish(v.string(), null),
  phase: v.picklist(["practice", "task", "ended"]), guided: v.optional(v.boolean(), false),
  progress: v.nullish(ProgressSchema, null), within: v.nullish(ProgressSchema, null),
  context: v.nullish(ContextSchema, null), topic: v.nullish(v.string(), null),
  columns: v.optional(v.array(v.string()), []), transcript: v.optional(v.array(EntrySchema), []),
  panels: v.optional(v.array(PanelSchema), []), step: StepSchema, notice: v.nullish(NoticeSchema, null),
  confirmed: v.optional(v.array(v.string()), []),
});
export type PageState = v.InferOutput<typeof PageStateSchema>;

const RankAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("rank"), ranks: v.record(v.string(), v.number()),
  reason: v.optional(v.string(), ""),
});

const RateAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("rate"), values: v.record(v.string(), v.number()),
});

const TickAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), selected: v.array(v.string()), none: v.optional(v.boolean(), false),
  reason: v.optional(v.string(), ""), kind: v.literal("tick"),
});

const TopicAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("topic"), text: v.string(),
  opinion: v.optional(v.string(), ""),
});

const WriteAnswerSchema = v.object({
  update_id: v.string(), step_id: v.string(), kind: v.literal("write"), text: v.string(),
});

export const AnswerSchema = v.variant("kind", [MessageAnswerSchema, WriteAnswerSchema, ActionAnswerSchema, ChooseAnswerSchema, TickAnswerSchema, RateAnswerSchema, FormAnswerSchema, RankAnswerSchema, TopicAnswerSchema, FeedbackAnswerSchema]);
export type Answer = v.InferOutput<typeof AnswerSchema>;
