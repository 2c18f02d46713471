/** What the viewer's files hold: `parlai_humaneval/viewer/entries.py` and `write.py`; a test compares the names. */
import type { Picture } from "../wire/schema.gen";
import type { Markup } from "../wire/state";

export interface Said {
  text: string;
  markup?: Markup;
  images?: Picture[];
}

export interface Reply extends Said {
  model: string;
  position?: number;
  continued?: boolean;
  failed?: boolean;
  masked?: boolean;
  raw?: string;
  changes?: string[];
  blocked?: string;
  thoughts?: string;
  withdrawn?: string[];
  latency?: number;
}

export interface Answer {
  by: string;
  kind: "rater" | "own" | "judge";
  chosen?: string[];
  none?: boolean;
  same?: boolean;
  ticks?: Record<string, string[]>;
  ranks?: Record<string, number>;
  says?: [string, string][];
  written?: string;
  reason?: string;
  seconds?: number;
  order?: number;
}

export interface Turn {
  turn: number;
  human?: Said;
  given?: boolean;
  replies: Reply[];
  answers: Answer[];
}

export interface Line extends Said {
  who: string;
  person: boolean;
}

export interface Talk {
  id: string;
  title: string;
  lines: Line[];
}

export interface Check {
  name: string;
  passed: boolean;
  reason: string;
  by: string;
}

/** All of an entry that is not in the index; what is empty is left out. */
export interface Details {
  questions?: string[];
  about?: [string, string][];
  talks?: Talk[];
  turns?: Turn[];
  answers?: Answer[];
  checks?: Check[];
  feedback?: [string, string][];
}

/** A facet's values, and the places of those that each entry has. */
export interface Facet {
  values: string[];
  of: number[][];
}

/** A list for each column, in the order of entries. */
export interface Index {
  title: string;
  note: string;
  made_with: string;
  part: number;
  ids: string[];
  previews: string[];
  /** The mean ratings of each, in words. */
  rated: string[];
  turns: number[];
  seconds: (number | null)[];
  started: string[];
  disagreement: (number | null)[];
  facets: Record<string, Facet>;
}
