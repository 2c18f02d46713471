/** Who says a line of the transcript, and where it stands when there are columns. Pure. */
import { t } from "../language";
import type { Entry } from "../wire/state";

/** A partner in a column has the column's name. */
export function speakerName(entry: Entry, columns: readonly string[]): string {
  const column = entry.column === null ? undefined : columns[entry.column];
  if (column === undefined) {
    return entry.speaker === "you" ? t("You") : t("Partner");
  }
  return entry.speaker === "partner" ? column : t("You, to {partner}", { partner: column });
}

/** The grid row of each entry, from 1: below everything before it in its column, and across all columns where it has none. */
export function columnRows(entries: readonly Entry[], columns: number): number[] {
  const filled = Array.from({ length: columns }, () => 0);
  return entries.map(({ column }) => {
    const row = (column === null ? Math.max(0, ...filled) : (filled[column] ?? 0)) + 1;
    if (column === null) {
      filled.fill(row);
    } else {
      filled[column] = row;
    }
    return row;
  });
}
