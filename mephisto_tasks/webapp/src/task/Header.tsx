import type { Progress } from "../wire/state";
import { Button } from "../ui/Button";
import styles from "./Header.module.css";

const UNITS: Readonly<Record<Progress["unit"], string>> = {
  turn: "Turn",
  conversation: "Conversation",
  pair: "Pair",
  practice: "Practice",
};

export interface HeaderProps {
  title: string;
  progress: Progress | null;
  /** The turn, where `progress` counts conversations. */
  within: Progress | null;
  onHelp: () => void;
}

/** Slim: what this is, how far one is, and the way back to the instructions. */
export function Header({ title, progress, within, onHelp }: HeaderProps) {
  const words = [progress, within].flatMap((one) => (one === null ? [] : [progressText(one)]));
  return (
    <header className={styles.header} data-two-places={words.length > 1 ? "" : undefined}>
      <div className={styles.inner}>
        <div className={styles.words}>
          <h1 className={words.length > 0 ? `${styles.title} ${styles.besides}` : styles.title}>{title}</h1>
          {words.length > 0 && (
            <p className={styles.progress}>
              {words.length === 1 ? (
                words[0]
              ) : (
                <>
                  <span>{words[0]} ·</span> <span>{words[1]}</span>
                </>
              )}
            </p>
          )}
        </div>
        <Button look="quiet" onClick={onHelp}>
          Instructions
        </Button>
      </div>
      {progress?.total ? <Segments current={progress.current} total={progress.total} /> : null}
    </header>
  );
}

/** “Turn 3 of 6”; “Turn 3 of at least 10”, and then “Turn 11”, where the rater decides when to end. */
export function progressText({ unit, current, total, minimum }: Progress): string {
  const place = `${UNITS[unit]} ${current}`;
  if (total !== null) {
    return `${place} of ${total}`;
  }
  return minimum === null || current > minimum ? place : `${place} of at least ${minimum}`;
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
