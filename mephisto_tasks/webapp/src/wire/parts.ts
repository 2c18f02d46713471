/** What steps are made of: `parlai_humaneval/schema/wire.py`. */
import * as v from "valibot";
import { SAID } from "./markup";

export const CardSchema = v.object({ candidate_id: v.string(), ...SAID });

export const OptionSchema = v.object({ option_id: v.string(), label: v.string() });

export const ReasonSchema = v.object({
  label: v.string(),
  required: v.optional(v.boolean(), true),
  min_words: v.optional(v.number(), 1),
});

export type Card = v.InferOutput<typeof CardSchema>;
export type Option = v.InferOutput<typeof OptionSchema>;
export type ReasonField = v.InferOutput<typeof ReasonSchema>;

/** False where two of them are the same. */
export function unlike(ids: readonly string[]): boolean {
  return new Set(ids).size === ids.length;
}
