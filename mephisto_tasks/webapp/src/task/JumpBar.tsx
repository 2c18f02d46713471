import { createContext, type MouseEvent, useCallback, useContext, useEffect, useRef, useState } from "react";
import { t } from "../language";
import type { Panel } from "../wire/state";
import { STEP_ID, useLook } from "./scroll";
import styles from "./JumpBar.module.css";

/** What a bar leads back to from the step: the names of the dialogues above it; none in a live chat. */
export const Dialogues = createContext<readonly string[]>([]);

/** The step's question, which is read there first. */
export const QUESTION_ID = "question";

/** A bar has room for the names of so many places. */
const FEW = 2;

/** What a bar leads to: the id of its element, and its name. */
export interface Place {
  id: string;
  name: string;
  /** What is seen of the name, where there are many. */
  short?: string;
}

export interface JumpBarProps {
  /** It keeps itself in sight; else what it stands in does. */
  sticky?: boolean;
  /** Where the step's answer is, if not at its question: parts of it, one after the other. */
  parts?: readonly Place[];
}

/**
 * Leads from one dialogue to the other and to the step, where they do not all stand in sight.
 *
 * It must not be taken for the answers: it has links rather than options, and no name that an option has.
 */
export function JumpBar({ sticky = false, parts }: JumpBarProps) {
  const names = useContext(Dialogues);
  const dialogues: Place[] = names.map((name, index) => ({ id: `panel-${index}`, name }));
  const places = [...dialogues, ...(parts ?? [{ id: QUESTION_ID, name: t("Your answer") }])];
  const here = useHere(places);
  const bar = useRef<HTMLElement>(null);
  useEffect(() => keepInSight(bar.current, here), [here]);
  if (places.length < 2) {
    return null;
  }
  const go = (event: MouseEvent, id: string) => {
    event.preventDefault();
    const place = document.getElementById(id);
    (place?.querySelector("input") ?? place)?.focus({ preventScroll: true });
    beginning(id)?.scrollIntoView({ block: "start" });
  };
  return (
    <nav
      ref={bar}
      className={[styles.bar, sticky ? styles.sticky : "", parts ? styles.parts : ""].join(" ")}
      aria-label={t("Parts of this page")}
      data-jump={parts ? "parts" : "dialogues"}
      data-stick={sticky ? "jump" : undefined}
    >
      {!parts && (
        <span className={`soft ${styles.label}`} aria-hidden="true">
          {t("Go to")}
        </span>
      )}
      {places.map(({ id, name, short = name }, index) => {
        const shown = places.length > FEW ? short : name;
        return (
          <a
            key={id}
            href={`#${id}`}
            aria-label={shown === name ? undefined : name}
            aria-current={index === here ? "location" : undefined}
            onClick={(event) => go(event, id)}
          >
            {shown}
          </a>
        );
      })}
    </nav>
  );
}

/** Replies as places; where there are many a bar has room for the last word of their names only. */
export function replyPlaces(names: readonly string[], idOf: (index: number) => string): Place[] {
  return names.map((name, index) => ({ id: idOf(index), name, short: name.split(" ").at(-1) ?? name }));
}

/** What the dialogues are called in the bar: not as their headings and speakers, which the answers are about. */
export function dialogueNames(panels: readonly Panel[]): string[] {
  const names = [t("1st conversation"), t("2nd conversation")];
  return panels.map(({ title }, index) => (panels.length === 1 ? title : (names[index] ?? title)));
}

/** Which place one reads: the last one that begins above the middle of the window, or at the page's end the very last. */
function useHere(places: readonly Place[]): number {
  const [here, setHere] = useState(0);
  const count = places.length;
  const ids = places.map(({ id }) => id).join(" ");
  const look = useCallback(() => {
    const middle = window.innerHeight / 2;
    const begun = ids.split(" ").filter((id) => (beginning(id)?.getBoundingClientRect().top ?? middle) < middle);
    const atEnd = window.scrollY > 0 && window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - 2;
    setHere(atEnd ? count - 1 : Math.max(0, begun.length - 1));
  }, [ids, count]);
  useLook(look);
  return here;
}

/** Scrolls a bar that has no room for all its links, and nothing but the bar. */
function keepInSight(bar: HTMLElement | null, here: number) {
  const link = bar?.querySelectorAll("a")[here]?.getBoundingClientRect();
  if (bar !== null && link !== undefined && bar.scrollWidth > bar.clientWidth) {
    const { left, width } = bar.getBoundingClientRect();
    bar.scrollLeft += link.left + link.width / 2 - left - width / 2;
  }
}

/** Where a place begins; a question that keeps itself in sight does not stand there. */
function beginning(id: string): Element | null {
  const place = document.getElementById(id === QUESTION_ID ? STEP_ID : id);
  return id.startsWith("panel-") ? (place?.closest("section") ?? null) : place;
}
