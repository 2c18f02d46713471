import { useEffect, useState } from "react";
import { t } from "../../language";
import styles from "./Steps.module.css";

export const STILL_SENDING_MS = 4_000;

/** Says that an answer is kept and sent again when its confirmation takes long. */
export function Sending({ pending }: { pending: boolean }) {
  return <div role="status">{pending && <Still />}</div>;
}

function Still() {
  const [due, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), STILL_SENDING_MS);
    return () => clearTimeout(timer);
  }, []);
  return due ? <p className={styles.hint}>{t("Still sending. Your answer is kept, and sent again by itself.")}</p> : null;
}
