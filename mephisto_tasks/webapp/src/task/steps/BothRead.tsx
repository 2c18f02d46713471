import { useContext, useState } from "react";
import { t } from "../../language";
import { goToEnd, useUnseen } from "../ends";
import { Dialogues } from "../JumpBar";
import styles from "./Steps.module.css";

/**
 * Before one of two dialogues that stand below one another is preferred, both are read: `hold` leads to an end that was never in
 * sight, and is true then; `words` say so in the step.
 */
export function useBothRead() {
  const dialogues = useContext(Dialogues);
  const unseen = useUnseen(dialogues.length);
  const [held, setHeld] = useState<number | null>(null);
  const hold = () => {
    if (unseen < 0) {
      return false;
    }
    setHeld(unseen);
    goToEnd(unseen);
    return true;
  };
  const name = held === null ? undefined : dialogues[held];
  const words = name !== undefined && (
    <p role="status" className={styles.held}>
      {t("Please read both conversations to their ends. This is the end of the {name}.", { name })}
    </p>
  );
  return { hold, words };
}
