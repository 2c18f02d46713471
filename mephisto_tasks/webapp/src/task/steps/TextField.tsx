import type { KeyboardEvent, Ref } from "react";
import { amount, countCharacters, countWords } from "../../ui/words";
import styles from "./Steps.module.css";

export interface TextFieldProps {
  id: string;
  label: string;
  value: string;
  onChange: (text: string) => void;
  minWords: number;
  maxChars: number;
  /** What is wrong, once the rater has tried to go on; null when nothing is. */
  problem: string | null;
  readOnly: boolean;
  rows?: number;
  fieldRef?: Ref<HTMLTextAreaElement>;
  /** Enter calls this, Shift+Enter starts a new line; without it both do. */
  onEnter?: () => void;
}

/** A labelled text area that says how many words it still wants and, near its limit, how many characters it has. */
export function TextField({
  id,
  label,
  value,
  onChange,
  minWords,
  maxChars,
  problem,
  readOnly,
  rows = 2,
  fieldRef,
  onEnter,
}: TextFieldProps) {
  const problemId = `${id}-problem`;
  const hintId = `${id}-hint`;
  const onKeyDown = (event: KeyboardEvent) => {
    // The Enter that ends a composed character (Chinese, Japanese…) belongs to the input method.
    if (onEnter && event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      onEnter();
    }
  };
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        ref={fieldRef}
        rows={rows}
        value={value}
        readOnly={readOnly}
        aria-invalid={problem !== null}
        aria-describedby={problem === null ? hintId : `${problemId} ${hintId}`}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {problem !== null && (
        <p role="alert" id={problemId} className={styles.problem}>
          {problem}
        </p>
      )}
      <p id={hintId} className={styles.hint}>
        {/* A problem says by itself what is wanted. */}
        {problem === null && <Hint text={value} minWords={minWords} maxChars={maxChars} />}
      </p>
    </div>
  );
}

/** What keeps a text from being sent; null when it may go. `what` begins the sentence: “Your message”. */
export function textProblem(text: string, what: string, minWords: number, maxChars: number): string | null {
  const words = countWords(text);
  if (words < minWords) {
    return words === 0
      ? `${what} is still empty.${minWords > 1 ? ` It needs at least ${amount(minWords, "word")}.` : ""}`
      : `${what} needs at least ${amount(minWords, "word")}; it has ${words} so far.`;
  }
  const over = countCharacters(text) - maxChars;
  return over > 0 ? `${what} is ${amount(over, "character")} too long.` : null;
}

/** One line that never empties while there is a least number of words, so that nothing below it moves. */
function Hint({ text, minWords, maxChars }: { text: string; minWords: number; maxChars: number }) {
  const words = wordHint(text, minWords);
  const over = countCharacters(text) - maxChars;
  if (over > 0) {
    return (
      <>
        {words && `${words} · `}
        <span className={styles.over}>
          {`Too long by ${amount(over, "character")} (${(maxChars + over).toLocaleString("en")} of ${maxChars.toLocaleString("en")})`}
        </span>
      </>
    );
  }
  const all = [words, characterHint(text, maxChars)].filter(Boolean).join(" · ");
  return all || (minWords > 1 ? "Enough words" : null);
}

function wordHint(text: string, minWords: number): string {
  const words = countWords(text);
  return minWords > 1 && words < minWords ? `At least ${amount(minWords, "word")}, ${words} so far` : "";
}

function characterHint(text: string, maxChars: number): string {
  const characters = countCharacters(text);
  return characters > 0.8 * maxChars
    ? `${characters.toLocaleString("en")} of ${amount(maxChars, "character")}`
    : "";
}
