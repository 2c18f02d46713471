import { useEffect, useState } from "react";
import styles from "./JumpBar.module.css";

export interface JumpBarProps {
  titles: readonly string[];
  /** The name of the place after the panels. */
  last: string;
  /** What is asked there, said here as long as it is not in view. */
  question: string | null;
}

/** The last of the places that a bar leads to. */
export const QUESTION_ID = "question";

/** Leads from one dialogue to the other and to the question, where they do not all stand in sight. */
export function JumpBar({ titles, last, question }: JumpBarProps) {
  const places = [...titles.map((title, index) => ({ id: `panel-${index}`, name: title })), { id: QUESTION_ID, name: last }];
  const here = useHere(places.length);
  const go = (id: string) => {
    const target = document.getElementById(id);
    target?.focus({ preventScroll: true });
    (target?.closest("section, form") ?? target)?.scrollIntoView({ block: "start" });
  };
  return (
    <nav className={styles.bar} aria-label="Parts of this page" data-jump>
      {question !== null && here !== places.length - 1 && (
        // It is read where it is asked.
        <p className={styles.question} aria-hidden="true">
          {question}
        </p>
      )}
      <div className={styles.places}>
        {places.map(({ id, name }, index) => (
          <button key={id} type="button" aria-current={index === here ? "location" : undefined} onClick={() => go(id)}>
            {name}
          </button>
        ))}
      </div>
    </nav>
  );
}

/** Which place one reads: the last one that begins above the middle of the window, or at the page's end the very last. */
function useHere(count: number): number {
  const [here, setHere] = useState(0);
  useEffect(() => {
    const look = () => {
      const middle = window.innerHeight / 2;
      const begun = Array.from({ length: count }, (_, index) => placeAt(index, count)).filter(
        (place) => place !== null && place.getBoundingClientRect().top < middle,
      );
      const atEnd = window.scrollY > 0 && window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - 2;
      setHere(atEnd ? count - 1 : Math.max(0, begun.length - 1));
    };
    look();
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  }, [count]);
  return here;
}

function placeAt(index: number, count: number): Element | null {
  const id = index === count - 1 ? QUESTION_ID : `panel-${index}`;
  return document.getElementById(id)?.closest("section, form") ?? null;
}
