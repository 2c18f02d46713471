import { createContext, type MouseEvent, useContext, useEffect, useState } from "react";
import type { Panel } from "../wire/state";
import styles from "./JumpBar.module.css";

/** What a bar leads back to from the step: the names of the dialogues above it; none in a live chat. */
export const Dialogues = createContext<readonly string[]>([]);

/** Marks where the step begins, which is the last of the places that a bar leads to. */
export const STEP_ID = "step";
/** The step's question, which is read there first. */
export const QUESTION_ID = "question";

/**
 * Leads from one dialogue to the other and to the step, where they do not all stand in sight.
 *
 * It must not be taken for the answers: it has links rather than options, and no name that an option has.
 * `sticky`: it keeps itself in sight; else what it stands in does.
 */
export function JumpBar({ sticky = false }: { sticky?: boolean }) {
  const names = useContext(Dialogues);
  const places = [...names.map((name, index) => ({ id: `panel-${index}`, name })), { id: QUESTION_ID, name: "Your answer" }];
  const here = useHere(places.length);
  if (names.length === 0) {
    return null;
  }
  const go = (event: MouseEvent, id: string) => {
    event.preventDefault();
    document.getElementById(id)?.focus({ preventScroll: true });
    beginning(id)?.scrollIntoView({ block: "start" });
  };
  return (
    <nav className={sticky ? `${styles.bar} ${styles.sticky}` : styles.bar} aria-label="Parts of this page" data-jump>
      <span className={styles.label} aria-hidden="true">
        Go to
      </span>
      {places.map(({ id, name }, index) => (
        <a key={id} href={`#${id}`} aria-current={index === here ? "location" : undefined} onClick={(event) => go(event, id)}>
          {name}
        </a>
      ))}
    </nav>
  );
}

/** What the dialogues are called in the bar: not as their headings and speakers, which the answers are about. */
export function dialogueNames(panels: readonly Panel[]): string[] {
  const ordinals = ["1st", "2nd"];
  return panels.map(({ title }, index) => (panels.length === 1 ? title : `${ordinals[index]} conversation`));
}

/** Which place one reads: the last one that begins above the middle of the window, or at the page's end the very last. */
function useHere(count: number): number {
  const [here, setHere] = useState(0);
  useEffect(() => {
    const look = () => {
      const middle = window.innerHeight / 2;
      const ids = Array.from({ length: count }, (_, index) => (index === count - 1 ? QUESTION_ID : `panel-${index}`));
      const begun = ids.map(beginning).filter((place) => place !== null && place.getBoundingClientRect().top < middle);
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

/** Where a place begins; a question that keeps itself in sight does not stand there. */
function beginning(id: string): Element | null {
  return id === QUESTION_ID ? document.getElementById(STEP_ID) : (document.getElementById(id)?.closest("section") ?? null);
}
