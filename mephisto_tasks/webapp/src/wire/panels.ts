/** Finished dialogues and what is asked of them: `parlai_humaneval/schema/panels.py`. */
import * as v from "valibot";
import { SAID } from "./markup";
import { CardSchema, OptionSchema, ReasonSchema, unlike } from "./parts";

const PanelLineSchema = v.object({ line_id: v.string(), speaker: v.string(), judged: v.boolean(), ...SAID });

export const PanelSchema = v.object({
  title: v.string(),
  context: v.optional(v.array(v.string()), []),
  judged_label: v.nullish(v.string(), null),
  lines: v.array(PanelLineSchema),
});

const FormQuestionSchema = v.object({
  question_id: v.string(),
  text: v.string(),
  options: v.pipe(
    v.array(OptionSchema),
    v.minLength(1),
    v.check((options) => unlike(options.map(({ option_id: id }) => id)), "Two options have the same id."),
  ),
  group: v.nullish(v.string(), null),
  reason: v.nullish(ReasonSchema, null),
});

export const FormSchema = v.object({
  kind: v.literal("form"),
  step_id: v.string(),
  questions: v.pipe(
    v.array(FormQuestionSchema),
    v.minLength(1),
    v.check((questions) => unlike(questions.map(({ question_id: id }) => id)), "Two questions have the same id."),
  ),
});

/** As many places as a server takes (`RankAnswer` of panels.py). */
const MOST_PLACES = 50;

export const RankSchema = v.object({
  kind: v.literal("rank"),
  step_id: v.string(),
  question: v.string(),
  cards: v.pipe(
    v.array(CardSchema),
    v.minLength(1),
    v.maxLength(MOST_PLACES),
    v.check((cards) => unlike(cards.map(({ candidate_id: id }) => id)), "Two cards have the same id."),
  ),
  ties: v.optional(v.boolean(), false),
  reason: v.nullish(ReasonSchema, null),
});

export type PanelLine = v.InferOutput<typeof PanelLineSchema>;
export type Panel = v.InferOutput<typeof PanelSchema>;
export type FormQuestion = v.InferOutput<typeof FormQuestionSchema>;
export type FormStep = v.InferOutput<typeof FormSchema>;
export type RankStep = v.InferOutput<typeof RankSchema>;
