import type { Notice } from "../wire/state";
import styles from "./NoticeBox.module.css";

/** Why an answer was refused, or how the practice went. Said once, at once. */
export function NoticeBox({ notice }: { notice: Notice }) {
  return (
    <div role="alert" className={`${styles.notice} ${styles[notice.level]}`}>
      <p>{notice.text}</p>
      {notice.points.length > 0 && (
        <ul>
          {notice.points.map((point) => (
            <li key={point}>{point}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
