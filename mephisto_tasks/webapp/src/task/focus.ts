import { createContext, type RefObject, useContext, useEffect, useRef } from "react";

/** True while the instructions lie over the task. */
export const Covered = createContext(false);

/** The number of the item that is to be read before its step is answered; 0 where there is nothing new to read. */
export const ReadFirst = createContext(0);

/**
 * Gives a step the focus when it appears; when the instructions lie above it, as soon as they are closed. Where finished
 * dialogues are to be read first, they have it.
 */
export function useFocusOnArrival(ref: RefObject<HTMLElement | null>): void {
  const wanted = useContext(ReadFirst) === 0;
  useFocusOnce(ref, 0, wanted);
}

/** Gives the beginning of an item the focus when there is a new one. */
export function useFocusOnItem(ref: RefObject<HTMLElement | null>, item: number): void {
  useFocusOnce(ref, item, true);
}

function useFocusOnce(ref: RefObject<HTMLElement | null>, arrival: number, wanted: boolean): void {
  const covered = useContext(Covered);
  const arrived = useRef<number | null>(null);
  useEffect(() => {
    if (!covered && arrived.current !== arrival) {
      arrived.current = arrival;
      if (wanted && mayFocus()) {
        ref.current?.focus({ preventScroll: true });
      }
    }
  }, [ref, covered, arrival, wanted]);
}

/** False in a frame of another page until somebody is in it: what is typed on that page must not go astray. */
export function mayFocus(): boolean {
  return window.parent === window || document.hasFocus();
}

/** False on a phone, where the focus of a text field opens a keyboard over half the page. */
export function hasKeyboard(): boolean {
  return window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}
