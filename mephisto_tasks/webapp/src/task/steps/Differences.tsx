import { t } from "../../language";
import styles from "./Differences.module.css";

export interface DifferencesProps {
  shown: boolean;
  marks: readonly (readonly boolean[])[] | null;
  onShow: (shown: boolean) => void;
}

/** Marks the words that tell replies apart, when asked to. */
export function Differences({ shown, marks, onShow }: DifferencesProps) {
  const alike = marks?.some((words) => words.includes(false)) ?? false;
  return (
    <div className={`cluster ${styles.tools}`}>
      <p role="status" className="soft">
        {marks !== null &&
          (alike ? t("Underlined: words that no other reply has there.") : t("The replies have hardly a word in common."))}
      </p>
      <button type="button" className={styles.button} aria-pressed={shown} onClick={() => onShow(!shown)}>
        {t("Show differences")}
      </button>
    </div>
  );
}
