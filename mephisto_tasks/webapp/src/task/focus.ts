import { type RefObject, useEffect } from "react";

/** Gives a step the focus when it appears, unless the instructions are open above it. */
export function useFocusOnArrival(ref: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (document.querySelector("[role='dialog']") === null) {
      ref.current?.focus({ preventScroll: true });
    }
  }, [ref]);
}

/** False on a phone, where the focus of a text field opens a keyboard over half the page. */
export function hasKeyboard(): boolean {
  return window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}
