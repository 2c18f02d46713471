import { useState } from "react";
import { type Draft, readDraft, writeDraft } from "../wire/drafts";

/** The draft of one step, as it was before a reload, and written with every change. */
export function useDraft(keptUnder: string, stepId: string): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => readDraft(keptUnder, stepId));
  const change = (part: Partial<Draft>) => {
    const next = { ...draft, ...part };
    setDraft(next);
    writeDraft(keptUnder, stepId, next);
  };
  return [draft, change];
}
