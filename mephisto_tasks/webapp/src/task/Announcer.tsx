import { useState } from "react";
import type { Entry } from "../wire/state";

/** Reads each new reply of the partner once; what was there at arrival (or after a reload) is not read again. */
export function Announcer({ entries }: { entries: readonly Entry[] }) {
  const [known] = useState(() => new Set(entries.map((entry) => entry.entry_id)));
  const fresh = entries.filter((entry) => entry.speaker === "partner" && !known.has(entry.entry_id));
  const last = fresh.at(-1);
  return (
    <div role="status" className="visually-hidden" data-testid="announcer">
      {/* The key makes two equal replies two announcements. */}
      {last && <p key={last.entry_id}>{`Partner: ${last.text}${last.note === null ? "" : ` (${last.note})`}`}</p>}
    </div>
  );
}
