import type { Ref } from "react";
import { t, tn } from "../../language";
import { countCharacters, countWords, digits } from "../../ui/words";
import { onEnter } from "./keys";
import { Problem, useStep } from "./StepShell";
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
  /** Several lines are meant: Enter starts a new one. */
  lines?: boolean;
  /** Which keys do what; shown where there is a keyboard. */
  keys?: string;
  fieldRef?: Ref<HTMLTextAreaElement> | undefined;
}

/** A labelled text area that says how many words it still wants and, near its limit, how many characters it has. */
export function TextField({ id, label, value, onChange, minWords, maxChars, problem, lines = false, keys, fieldRef }: TextFieldProps) {
  const { pending, send } = useStep();
  const problemId = `${id}-problem`;
  const hintId = `${id}-hint`;
  return (
    <div className={styles.field}>
      {/* The text stands last: whatever is said of it, the button beside it or below it stays where it is. */}
      <div className={`cluster ${styles.top}`}>
        <label htmlFor={id} className="strong">{label}</label>
        {keys !== undefined && <span className={`soft ${styles.keys}`}>{keys}</span>}
        <p id={hintId} className={`soft ${styles.hint}`}>
          {/* A problem says by itself what is wanted. */}
          {problem === null && <Hint text={value} minWords={minWords} maxChars={maxChars} />}
        </p>
      </div>
      {problem !== null && <Problem id={problemId}>{problem}</Problem>}
      <textarea
        id={id}
        ref={fieldRef}
        rows={lines ? 4 : 2}
        // What is written runs as its own language does; an empty field runs as the page.
        dir={value === "" ? undefined : "auto"}
        value={value}
        readOnly={pending}
        aria-invalid={problem !== null}
        aria-describedby={problem === null ? hintId : `${problemId} ${hintId}`}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={lines ? undefined : (event) => onEnter(event, send)}
      />
    </div>
  );
}

/** What keeps a text from being sent; null when it may go. `what` begins the sentence: “Your message”, in the rater's language. */
export function textProblem(text: string, what: string, minWords: number, maxChars: number): string | null {
  const words = countWords(text);
  if (words < minWords) {
    if (words > 0) {
      return tn("{what} needs at least {n} word; it has {words} so far.", "{what} needs at least {n} words; it has {words} so far.", minWords, { what, words });
    }
    return minWords > 1
      ? tn("{what} is still empty. Please write at least {n} word.", "{what} is still empty. Please write at least {n} words.", minWords, { what })
      : t("{what} is still empty.", { what });
  }
  const over = countCharacters(text) - maxChars;
  return over > 0 ? tn("{what} is {over} character too long.", "{what} is {over} characters too long.", over, { what, over: digits(over) }) : null;
}

/** One line that never empties while there is a least number of words, so that nothing below it moves. */
function Hint({ text, minWords, maxChars }: { text: string; minWords: number; maxChars: number }) {
  const count = countWords(text);
  const words = minWords > 1 && count < minWords ? tn("At least {n} word, {words} so far", "At least {n} words, {words} so far", minWords, { words: count }) : "";
  const characters = countCharacters(text);
  const over = characters - maxChars;
  const of = { now: digits(characters), most: digits(maxChars) };
  if (over > 0) {
    return (
      <>
        {words && `${words} · `}
        <span className="wrong">
          {tn("Too long by {over} character ({now} of {most})", "Too long by {over} characters ({now} of {most})", over, { over: digits(over), ...of })}
        </span>
      </>
    );
  }
  const near = characters > 0.8 * maxChars ? tn("{now} of {most} character", "{now} of {most} characters", maxChars, of) : "";
  const all = [words, near].filter(Boolean).join(" · ");
  return all || (minWords > 1 ? t("Enough words") : null);
}
