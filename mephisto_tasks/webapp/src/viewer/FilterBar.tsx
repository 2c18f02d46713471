import { type RefObject, useDeferredValue, useMemo, useState } from "react";
import type { Index } from "./entry";
import styles from "./FilterBar.module.css";
import { counts, type Filters, NOTHING, SORTS, type Sort } from "./filter";

/** Facets in the order in which they are offered, by their names in the index. */
const LABELS: Readonly<Record<string, string>> = {
  model: "Model",
  outcome: "Outcome",
  pair: "Pair",
  answer: "Answer",
  rater: "Rater",
  technique: "Technique",
  check: "Failed check",
  mark: "Mark",
  topic: "Topic",
  opener: "Opener",
  start: "Start",
  persona: "Persona",
  category: "Category",
  domain: "Domain",
  subject: "Subject",
  language: "Language",
  judge: "Judge",
  criterion: "Criterion",
  status: "Status",
  metric: "Metric",
  setting: "Setting",
  kind: "Kind of dialogue",
  k: "Exchanges shown",
};

const LONGEST = 60;
const NONE: readonly string[] = [];

interface Props {
  index: Index;
  filters: Filters;
  shown: readonly number[];
  onFilter: (filters: Filters) => void;
  search: RefObject<HTMLInputElement | null>;
}

export function FilterBar({ index, filters, shown, onFilter, search }: Props) {
  const [open, setOpen] = useState(false);
  const { facets, query, sort, least, most } = filters;
  // The list comes first; hundreds of raters with their numbers follow when the browser has time.
  const counted = useDeferredValue(shown);
  const names = useMemo(() => Object.keys(LABELS).filter((name) => tellsApart(index, name)), [index]);
  const set = (name: string, values: readonly string[]) => {
    const others = Object.entries(facets).filter(([other]) => other !== name);
    const all = values.length > 0 ? [...others, [name, values] as const] : others;
    onFilter({ ...filters, facets: Object.fromEntries(all) });
  };
  const active = Object.entries(facets).flatMap(([name, values]) => values.map((value) => ({ name, value, values })));
  return (
    <div className={styles.bar} role="search">
      <div className={styles.row}>
        <input
          ref={search}
          type="search"
          aria-label="Search all texts"
          placeholder="Search all texts ( / )"
          value={query}
          onChange={(event) => onFilter({ ...filters, query: event.target.value })}
        />
        <button type="button" aria-expanded={open} aria-controls="filters" onClick={() => setOpen(!open)}>
          Filter
        </button>
      </div>
      <label className={styles.sort}>
        <span>Sort</span>
        <select value={sort} onChange={(event) => onFilter({ ...filters, sort: event.target.value as Sort })}>
          {Object.entries(SORTS).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {open && (
        <div id="filters" className={styles.facets}>
          {names.map((name) => (
            <FacetChoice
              key={name}
              index={index}
              name={name}
              chosen={facets[name] ?? NONE}
              shown={counted}
              onAdd={(value) => set(name, [...(facets[name] ?? []), value])}
            />
          ))}
          <fieldset className={styles.turns}>
            <legend>Turns</legend>
            <Bound label="from" value={least} onChange={(value) => onFilter({ ...filters, least: value })} />
            <Bound label="to" value={most} onChange={(value) => onFilter({ ...filters, most: value })} />
          </fieldset>
        </div>
      )}
      {(active.length > 0 || least !== null || most !== null) && (
        <ul className={styles.active} aria-label="Filters in force">
          {active.map(({ name, value, values }) => (
            <li key={`${name} ${value}`}>
              <button type="button" onClick={() => set(name, values.filter((other) => other !== value))}>
                <span className="visually-hidden">Take away: </span>
                {`${LABELS[name] ?? name}: ${short(value)}`}
                <span aria-hidden="true"> ×</span>
              </button>
            </li>
          ))}
          {(least !== null || most !== null) && (
            <li>
              <button type="button" onClick={() => onFilter({ ...filters, least: null, most: null })}>
                <span className="visually-hidden">Take away: </span>
                {`Turns: ${least ?? 0}–${most ?? "any"}`}
                <span aria-hidden="true"> ×</span>
              </button>
            </li>
          )}
          <li>
            <button type="button" className={styles.clear} onClick={() => onFilter({ ...NOTHING, sort })}>
              Clear all
            </button>
          </li>
        </ul>
      )}
    </div>
  );
}

/** An opener may be a whole message, and a persona a list of sentences. */
function short(text: string): string {
  const value = text.startsWith('["') ? sentences(text) : text;
  return value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
}

function sentences(json: string): string {
  try {
    return (JSON.parse(json) as unknown[]).join(" ");
  } catch {
    return json; // a text that only begins like a list
  }
}

/** What describes a dialogue, in any number of ways. */
const DESCRIPTIONS: ReadonlySet<string> = new Set("topic opener start persona category domain subject".split(" "));
const HASH = /^[a-z]?[0-9a-f]{16,}(:[a-z]?[0-9a-f]{16,})?$/;

/**
 * Whether there is an entry that lacks a value: else all of them would stay in the list. Descriptions must be readable, and
 * one of them fit several entries: else the list itself is the choice.
 */
function tellsApart(index: Index, name: string): boolean {
  const { values, of } = index.facets[name] ?? { values: [], of: [] };
  const useful = () => !values.every((value) => HASH.test(value)) && counts(index, name, [...of.keys()]).some((n) => n > 1);
  return of.some((places) => places.length < values.length) && (!DESCRIPTIONS.has(name) || useful());
}

interface FacetProps {
  index: Index;
  name: string;
  chosen: readonly string[];
  shown: readonly number[];
  onAdd: (value: string) => void;
}

/** The values of a facet with how many of the entries in the list have each; of a facet in force, those that may be added. */
function FacetChoice({ index, name, chosen, shown, onAdd }: FacetProps) {
  const values = index.facets[name]?.values ?? NONE;
  const options = useMemo(() => {
    const numbers = chosen.length > 0 ? null : counts(index, name, shown);
    return values.map((value, place) => {
      const number = numbers?.[place];
      return chosen.includes(value) || number === 0 ? null : (
        <option key={value} value={value}>
          {number === undefined ? short(value) : `${short(value)} (${number.toLocaleString("en")})`}
        </option>
      );
    });
  }, [index, name, chosen, shown, values]);
  return (
    <label>
      <span>{LABELS[name]}</span>
      <select value="" onChange={(event) => onAdd(event.target.value)}>
        <option value="">{chosen.length > 0 ? "or …" : "any"}</option>
        {options}
      </select>
    </label>
  );
}

function Bound({ label, value, onChange }: { label: string; value: number | null; onChange: (value: number | null) => void }) {
  return (
    <label>
      <span>{label}</span>
      <input
        type="number"
        min={0}
        value={value ?? ""}
        onChange={(event) => onChange(/^\d+$/.test(event.target.value) ? Number(event.target.value) : null)}
      />
    </label>
  );
}
