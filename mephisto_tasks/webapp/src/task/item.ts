/** Which finished dialogues are in view: when they are other ones, one begins to read anew. */
import { useState } from "react";
import type { PageState, Panel, PanelLine } from "../wire/state";

/** The first turn of a chat, or the first item: all that one needs to know is open. */
export function atBeginning({ progress, within }: PageState): boolean {
  return ((within ?? progress)?.current ?? 1) <= 1;
}

export interface Item {
  /** Grows with every new item; 0 while there are no panels. */
  number: number;
  /** The version of the state that opened it. */
  openedAt: number;
  /** What was said since it was opened, where a dialogue is replayed turn by turn. */
  said: readonly PanelLine[];
}

interface Seen {
  state: PageState;
  item: Item;
}

/** The item that a state belongs to. */
export function useItem(state: PageState): Item {
  const [seen, setSeen] = useState<Seen>(() => ({ state, item: opened(state, 0) }));
  if (seen.state === state) {
    return seen.item;
  }
  const item = nextItem(seen, state);
  setSeen({ state, item });
  return item;
}

export function nextItem({ state: before, item }: Seen, now: PageState): Item {
  if (!continues(before, now)) {
    return opened(now, item.number);
  }
  const fresh = now.panels.flatMap((panel, index) => panel.lines.slice(before.panels[index]?.lines.length));
  return { ...item, said: [...item.said, ...fresh] };
}

function opened(state: PageState, last: number): Item {
  return { number: state.panels.length > 0 ? last + 1 : 0, openedAt: state.version, said: [] };
}

/** True where the same dialogues are shown, perhaps with more lines: a server need not keep the ids of lines. */
export function continues(before: PageState, now: PageState): boolean {
  return (
    before.panels.length === now.panels.length &&
    place(before) === place(now) &&
    before.panels.every((panel, index) => grows(panel, now.panels[index]))
  );
}

/** Which item the header counts; turns are counted within one. */
function place({ phase, progress }: PageState): string {
  return progress === null || progress.unit === "turn" ? phase : `${phase} ${progress.unit} ${progress.current}`;
}

function grows(before: Panel, now: Panel | undefined): boolean {
  return (
    now?.title === before.title &&
    before.lines.every((line, index) => same(line, now.lines[index]))
  );
}

function same(one: PanelLine, other: PanelLine | undefined): boolean {
  return one.text === other?.text && one.speaker === other.speaker;
}
