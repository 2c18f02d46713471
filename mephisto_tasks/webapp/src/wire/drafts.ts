/** What was typed or chosen but not yet taken by the server, per unit of work (or agent, in the practice) and step. */
import * as v from "valibot";
import { read } from "./read";
import { store } from "./storage";

// A part that is absent or spoilt, as in the draft of an earlier version, is empty and costs the others nothing.
const DraftSchema = v.object({
  text: v.fallback(v.string(), ""),
  selected: v.fallback(v.array(v.string()), []),
  none: v.fallback(v.boolean(), false),
  values: v.fallback(v.record(v.string(), v.number()), {}),
  picks: v.fallback(v.record(v.string(), v.string()), {}),
  reasons: v.fallback(v.record(v.string(), v.string()), {}),
  open: v.fallback(v.array(v.string()), []),
  images: v.fallback(v.array(v.object({ digest: v.string(), alt: v.string() })), []),
});

/**
 * `text` is what is written: message, reason, topic or feedback. `selected` are ids of cards or options (the opinion,
 * where a topic has one), `none` is the explicit “none of these”, and `values` are the ratings by scale or the places by
 * card. `picks` and `reasons` are the options and the texts of a form, by question. `open` are ids of replies that were
 * unfolded. `images` are pictures that were uploaded, with what is said of them.
 */
export type Draft = v.InferOutput<typeof DraftSchema>;

export const EMPTY_DRAFT: Draft = { text: "", selected: [], none: false, values: {}, picks: {}, reasons: {}, open: [], images: [] };

export function readDraft(unit: string, stepId: string): Draft {
  return read(DraftSchema, store.read(key(unit, stepId))) ?? EMPTY_DRAFT;
}

export function writeDraft(unit: string, stepId: string, draft: Draft): void {
  store.write(key(unit, stepId), draft);
}

export function clearDraft(unit: string, stepId: string): void {
  store.remove(key(unit, stepId));
}

/** Where the text that an action asks for is kept: apart from the step's own draft, which it may outlive. */
export function actionDraft(stepId: string, actionId: string): string {
  return `${stepId}:${actionId}`;
}

function key(unit: string, stepId: string): string {
  return `draft:${unit}:${stepId}`;
}
