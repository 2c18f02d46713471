import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import styles from "./Viewer.module.css";
import { EntryList } from "./EntryList";
import { EntryView } from "./EntryView";
import { FilterBar } from "./FilterBar";
import { chosen, type Filters } from "./filter";
import { Help } from "./Help";
import { address, read, type Route, written } from "./route";
import { wanted } from "./search";
import type { Store } from "./store";

const NOTHING_READ: readonly string[] = [];

/** The list of dialogues with its filters, and the dialogue that is open. The address says which, and what is filtered by. */
export function Viewer({ store }: { store: Store }) {
  const { index, read: parts, parts: all, failed } = useSyncExternalStore(store.subscribe, store.get);
  const [route, setRoute] = useState<Route>(() => read(window.location.hash));
  const [help, setHelp] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const { id, turn, talk, filters } = route;

  useEffect(() => {
    const follow = () => setRoute(read(window.location.hash));
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);

  const go = (next: Route, keep = false) => {
    setRoute(next);
    if (keep) {
      window.location.hash = written(next);
    } else {
      window.location.replace(written(next));
    }
  };
  const filter = (next: Filters) => go({ ...route, filters: next });

  // Texts are searched as they come in; what does not look at texts is not filtered anew for each part.
  const searched = filters.query === "" ? 0 : parts;
  const shown = useMemo(
    () => (index ? chosen(index, searched ? store.texts : NOTHING_READ, filters) : []),
    [index, filters, searched, store],
  );
  const words = useMemo(() => wanted(filters.query), [filters.query]);
  const at = index && id !== null ? index.ids.indexOf(id) : -1;

  useEffect(() => {
    if (index) {
      document.title = `${index.title}: dialogues`;
      // What is looked at comes first.
      const first = at < 0 ? 0 : Math.floor(at / index.part);
      void store.read(first).then(() => store.readAll());
    }
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once: all the rest is read in its order
  }, [index, store]);

  useEffect(() => {
    if (index && at >= 0) {
      void store.read(Math.floor(at / index.part));
    }
  }, [index, at, store]);

  useEffect(() => {
    const step = (by: number) => {
      const here = shown.indexOf(at);
      const next = shown[here < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, here + by))];
      const name = next === undefined ? undefined : index?.ids[next];
      if (name !== undefined) {
        go({ id: name, turn: null, talk: null, filters });
      }
    };
    const press = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || help) {
        return;
      }
      if (target instanceof HTMLElement && target.closest("input, select, textarea")) {
        const isSent = event.key === "Enter" && target === search.current && !event.isComposing;
        if (isSent || event.key === "Escape") {
          event.preventDefault(); // Browsers clear a search field with Escape.
          target.blur();
        }
        return;
      }
      const actions: Record<string, () => void> = {
        j: () => step(1),
        k: () => step(-1),
        "/": () => search.current?.focus(),
        "?": () => setHelp(true),
        Escape: () => id !== null && go({ id: null, turn: null, talk: null, filters }),
      };
      const action = actions[event.key];
      if (action) {
        event.preventDefault();
        action();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });

  if (!index) {
    return <p className={styles.loading}>Reading the dialogues…</p>;
  }
  const details = id === null ? undefined : store.detailsOf(id);
  return (
    <>
      <header>
        <div className={styles.header}>
          <h1>{index.title}</h1>
          <button type="button" className={styles.help} aria-label="Help and keys" onClick={() => setHelp(true)}>
            ?
          </button>
        </div>
        {index.note !== "" && (
          <p className={`warning ${styles.note}`} role="note">
            {index.note}
          </p>
        )}
      </header>
      <main className={styles.main} data-open={id === null ? undefined : true}>
        <section className={styles.side} aria-label="Dialogues">
          <FilterBar index={index} filters={filters} shown={shown} onFilter={filter} search={search} />
          <p className={`soft ${styles.count}`} role="status">
            {count(shown.length, index.ids.length)}
            {words.length > 0 && parts < all && `, ${Math.floor((100 * parts) / all)} % of the texts searched`}
            {failed > 0 && ". Some texts could not be read: is the folder complete?"}
          </p>
          {shown.length === 0 && <p className={`soft ${styles.none}`}>{nothingFits(filters, searched < all)}</p>}
          <EntryList
            index={index}
            shown={shown}
            current={at}
            onOpen={(name) => go({ id: name, turn: null, talk: null, filters }, true)}
          />
        </section>
        <section className={styles.open} aria-label="The open dialogue">
          {id === null ? (
            shown.length > 0 && <p className={`soft ${styles.nothing}`}>Choose a dialogue, or press j.</p>
          ) : (
            <EntryView
              key={id}
              index={index}
              at={at}
              id={id}
              details={details}
              missing={store.isRead(Math.floor(at / index.part))}
              turn={turn}
              talk={talk}
              words={words}
              onBack={() => go({ id: null, turn: null, talk: null, filters })}
              link={(number, place) => address(id, number, place)}
            />
          )}
        </section>
      </main>
      {help && <Help onClose={() => setHelp(false)} madeWith={index.made_with} />}
    </>
  );
}

function nothingFits({ facets, query, least, most }: Filters, isReading: boolean): string {
  const isFiltered = Object.keys(facets).length > 0 || least !== null || most !== null;
  if (query.trim() === "") {
    return "No dialogue fits these filters. Take one away.";
  }
  const where = isFiltered ? "No dialogue that fits these filters" : "No dialogue";
  return `${where} contains ${query.trim()}${isReading ? " so far" : ""}.`;
}

function count(shown: number, all: number): string {
  const many = all.toLocaleString("en");
  return shown === all ? `${many} ${all === 1 ? "entry" : "entries"}` : `${shown.toLocaleString("en")} of ${many} entries`;
}
