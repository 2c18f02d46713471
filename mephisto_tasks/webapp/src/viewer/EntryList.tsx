import { useEffect, useRef, useState } from "react";
import styles from "./EntryList.module.css";
import type { Index } from "./entry";
import { valuesOf } from "./filter";

/** Of each entry, in pixels; its texts stay within. */
export const ROW = 76;
const AROUND = 6;

interface Props {
  index: Index;
  shown: readonly number[];
  /** The open entry; -1: none. */
  current: number;
  onOpen: (id: string) => void;
}

/** Entries that fit, of which only those in sight are in the page. */
export function EntryList({ index, shown, current, onOpen }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });

  useEffect(() => {
    const element = box.current;
    if (!element) {
      return;
    }
    const look = () => setSeen({ top: element.scrollTop, height: element.clientHeight || 800 });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  const place = shown.indexOf(current);
  useEffect(() => {
    const element = box.current;
    if (element && place >= 0) {
      const top = place * ROW;
      if (top < element.scrollTop) {
        element.scrollTop = top;
      } else if (top + ROW > element.scrollTop + element.clientHeight) {
        element.scrollTop = top + ROW - element.clientHeight;
      }
    }
  }, [place, seen.height]);

  const first = Math.max(0, Math.floor(seen.top / ROW) - AROUND);
  const last = Math.min(shown.length, Math.ceil((seen.top + seen.height) / ROW) + AROUND);
  return (
    <div ref={box} className={styles.list}>
      <ol style={{ height: shown.length * ROW }}>
        {shown.slice(first, last).map((at, number) => (
          <li
            key={index.ids[at]}
            style={{ top: (first + number) * ROW, height: ROW }}
            aria-setsize={shown.length}
            aria-posinset={first + number + 1}
          >
            <button
              type="button"
              className={styles.entry}
              aria-current={at === current || undefined}
              onClick={() => onOpen(index.ids[at] ?? "")}
            >
              <Row index={index} at={at} />
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Who is ahead; of a tie, between which models, and whether all who answered found both bad. */
function outcome(index: Index, at: number): string {
  const answers = valuesOf(index, "answer", at);
  const allBad = answers.length > 0 && answers.every((answer) => answer.endsWith(" both bad"));
  const models = valuesOf(index, "model", at).join(" and ");
  return valuesOf(index, "outcome", at)
    .slice(0, 2)
    .map((one) => (one === "tie" ? `${models}: ${allBad ? "both bad" : "tie"}` : one))
    .join(", ");
}

function Row({ index, at }: { index: Index; at: number }) {
  const id = index.ids[at] ?? "";
  const apart = index.disagreement[at] ?? null;
  const turns = index.turns[at] ?? 0;
  const preview = index.previews[at] ?? "";
  const failed = valuesOf(index, "check", at).length;
  const techniques = valuesOf(index, "technique", at).join(", ");
  return (
    <>
      <span className={styles.preview} dir="auto">
        {preview === "" ? id : preview}
      </span>
      <span className={`soft ${styles.models}`}>
        {[outcome(index, at) || valuesOf(index, "model", at).join(", "), index.rated[at]].filter(Boolean).join(" · ")}
      </span>
      <span className={`soft ${styles.facts}`}>
        {techniques !== "" && <span>{techniques}</span>}
        {turns > 0 && <span>{turns === 1 ? "1 turn" : `${turns} turns`}</span>}
        {apart !== null && apart > 0 && <span>{`${Math.round(100 * apart)} % disagree`}</span>}
        {failed > 0 && <span className={styles.failed}>{failed === 1 ? "1 check failed" : `${failed} checks failed`}</span>}
      </span>
    </>
  );
}
