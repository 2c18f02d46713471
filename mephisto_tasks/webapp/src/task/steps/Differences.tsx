import { type ReactNode, useMemo, useState } from "react";
import { t } from "../../language";
import type { Said } from "../../wire/state";
import { areAlike, differences } from "../differences";
import { areLong } from "./choice";
import styles from "./Differences.module.css";

interface Differences {
  /** Marks the words that tell replies apart, when pressed; null where that tells nothing. */
  button: ReactNode;
  /** What the marks mean. */
  note: ReactNode;
  /** Which words of each reply are marked; null: none. */
  marks: boolean[][] | null;
}

/** What shows where long replies differ; null: there are none, or they are not complete. */
export function useDifferences(replies: readonly Said[] | null): Differences {
  const [shown, setShown] = useState(false);
  const comparable = useMemo(() => replies !== null && areLong(replies) && areAlike(replies), [replies]);
  const marks = useMemo(() => (shown && replies !== null ? differences(replies) : null), [shown, replies]);
  return {
    marks,
    button: comparable && (
      <button type="button" className={styles.button} aria-pressed={shown} onClick={() => setShown(!shown)}>
        {t("Show differences")}
      </button>
    ),
    note: comparable && (
      <p role="status" className={`soft ${styles.note}`}>
        {shown && t("Underlined words are those in which a reply differs from all others.")}
      </p>
    ),
  };
}
