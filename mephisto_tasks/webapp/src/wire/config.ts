/** `task_config.json`: the public words of a task. */
import * as v from "valibot";

const SectionSchema = v.object({ heading: v.optional(v.string(), ""), lines: v.array(v.string()) });
const SectionsSchema = v.optional(v.object({ sections: v.array(SectionSchema) }), { sections: [] });

const TaskConfigSchema = v.object({
  title: v.string(),
  tagline: v.optional(v.string(), ""),
  preview: SectionsSchema,
  instructions: SectionsSchema,
  consent: v.optional(v.string(), ""),
  pay: v.optional(v.string(), ""),
  start_label: v.optional(v.string(), "Start"),
  provider_type: v.optional(v.string(), ""),
  /** Who sends the raters, where they come by link; null: they were invited. */
  panel: v.nullish(v.object({ title: v.string(), may_decline: v.optional(v.boolean(), false) }), null),
});

export type Section = v.InferOutput<typeof SectionSchema>;
export type TaskConfig = v.InferOutput<typeof TaskConfigSchema>;

export function parseTaskConfig(body: unknown): TaskConfig | null {
  const result = v.safeParse(TaskConfigSchema, body);
  return result.success ? result.output : null;
}
