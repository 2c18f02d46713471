import { useRef } from "react";
import { useFocusOnArrival } from "../focus";
import styles from "./Steps.module.css";

/** The question of a step, always in sight, with a line below it; it is read first when the step appears. */
export function Question({ text, detail }: { text: string; detail: string | null }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useFocusOnArrival(heading);
  return (
    <div className={styles.question}>
      <h2 id="question" ref={heading} tabIndex={-1}>
        {text}
      </h2>
      {detail !== null && <p>{detail}</p>}
    </div>
  );
}
