import { t } from "../../language";
import styles from "./Differences.module.css";

/** Marks the words that tell replies apart, when asked to. */
export function DifferencesButton({ shown, onShow }: { shown: boolean; onShow: (shown: boolean) => void }) {
  return (
    <button type="button" className={styles.button} aria-pressed={shown} onClick={() => onShow(!shown)}>
      {t("Show differences")}
    </button>
  );
}

/** What the marks mean. */
export function DifferencesNote({ shown }: { shown: boolean }) {
  return (
    <p role="status" className={`soft ${styles.note}`}>
      {shown && t("Underlined words are the words in which a reply differs from all other replies.")}
    </p>
  );
}
