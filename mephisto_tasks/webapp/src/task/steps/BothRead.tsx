import { useContext, useEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { t } from "../../language";
import { endId, goToEnd, useUnseen } from "../ends";
import { Dialogues } from "../JumpBar";
import styles from "./Steps.module.css";

/**
 * Before one of two dialogues that stand below one another is preferred, both are read: `hold` leads to an end that was never in
 * sight, and is true then; `words` say so below it.
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
  const said = useRef<HTMLParagraphElement>(null);
  // A long last line leaves them below the dock.
  useEffect(() => {
    said.current?.scrollIntoView({ block: "nearest" });
  }, [held]);
  const name = held === null ? undefined : dialogues[held];
  const panel = held === null ? null : document.getElementById(endId(held))?.closest("section");
  const words =
    name !== undefined && panel
      ? createPortal(
          <p role="alert" ref={said} className={`info ${styles.held}`}>
            {t("Please read both conversations to the end. This is the end of the {name}.", { name })}
          </p>,
          panel,
        )
      : null;
  return { hold, words };
}
