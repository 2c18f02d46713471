import { createContext, type ReactNode, type RefObject, useCallback, useContext, useRef, useState } from "react";
import { t } from "../../language";
import { Chevron } from "../../ui/icons";
import { useFocusOnArrival } from "../focus";
import { JumpBar, type Place, QUESTION_ID } from "../JumpBar";
import { useSize } from "../scroll";
import { Pinned } from "./Pinned";
import styles from "./Steps.module.css";

/** The rater has answered this question before: one line of it will do. */
export const KnownQuestion = createContext(false);

export interface QuestionProps {
  text: string;
  detail?: string | null;
  /** The step is long: a bar leads back to the finished dialogues that it is about. */
  leadsBack?: boolean;
  /** What it is about is long: the line before it stays in sight as well, also on a wide window. */
  long?: boolean;
  /** Long parts of the step, to which a bar leads on a narrow window. */
  parts?: readonly Place[];
  /** A button that goes with the parts. */
  tool?: ReactNode;
}

/** The question of a step, always in sight, with a line below it; it is read first when the step appears. */
export function Question({ text, detail = null, leadsBack = false, long = false, parts = [], tool }: QuestionProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useFocusOnArrival(heading);
  return (
    <div className={styles.question} data-stick="question">
      {leadsBack && <JumpBar />}
      {parts.length > 0 && <JumpBar parts={parts} />}
      <Pinned narrowOnly={!long} />
      <Asked text={text} headingRef={heading} />
      {tool}
      {detail !== null && <p className="soft">{detail}</p>}
    </div>
  );
}

export interface AskedProps {
  text: string;
  headingRef: RefObject<HTMLHeadingElement | null>;
  className?: string | undefined;
}

/** The words of a question. Known, they are one line, which unfolds where it is not all of them. */
export function Asked({ text, headingRef, className = "" }: AskedProps) {
  const known = useContext(KnownQuestion);
  const [open, setOpen] = useState(false);
  const [cut, setCut] = useState(false);
  const measure = useCallback((element: HTMLElement) => setCut(element.scrollHeight > element.clientHeight + 2), []);
  useSize(headingRef, measure);
  return (
    <div className={`${styles.asked} ${className}`}>
      <h2 id={QUESTION_ID} ref={headingRef} tabIndex={-1} className={known && !open ? styles.folded : undefined}>
        {text}
      </h2>
      {known && (cut || open) && (
        <button
          type="button"
          className={`soft sign ${styles.unfold}`}
          aria-expanded={open}
          aria-label={t("Show the whole question")}
          onClick={() => setOpen(!open)}
        >
          <Chevron up={open} />
        </button>
      )}
    </div>
  );
}
