/** What was typed or chosen but not yet taken by the server, per agent and step. */
import * as v from "valibot";
import { store } from "./storage";

const DraftSchema = v.object({ text: v.string(), selected: v.array(v.string()), none: v.boolean() });

/** `text` is the message, the reason or the feedback; `none` is the explicit “none of these”. */
export type Draft = v.InferOutput<typeof DraftSchema>;

export const EMPTY_DRAFT: Draft = { text: "", selected: [], none: false };

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

function key(agentId: string, stepId: string): string {
  return `draft:${agentId}:${stepId}`;
}
