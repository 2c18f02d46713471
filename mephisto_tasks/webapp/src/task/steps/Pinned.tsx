import { createContext, useContext } from "react";
import styles from "./Pinned.module.css";

/** What the replies of a step answer: the last line before them; null where there is none. */
export const AnsweredLine = createContext<string | null>(null);

/**
 * That line in short, where long replies push it out of sight, or on a narrow window more than three short ones. Who listens
 * has heard it in its place.
 */
export function Pinned({ narrowOnly }: { narrowOnly: boolean }) {
  const line = useContext(AnsweredLine);
  return line === null ? null : (
    <div className={narrowOnly ? `${styles.pinned} ${styles.narrow}` : styles.pinned} dir="auto" aria-hidden="true" data-pinned>
      {line}
    </div>
  );
}
