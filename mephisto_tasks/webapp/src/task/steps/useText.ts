import { useRef } from "react";
import { useDraft } from "../useDraft";
import type { SentImage } from "../../wire/state";
import { lackOfPictures } from "./Pictures";
import { useShell } from "./StepShell";
import { textProblem } from "./TextField";

export interface TextOptions {
  keptUnder: string;
  /** Where the draft is kept. */
  draftId: string;
  /** Begins the sentence about what is wrong: “Your message”. */
  what: string;
  minWords: number;
  maxChars: number;
  pending: boolean;
  /** A picture is still on its way. */
  busy?: boolean;
  onText: (text: string, images: readonly SentImage[]) => void;
}

/** An answer that is one text: its draft, its field, and the shell that sends it. */
export function useText({ keptUnder, draftId, what, minWords, maxChars, pending, busy = false, onText }: TextOptions) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [{ text, images }, change] = useDraft(keptUnder, draftId);
  const problem = textProblem(text, what, minWords, maxChars);
  const setText = (next: string) => change({ text: next });
  const shell = useShell({
    pending,
    lack: problem === null ? lackOfPictures(images, busy) : { where: "items", lead: () => field.current?.focus() },
    answer: () => onText(text, images),
    enter: false,
  });
  const fieldProps = { value: text, onChange: setText, minWords, maxChars, problem: shell.said && problem, fieldRef: field };
  return { field, text, setText, images, change, shell, fieldProps };
}
