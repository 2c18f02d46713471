/** `task_config.json`: the public words of a task. */
import * as v from "valibot";

const SectionSchema = v.object({ heading: v.optional(v.string(), ""), lines: v.array(v.string()) });
const SectionsSchema = v.optional(v.object({ sections: v.array(SectionSchema) }), { sections: [] });

/** What people agree to before they take part. */
export const ConsentSchema = v.object({
  version: v.string(),
  digest: v.string(),
  title: v.string(),
  text: v.array(SectionSchema),
  privacy: v.optional(v.array(SectionSchema), []),
  agree: v.string(),
  decline: v.string(),
  contact: v.string(),
  changes: v.optional(v.string(), ""),
  /** The version that this worker agreed to before; null: none. */
  agreed_before: v.nullish(v.string(), null),
});

/** A sentence beside a part of the page; a part that this page does not know is never met. */
const GuideSchema = v.optional(v.array(v.object({ at: v.string(), text: v.string() })), []);

/** What differs from language to language. */
const WORDS = {
  title: v.string(),
  tagline: v.optional(v.string(), ""),
  preview: SectionsSchema,
  instructions: SectionsSchema,
  consent: v.optional(v.string(), ""),
  pay: v.optional(v.string(), ""),
  start_label: v.optional(v.string(), "Start"),
  /** What leads through a first turn, in the practice and in the task itself. */
  guide: v.nullish(v.object({ practice: GuideSchema, task: GuideSchema }), null),
};

const LanguageSchema = v.object({
  direction: v.optional(v.picklist(["ltr", "rtl"]), "ltr"),
  /** In Jed's format. */
  catalogue: v.record(v.string(), v.union([v.array(v.string()), v.record(v.string(), v.string())])),
  words: v.object(WORDS),
});

export const TaskConfigSchema = v.object({
  ...WORDS,
  /** By tag; the first is for who reads none of the others. */
  languages: v.optional(v.record(v.string(), LanguageSchema), {}),
  /** No start screen has told what is to be done: the instructions open by themselves at the first arrival. */
  instructions_first: v.optional(v.boolean(), false),
  /** About so many minutes are needed for all; null: nobody knows. */
  minutes: v.nullish(v.pipe(v.number(), v.minValue(1)), null),
  /** How raters come: their address says who they are, they press Start, or they take a unit at a site first. */
  entry: v.fallback(v.picklist(["address", "start", "site"]), "site"),
  /** Which study the page is of; empty: a server of an earlier version does not say. */
  study: v.optional(v.string(), ""),
  /** What that site calls a unit; null: nobody takes one at a site. */
  unit: v.nullish(v.string(), null),
  /** Null: nobody is asked to agree to a text of its own. */
  consent_form: v.nullish(ConsentSchema, null),
  /** Who sends the raters, where they come by link; null: they were invited. */
  panel: v.nullish(v.object({ title: v.string(), may_decline: v.optional(v.boolean(), false) }), null),
});

export type Section = v.InferOutput<typeof SectionSchema>;
export type GuideLine = v.InferOutput<typeof GuideSchema>[number];
export type ConsentForm = v.InferOutput<typeof ConsentSchema>;
type Language = v.InferOutput<typeof LanguageSchema>;
export type TaskConfig = v.InferOutput<typeof TaskConfigSchema>;

/** The description with its words in one of its languages. */
export function inLanguage(config: TaskConfig, { words }: Language): TaskConfig {
  return { ...config, ...words };
}
