import type { Ref } from "react";
import { t } from "../../language";
import { MAX_TEXT, type ReasonField } from "../../wire/state";
import { TextField, textProblem } from "./TextField";

/** The words that a reason must have by now: one that may be left out counts once something is written. */
function wordsWanted({ required, min_words: least }: ReasonField, text: string): number {
  if (required) {
    return Math.max(1, least);
  }
  return text.trim() === "" ? 0 : least;
}

/** What is wrong with a reason; null where none is asked, or nothing is. */
export function reasonProblem(asked: ReasonField | null, text: string): string | null {
  return asked === null ? null : textProblem(text, t("Your reason"), wordsWanted(asked, text), MAX_TEXT);
}

export interface ReasonProps {
  asked: ReasonField;
  id?: string;
  text: string;
  /** What is wrong is said. */
  said: boolean;
  fieldRef?: Ref<HTMLTextAreaElement> | undefined;
  onText: (text: string) => void;
}

/** Why one has chosen so. */
export function Reason({ asked, id = "reason", text, said, fieldRef, onText }: ReasonProps) {
  return (
    <TextField
      id={id}
      label={asked.required ? asked.label : t("{label} (optional)", { label: asked.label })}
      value={text}
      onChange={onText}
      minWords={wordsWanted(asked, text)}
      maxChars={MAX_TEXT}
      problem={said ? reasonProblem(asked, text) : null}
      fieldRef={fieldRef}
    />
  );
}
