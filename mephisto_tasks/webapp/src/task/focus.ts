import { createContext, type RefObject, useContext, useEffect, useRef } from "react";

/** True while the instructions lie over the task. */
export const Covered = createContext(false);

/** Gives a step the focus when it appears; when the instructions lie above it, as soon as they are closed. */
export function useFocusOnArrival(ref: RefObject<HTMLElement | null>): void {
  const covered = useContext(Covered);
  const arrived = useRef(false);
  useEffect(() => {
    if (!covered && !arrived.current) {
      arrived.current = true;
      ref.current?.focus({ preventScroll: true });
    }
  }, [ref, covered]);
}

/** False on a phone, where the focus of a text field opens a keyboard over half the page. */
export function hasKeyboard(): boolean {
  return window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}
