/** What was typed or chosen but not yet taken by the server, per agent and step. */
import * as v from "valibot";
import { store } from "./storage";

// A part that is absent or spoilt, as in the draft of an earlier version, is empty and costs the others nothing.
const DraftSchema = v.object({
  text: v.fallback(v.string(), ""),
  selected: v.fallback(v.array(v.string()), []),
  none: v.fallback(v.boolean(), false),
  values: v.fallback(v.record(v.string(), v.number()), {}),
  picks: v.fallback(v.record(v.string(), v.string()), {}),
  reasons: v.fallback(v.record(v.string(), v.string()), {}),
});

/**
 * `text` is what is written: message, reason, topic or feedback. `selected` are ids of cards or options (the opinion,
 * where a topic has one), `none` is the explicit “none of these”, and `values` are the ratings by scale or the places by
 * card. `picks` and `reasons` are the options and the texts of a form, by question.
 */
export type Draft = v.InferOutput<typeof DraftSchema>;

export const EMPTY_DRAFT: Draft = { text: "", selected: [], none: false, values: {}, picks: {}, reasons: {} };

export function readDraft(agentId: string, stepId: string): Draft {
  const result = v.safeParse(DraftSchema, store.read(key(agentId, stepId)));
  return result.success ? result.output : EMPTY_DRAFT;
}

export function writeDraft(agentId: string, stepId: string, draft: Draft): void {
  store.write(key(agentId, stepId), draft);
}

export function clearDraft(agentId: string, stepId: string): void {
  store.remove(key(agentId, stepId));
}

/** Where the text that an action asks for is kept: apart from the step's own draft, which it may outlive. */
export function actionDraft(stepId: string, actionId: string): string {
  return `${stepId}:${actionId}`;
}

function key(agentId: string, stepId: string): string {
  return `draft:${agentId}:${stepId}`;
}
