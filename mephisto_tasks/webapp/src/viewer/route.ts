/**
 * The page's address after `#`: an entry, a turn of it, which of several dialogues side by side, and what is filtered by,
 * `#dialogue/3/2?model=alpha`. Ids are those of the tables, so that a link to a turn holds for every viewer of the study.
 */
import { type Filters, NOTHING, SORTS, type Sort } from "./filter";

export interface Route {
  id: string | null;
  turn: number | null;
  /** Of dialogues side by side, which one the turn is of; null: all of them. */
  talk: number | null;
  filters: Filters;
}

export function read(hash: string): Route {
  const [, place = "", query = ""] = /^#?([^?]*)\??(.*)$/s.exec(hash) ?? [];
  const [id = "", turn = "", talk = ""] = place.split("/");
  const facets: Record<string, string[]> = {};
  const filters = { ...NOTHING, facets };
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === "q") {
      filters.query = value;
    } else if (name === "sort") {
      filters.sort = value in SORTS ? (value as Sort) : "study";
    } else if (name === "turns") {
      const [least, most] = value.split("-").map((part) => (/^\d+$/.test(part) ? Number(part) : null));
      Object.assign(filters, { least: least ?? null, most: most ?? null });
    } else if (value !== "") {
      (facets[name] ??= []).push(value);
    }
  }
  return { id: decoded(id) || null, turn: numberOf(turn), talk: numberOf(talk), filters };
}

function numberOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}

export function written({ id, turn, talk, filters }: Route): string {
  const { query, sort, least, most } = filters;
  const search = new URLSearchParams();
  for (const [name, values] of Object.entries(filters.facets)) {
    values.forEach((value) => search.append(name, value));
  }
  if (query !== "") {
    search.set("q", query);
  }
  if (sort !== "study") {
    search.set("sort", sort);
  }
  if (least !== null || most !== null) {
    search.set("turns", `${least ?? ""}-${most ?? ""}`);
  }
  const behind = search.toString();
  return `#${linkTo(id, turn, talk)}${behind && `?${behind}`}`;
}

function linkTo(id: string | null, turn: number | null, talk: number | null): string {
  const place = id === null ? "" : encodeURIComponent(id).replaceAll("%3A", ":");
  return [place, turn, turn === null ? null : talk].filter((part) => part !== null).join("/");
}

/** The address of an entry, or of a turn of it, without what is filtered by. */
export function address(id: string, turn: number | null = null, talk: number | null = null): string {
  return `${window.location.href.split("#")[0] ?? ""}#${linkTo(id, turn, talk)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an id of somebody who typed a link
  }
}
