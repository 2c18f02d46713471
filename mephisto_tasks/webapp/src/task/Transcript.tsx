import type { Entry } from "../wire/state";
import styles from "./Transcript.module.css";

const NAMES: Readonly<Record<Entry["speaker"], string>> = { you: "You", partner: "Partner" };

/**
 * What was said so far. The log itself is silent (`aria-live="off"`): the announcer reads new replies of the partner
 * once, and nobody wants to hear their own message again.
 */
export function Transcript({ entries }: { entries: readonly Entry[] }) {
  return (
    <div role="log" aria-live="off" aria-label="Conversation so far" className={styles.log}>
      <ol className={styles.list}>
        {entries.map((entry, index) => (
          <Bubble key={entry.entry_id} entry={entry} named={entries[index - 1]?.speaker !== entry.speaker} />
        ))}
      </ol>
    </div>
  );
}

function Bubble({ entry, named }: { entry: Entry; named: boolean }) {
  const name = NAMES[entry.speaker];
  return (
    <li className={`${styles.entry} ${styles[entry.speaker]}`} data-speaker={entry.speaker}>
      <span className={named ? styles.name : "visually-hidden"}>{name}</span>
      <p className={styles.bubble}>{entry.text}</p>
      {entry.note !== null && <p className={styles.note}>{entry.note}</p>}
    </li>
  );
}
