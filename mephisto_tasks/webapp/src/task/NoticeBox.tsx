import { Bullets } from "../ui/Bullets";
import type { Notice } from "../wire/state";
import styles from "./NoticeBox.module.css";

/** Why an answer was refused, or how the practice went. Said once, at once. */
export function NoticeBox({ notice }: { notice: Notice }) {
  return (
    <div role="alert" className={`verbatim ${notice.level} ${styles.notice}`}>
      <p className="strong">{notice.text}</p>
      {notice.points.length > 0 && <Bullets lines={notice.points} />}
    </div>
  );
}
