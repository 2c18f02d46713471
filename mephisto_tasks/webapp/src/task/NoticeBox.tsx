import type { Notice } from "../wire/state";
import styles from "./NoticeBox.module.css";

const LEADS: Readonly<Record<Notice["level"], string>> = { info: "Note: ", success: "", error: "Please check: " };

/** Why an answer was refused, or how the practice went. Said once, at once. */
export function NoticeBox({ notice }: { notice: Notice }) {
  return (
    <p role="alert" className={`${styles.notice} ${styles[notice.level]}`}>
      <strong>{LEADS[notice.level]}</strong>
      {notice.text}
    </p>
  );
}
