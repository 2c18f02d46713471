import { useState } from "react";
import { t } from "../language";
import type { Entry, PanelLine } from "../wire/state";
import { spoken } from "./Reply";
import { speakerName } from "./speakers";

export interface AnnouncerProps {
  entries: readonly Entry[];
  columns: readonly string[];
  /** What was said in a dialogue that is replayed, since it was opened. */
  said: readonly PanelLine[];
}

/** Reads each new reply of a partner once, when it is complete; what was there at arrival (or after a reload) is not read again. */
export function Announcer({ entries, columns, said }: AnnouncerProps) {
  const [known] = useState(() => new Set(entries.filter((entry) => !entry.growing).map((entry) => entry.entry_id)));
  const fresh = entries.filter((entry) => entry.speaker === "partner" && !entry.growing && !known.has(entry.entry_id));
  // The last of each column: two partners may answer at once.
  const last = new Map(fresh.map((entry) => [entry.column, entry]));
  return (
    <div role="status" aria-atomic="false" className="visually-hidden" data-testid="announcer">
      {/* The key makes two equal replies two announcements. */}
      {[...last.values()].map((entry) => (
        <p key={entry.entry_id}>
          {saidBy(speakerName(entry, columns), spoken(entry), entry.note)}
        </p>
      ))}
      {said.map((line, index) => (
        <p key={index}>{saidBy(line.speaker, spoken(line), null)}</p>
      ))}
    </div>
  );
}

function saidBy(speaker: string, text: string, note: string | null): string {
  return note === null ? t("{speaker}: {sentence}", { speaker, sentence: text }) : t("{speaker}: {sentence} ({note})", { speaker, sentence: text, note });
}
