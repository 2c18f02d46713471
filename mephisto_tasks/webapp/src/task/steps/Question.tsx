import { useRef } from "react";
import { useFocusOnArrival } from "../focus";
import { JumpBar, QUESTION_ID } from "../JumpBar";
import styles from "./Steps.module.css";

export interface QuestionProps {
  text: string;
  detail: string | null;
  /** The step is long: a bar leads back to the finished dialogues that it is about. */
  leadsBack?: boolean;
}

/** The question of a step, always in sight, with a line below it; it is read first when the step appears. */
export function Question({ text, detail, leadsBack = false }: QuestionProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useFocusOnArrival(heading);
  return (
    <div className={styles.question}>
      {leadsBack && <JumpBar />}
      <h2 id={QUESTION_ID} ref={heading} tabIndex={-1}>
        {text}
      </h2>
      {detail !== null && <p>{detail}</p>}
    </div>
  );
}
