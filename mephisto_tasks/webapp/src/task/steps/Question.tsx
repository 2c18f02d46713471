import { useRef } from "react";
import { useFocusOnArrival } from "../focus";
import { JumpBar, type Place, QUESTION_ID } from "../JumpBar";
import { Pinned } from "./Pinned";
import styles from "./Steps.module.css";

export interface QuestionProps {
  text: string;
  detail?: string | null;
  /** The step is long: a bar leads back to the finished dialogues that it is about. */
  leadsBack?: boolean;
  /** What it is about is long: the line before it stays in sight as well. */
  long?: boolean;
  /** More replies than stand above one another on a narrow window: there that line stays in sight, too. */
  many?: boolean;
  /** Long parts of the step, to which a bar leads on a narrow window. */
  parts?: readonly Place[];
}

/** The question of a step, always in sight, with a line below it; it is read first when the step appears. */
export function Question({ text, detail = null, leadsBack = false, long = false, many = false, parts = [] }: QuestionProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useFocusOnArrival(heading);
  return (
    <div className={styles.question} data-stick="question">
      {leadsBack && <JumpBar />}
      {parts.length > 0 && <JumpBar parts={parts} />}
      {(long || many) && <Pinned narrowOnly={!long} />}
      <h2 id={QUESTION_ID} ref={heading} tabIndex={-1}>
        {text}
      </h2>
      {detail !== null && <p className="soft">{detail}</p>}
    </div>
  );
}
