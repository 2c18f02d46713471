import type { Progress } from "../wire/state";
import { Button } from "../ui/Button";
import styles from "./Header.module.css";

const UNITS: Readonly<Record<Progress["unit"], string>> = {
  turn: "Turn",
  conversation: "Conversation",
  practice: "Practice",
};

export interface HeaderProps {
  title: string;
  progress: Progress | null;
  onHelp: () => void;
}

/** Slim: what this is, how far one is, and the way back to the instructions. */
export function Header({ title, progress, onHelp }: HeaderProps) {
  return (
    <header className={styles.header}>
      <div className={styles.inner}>
        <div className={styles.words}>
          <h1 className={styles.title}>{title}</h1>
          {progress && <p className={styles.progress}>{progressText(progress)}</p>}
        </div>
        <Button look="quiet" onClick={onHelp}>
          Instructions
        </Button>
      </div>
      {progress?.total ? <Segments current={progress.current} total={progress.total} /> : null}
    </header>
  );
}

export function progressText({ unit, current, total }: Progress): string {
  return total === null ? `${UNITS[unit]} ${current}` : `${UNITS[unit]} ${current} of ${total}`;
}

/** The same in shapes; the words above say it for everybody. */
function Segments({ current, total }: { current: number; total: number }) {
  return (
    <div className={styles.segments} aria-hidden="true">
      {Array.from({ length: total }, (_, index) => (
        <span key={index} className={index < current - 1 ? styles.past : index === current - 1 ? styles.now : undefined} />
      ))}
    </div>
  );
}
