import { type CSSProperties, useState } from "react";
import { t } from "../language";
import type { Entry } from "../wire/state";
import { Reply } from "./Reply";
import { Fold } from "./steps/Fold";
import { columnRows, speakerName } from "./speakers";
import { Tabs } from "./Tabs";
import styles from "./Transcript.module.css";

/**
 * What was said so far. The log itself is silent (`aria-live="off"`): the announcer reads new replies of the partner
 * once, and nobody wants to hear their own message again.
 *
 * With columns, two transcripts stand side by side, or below one another where the window is narrow. It is one list in
 * the order of the turns all the same, which is how a screen reader goes through it. High replies are folded there, so that
 * one sees the beginnings of both.
 */
export function Transcript({ entries, columns }: { entries: readonly Entry[]; columns: readonly string[] }) {
  const split = columns.length > 0;
  const last = new Map(entries.map((entry) => [entry.column, entry]));
  const rows = columnRows(entries, columns.length);
  const log = (
    <div role="log" aria-live="off" aria-label={t("Conversation so far")} className={split ? styles.split : undefined}>
      {split && (
        // Each reply below says its column's name itself.
        <div className={styles.heads} data-stick="heads" style={gridColumns(columns.length)} aria-hidden="true">
          {columns.map((name, index) => (
            <span key={index}>{name}</span>
          ))}
        </div>
      )}
      <ol className={styles.list} style={split ? gridColumns(columns.length) : undefined}>
        {entries.map((entry, index) => (
          <Bubble
            key={entry.entry_id}
            entry={entry}
            judged={last.get(entry.column) === entry}
            name={speakerName(entry, columns)}
            named={split || entries[index - 1]?.speaker !== entry.speaker}
            place={split ? { gridRow: rows[index], gridColumn: entry.column === null ? "1 / -1" : entry.column + 1 } : undefined}
          />
        ))}
      </ol>
    </div>
  );
  const compared = split && entries.some(({ column }) => column !== null);
  return (
    <>
      {compared && <Tabs names={columns} />}
      {log}
    </>
  );
}

interface BubbleProps {
  entry: Entry;
  /** It is what a partner said last. */
  judged: boolean;
  name: string;
  /** The name is shown; else it is only read. */
  named: boolean;
  place: CSSProperties | undefined;
}

function Bubble({ entry, judged, name, named, place }: BubbleProps) {
  const [open, setOpen] = useState(false);
  const column = entry.column === null ? {} : { "data-column": entry.column };
  const tab = entry.column !== null && entry.speaker === "partner" ? { "data-tab": entry.column, tabIndex: -1 } : {};
  return (
    <li className={`${styles.entry} ${styles[entry.speaker]}`} style={place} data-speaker={entry.speaker} {...column} {...tab}>
      <span className={named ? `soft ${styles.name}` : "visually-hidden"}>{name}</span>
      {/* Its corners go by the page's direction, and not by that of what stands in it. */}
      <div className={`bubble ${styles.bubble}`}>
        {entry.column === null ? (
          <Reply said={entry} as="p" />
        ) : (
          <Fold name={name} open={open} onOpen={setOpen} judged={judged} paired>
            <Reply said={entry} as="p" />
          </Fold>
        )}
      </div>
      {entry.note !== null && <p className={`soft verbatim ${styles.note}`}>{entry.note}</p>}
    </li>
  );
}

function gridColumns(count: number): CSSProperties {
  return { "--count": count } as CSSProperties;
}
