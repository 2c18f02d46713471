import { type RefObject, useState } from "react";
import { useDraft } from "../useDraft";
import { textProblem } from "./TextField";

export interface TextAnswerOptions {
  keptUnder: string;
  /** Where the draft is kept. */
  draftId: string;
  field: RefObject<HTMLTextAreaElement | null>;
  /** Begins the sentence about what is wrong: “Your message”. */
  what: string;
  minWords: number;
  maxChars: number;
  pending: boolean;
  onText: (text: string) => void;
}

/** An answer that is one text: its draft, what it lacks, and `send`, which sends it or leads to where it can be mended. */
export function useTextAnswer({ keptUnder, draftId, field, what, minWords, maxChars, pending, onText }: TextAnswerOptions) {
  const [draft, change] = useDraft(keptUnder, draftId);
  const [tried, setTried] = useState(false);
  const problem = textProblem(draft.text, what, minWords, maxChars);
  const setText = (text: string) => change({ text });
  const send = () => {
    if (pending) {
      return;
    }
    if (problem !== null) {
      setTried(true);
      field.current?.focus();
      return;
    }
    onText(draft.text);
  };
  const fieldProps = {
    value: draft.text,
    onChange: setText,
    minWords,
    maxChars,
    problem: tried ? problem : null,
    readOnly: pending,
  };
  return { text: draft.text, setText, unready: problem !== null, send, fieldProps };
}
