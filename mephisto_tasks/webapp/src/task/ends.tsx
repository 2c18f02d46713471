/** What is judged is read to its end before one answers: its end has `data-end`, with the name of what ends there. */
import { useCallback, useEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { t } from "../language";
import { onceSettled, scrollEdge, useLook } from "./scroll";
import styles from "./steps/Steps.module.css";

/**
 * Which ends were on the screen, once all is `complete`. `hold` leads to one that never was, of all or of the number `only`, and is
 * true then; `led` is that end until all have been seen. Without `only` the end has the focus, and no choice, so that no key changes
 * one; and a press that comes right after, as of a double click, is held, too.
 *
 * It is a courtesy: an end that one was led to counts as seen. So nobody is kept from answering, in a window of any size, by
 * keys or with a screen reader that does not scroll.
 */
export function useEnds(complete: boolean) {
  const seen = useRef(new Set<Element>());
  const [led, setLed] = useState<HTMLElement | null>(null);
  const heldAt = useRef(0);
  const look = useCallback(() => {
    if (complete) {
      ends().filter(isInSight).forEach((end) => seen.current.add(end));
    }
  }, [complete]);
  useLook(look);
  const hold = (only?: number) => {
    if (only === undefined && Date.now() - heldAt.current < SAME_PRESS_MS) {
      return true;
    }
    look();
    const end = ends().find((one, index) => (only ?? index) === index && !seen.current.has(one));
    setLed(end ?? null);
    if (end === undefined) {
      return false;
    }
    seen.current.add(end);
    end.querySelector<HTMLElement>(FOLDED)?.click();
    if (only === undefined) {
      heldAt.current = Date.now();
      end.tabIndex = -1;
      end.focus({ preventScroll: true });
    }
    return true;
  };
  return { led, hold };
}

/** So soon after a press nobody has read anything. */
const SAME_PRESS_MS = 500;

/** The button that unfolds what ends here. */
const FOLDED = "[aria-expanded='false']";

function ends(): HTMLElement[] {
  return Array.from(document.querySelectorAll<HTMLElement>("[data-end]"));
}

/** True where the last line is in the window, and nothing that sticks lies over it. */
function isInSight(end: HTMLElement): boolean {
  const bottom = end.firstElementChild?.getBoundingClientRect().bottom ?? 0;
  const covered = Array.from(document.querySelectorAll("[data-stuck], [data-docked]"), (part) => part.getBoundingClientRect());
  return (
    end.querySelector(FOLDED) === null &&
    bottom >= scrollEdge() &&
    bottom <= window.innerHeight + 1 &&
    !covered.some((part) => part.top + 1 < bottom && bottom < part.bottom)
  );
}

/** Below an end that one was led to it says why. */
export function Unread({ end }: { end: HTMLElement }) {
  const words = useRef<HTMLParagraphElement>(null);
  useEffect(() => onceSettled(() => words.current?.scrollIntoView({ block: "nearest" })), [end]);
  return createPortal(
    // It may stand in a label, whose input a press would change.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- it takes presses only to do nothing
    <p role="alert" ref={words} className={`box warning strong ${styles.held}`} onClick={(event) => event.preventDefault()}>
      {t("{name}: you have not seen the end yet. Please read it first.", { name: end.dataset.end ?? "" })}
    </p>,
    end.closest("section") ?? end,
  );
}
