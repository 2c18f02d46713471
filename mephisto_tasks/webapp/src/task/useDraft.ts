import { useRef, useState } from "react";
import { type Draft, readDraft, writeDraft } from "../wire/drafts";

type Change = Partial<Draft> | ((now: Draft) => Partial<Draft>);

/** The draft of one step, as it was before a reload, and written with every change. */
export function useDraft(keptUnder: string, stepId: string): [Draft, (change: Change) => void] {
  const [draft, setDraft] = useState(() => readDraft(keptUnder, stepId));
  // What takes a while, such as an upload, changes the draft as it is by then.
  const latest = useRef(draft);
  const change = (part: Change) => {
    const next = { ...latest.current, ...(typeof part === "function" ? part(latest.current) : part) };
    latest.current = next;
    setDraft(next);
    writeDraft(keptUnder, stepId, next);
  };
  return [draft, change];
}
