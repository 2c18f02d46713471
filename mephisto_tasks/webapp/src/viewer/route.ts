/**
 * The page's address after `#`: an entry, a turn of it, and what is filtered by, `#dialogue/3?model=alpha`. Ids are those
 * of the tables, so that a link to a turn holds for every viewer of the study.
 */
import { type Filters, NOTHING, SORTS, type Sort } from "./filter";

export interface Route {
  id: string | null;
  turn: number | null;
  filters: Filters;
}

export function read(hash: string): Route {
  const [, place = "", query = ""] = /^#?([^?]*)\??(.*)$/s.exec(hash) ?? [];
  const [id = "", turn = ""] = place.split("/");
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
  return { id: decoded(id) || null, turn: /^\d+$/.test(turn) ? Number(turn) : null, filters };
}

export function written({ id, turn, filters }: Route): string {
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
  return `#${linkTo(id, turn)}${behind && `?${behind}`}`;
}

function linkTo(id: string | null, turn: number | null): string {
  const place = id === null ? "" : encodeURIComponent(id).replaceAll("%3A", ":");
  return turn === null ? place : `${place}/${turn}`;
}

/** The address of an entry, or of a turn of it, without what is filtered by. */
export function address(id: string, turn: number | null = null): string {
  return `${window.location.href.split("#")[0] ?? ""}#${linkTo(id, turn)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an id of somebody who typed a link
  }
}
