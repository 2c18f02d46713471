import { createContext, useContext } from "react";
import type { Said } from "../../wire/state";
import { spoken } from "../Reply";
import styles from "./Pinned.module.css";

/** What the replies of a step answer: the last line before them; null where there is none. */
export const AnsweredLine = createContext<string | null>(null);

/**
 * The beginning of a chosen reply above the field in which one says why, where that is not docked beneath the reply itself: one
 * line of it where several are chosen.
 * Who listens has heard it.
 */
export function Quote({ name, said, brief }: { name: string; said: Said; brief: boolean }) {
  return (
    <div className={`soft ${styles.pinned} ${styles.quote}`} dir="auto" aria-hidden="true" data-quote={brief ? "brief" : ""}>
      <bdi>{name}:</bdi> {spoken(said)}
    </div>
  );
}

/**
 * That line in short, where replies push it out of sight: long ones, or any below one another on a narrow window. Who listens has
 * heard it in its place.
 */
export function Pinned({ narrowOnly }: { narrowOnly: boolean }) {
  const line = useContext(AnsweredLine);
  return line === null ? null : (
    <div className={`soft ${styles.pinned} ${narrowOnly ? styles.narrow : ""}`} dir="auto" aria-hidden="true" data-pinned>
      {line}
    </div>
  );
}
