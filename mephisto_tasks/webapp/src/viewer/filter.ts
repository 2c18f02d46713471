/** Which entries are shown, and in which order. Plain loops: they run over ten thousand entries at each key. */
import type { Index } from "./entry";
import { wanted } from "./search";

export const SORTS = {
  study: "As in the study",
  disagreement: "Most disagreement",
  longest: "Most turns",
  shortest: "Fewest turns",
  slowest: "Most time",
  newest: "Newest",
} as const;
export type Sort = keyof typeof SORTS;

/** Facet → values; an entry has one of them in each facet. `least` and `most`: of turns. */
export interface Filters {
  facets: Readonly<Record<string, readonly string[]>>;
  query: string;
  sort: Sort;
  least: number | null;
  most: number | null;
}

export const NOTHING: Filters = { facets: {}, query: "", sort: "study", least: null, most: null };

/** Places of the entries that fit, in order. */
export function chosen(index: Index, texts: readonly (string | undefined)[], filters: Filters): number[] {
  const tests = Object.entries(filters.facets).map(([name, values]) => {
    const facet = index.facets[name];
    return { of: facet?.of, places: new Set(values.map((value) => facet?.values.indexOf(value) ?? -1)) };
  });
  const words = wanted(filters.query);
  const { least, most } = filters;
  const found: number[] = [];
  for (let at = 0; at < index.ids.length; at++) {
    const turns = index.turns[at] ?? 0;
    if (
      (least === null || turns >= least) &&
      (most === null || turns <= most) &&
      tests.every(({ of, places }) => of?.[at]?.some((place) => places.has(place)) ?? false) &&
      (words.length === 0 || words.every((word) => texts[at]?.includes(word) ?? false))
    ) {
      found.push(at);
    }
  }
  return sorted(index, found, filters.sort);
}

function sorted(index: Index, found: number[], sort: Sort): number[] {
  const { disagreement, turns, seconds, started } = index;
  const by = (value: (at: number) => number) => {
    const keys = new Map(found.map((at) => [at, value(at)]));
    return found.sort((a, b) => (keys.get(b) ?? 0) - (keys.get(a) ?? 0) || a - b);
  };
  switch (sort) {
    case "study":
      return found;
    case "disagreement":
      return by((at) => disagreement[at] ?? -1);
    case "longest":
      return by((at) => turns[at] ?? 0);
    case "shortest":
      return by((at) => -(turns[at] ?? 0));
    case "slowest":
      return by((at) => seconds[at] ?? -1);
    case "newest":
      return by((at) => Date.parse(started[at] ?? "") || 0);
  }
}

/** How many of these entries have each value of a facet. */
export function counts(index: Index, facet: string, among: readonly number[]): number[] {
  const { values, of } = index.facets[facet] ?? { values: [], of: [] };
  const numbers = new Array<number>(values.length).fill(0);
  for (const at of among) {
    for (const place of of[at] ?? []) {
      numbers[place] = (numbers[place] ?? 0) + 1;
    }
  }
  return numbers;
}

export function valuesOf(index: Index, facet: string, at: number): string[] {
  const { values, of } = index.facets[facet] ?? { values: [], of: [] };
  return (of[at] ?? []).map((place) => values[place] ?? "");
}
