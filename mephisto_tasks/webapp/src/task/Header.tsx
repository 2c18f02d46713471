import { t } from "../language";
import type { Progress } from "../wire/state";
import { Button } from "../ui/Button";
import styles from "./Header.module.css";

export interface HeaderProps {
  title: string;
  progress: Progress | null;
  /** The turn, where `progress` counts conversations. */
  within: Progress | null;
  /** Nothing of what is counted comes any more. */
  over: boolean;
  onHelp: () => void;
}

/** One line: what this is, how far one is, and the way back to the instructions. */
export function Header({ title, progress, within, over, onHelp }: HeaderProps) {
  const words = [progress, within].flatMap((one) => (one === null ? [] : [progressText(one)]));
  return (
    <header className={`stripe ${styles.header}`}>
      <div className={`column ${styles.inner}`}>
        <h1 className={`strong ${styles.title}`}>{title}</h1>
        {words.length > 0 && (
          <p className={styles.progress}>
            <span>{words.length === 1 ? words[0] : `${words[0]} ·`}</span> {words[1] && <span>{words[1]}</span>}
          </p>
        )}
        <Button look="quiet" onClick={onHelp}>
          {t("Instructions")}
        </Button>
      </div>
      {progress?.total ? <Segments past={over && progress.current === progress.total ? progress.total : progress.current - 1} total={progress.total} /> : null}
    </header>
  );
}

/** “Turn 3 of 6”; “Turn 3 of at least 10”, and then “Turn 11”, where the rater decides when to end. */
export function progressText({ unit, current, total, minimum }: Progress): string {
  const values = { current, total: total ?? "", minimum: minimum ?? "" };
  const open = total === null;
  switch (unit) {
    case "turn":
      if (open && minimum !== null && current <= minimum) {
        return t("Turn {current} of at least {minimum}", values);
      }
      return open ? t("Turn {current}", values) : t("Turn {current} of {total}", values);
    case "conversation":
      return open ? t("Conversation {current}", values) : t("Conversation {current} of {total}", values);
    case "pair":
      return open ? t("Pair {current}", values) : t("Pair {current} of {total}", values);
    case "practice":
      return open ? t("Practice {current}", values) : t("Practice {current} of {total}", values);
  }
}

/** The same in shapes; the words above say it for everybody. */
function Segments({ past, total }: { past: number; total: number }) {
  return (
    <div className={styles.segments} aria-hidden="true">
      {Array.from({ length: total }, (_, index) => (
        <span key={index} className={index < past ? styles.past : index === past ? styles.now : undefined} />
      ))}
    </div>
  );
}
