/** The rules of a ranking: what places there are, who gives way, and how it is put in words. Pure. */
import { t } from "../../language";
import type { Card, RankStep } from "../../wire/state";

export type Places = Readonly<Record<string, number>>;

export interface Placed {
  places: Record<string, number>;
  /** What happened to another card; null where nothing did. */
  told: string | null;
}

/** “A”, “B” … “Z”, then “27”: the replies' names, which no place can be mistaken for. */
export function letter(index: number): string {
  return index < 26 ? String.fromCharCode(65 + index) : String(index + 1);
}

/** The places of this step's cards; what a draft holds beyond them, or out of range, is left out. */
export function knownPlaces(step: RankStep, values: Places): Record<string, number> {
  const kept = step.cards.flatMap(({ candidate_id: id }) => {
    const place = Object.hasOwn(values, id) ? values[id] : undefined;
    return place !== undefined && Number.isInteger(place) && place >= 1 && place <= step.cards.length
      ? [[id, place] as const]
      : [];
  });
  return Object.fromEntries(kept);
}

export function unplaced(step: RankStep, places: Places): Card[] {
  return step.cards.filter(({ candidate_id: id }) => !Object.hasOwn(places, id));
}

/** Gives a card a place; without ties, the last card that has none then gets the place that is left. */
export function give(step: RankStep, places: Places, id: string, place: number): Placed {
  const given = put(step, places, id, place);
  const [last, ...more] = unplaced(step, given.places);
  if (step.ties || last === undefined || more.length > 0) {
    return given;
  }
  const taken = new Set(Object.values(given.places));
  const left = step.cards.findIndex((_, index) => !taken.has(index + 1)) + 1;
  const reply = nameOf(step, last.candidate_id);
  const told = t("{reply} now has rank {left}, the only rank left. You can still change it.", { reply, left });
  return { places: { ...given.places, [last.candidate_id]: left }, told };
}

/** Without ties, the card that had the place takes the one that is left by the other, or none. */
function put(step: RankStep, places: Places, id: string, place: number): Placed {
  const next = { ...places, [id]: place };
  const other = step.ties
    ? undefined
    : step.cards.find(({ candidate_id: one }) => one !== id && Object.hasOwn(places, one) && places[one] === place);
  if (other === undefined) {
    return { places: next, told: null };
  }
  const reply = nameOf(step, other.candidate_id);
  const left = Object.hasOwn(places, id) ? places[id] : undefined;
  if (left === undefined) {
    const rest = Object.entries(next).filter(([one]) => one !== other.candidate_id);
    return { places: Object.fromEntries(rest), told: t("{reply} had rank {place} and now has none.", { reply, place }) };
  }
  return { places: { ...next, [other.candidate_id]: left }, told: t("{reply} had rank {place} and now has rank {left}.", { reply, place, left }) };
}

export function nameOf(step: RankStep, id: string): string {
  return t("Reply {letter}", { letter: letter(step.cards.findIndex((card) => card.candidate_id === id)) });
}

/** Place → the replies that stand there, best first; empty places are left out. */
export function order(step: RankStep, places: Places): { place: number; names: string[] }[] {
  return step.cards.flatMap((_, index) => {
    const names = step.cards.filter((card) => places[card.candidate_id] === index + 1).map((card) => nameOf(step, card.candidate_id));
    return names.length > 0 ? [{ place: index + 1, names }] : [];
  });
}
