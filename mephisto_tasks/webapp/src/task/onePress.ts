import { useEffect, useLayoutEffect, useRef } from "react";

/** How close together two presses of Enter are one impatient one, in milliseconds. */
const SAME_BREATH = 800;

interface Press {
  at: number;
  step: string;
}

/**
 * The second press of an impatient rater does not count for the step that arrived in between: it was meant for the one
 * before, and could send a question that nobody has read.
 *
 * Of keys that is Enter twice in one breath with nothing else pressed between; of buttons, the second half of a double
 * click, which the browser tells from two clicks.
 */
export function useOnePress(step: string): void {
  const current = useRef(step);
  useLayoutEffect(() => {
    current.current = step;
  }, [step]);
  useEffect(() => {
    let enter: Press | null = null;
    let clickedIn: string | null = null;
    const swallow = (event: Event) => {
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.shiftKey) {
        enter = null;
        return;
      }
      const again = enter !== null && event.timeStamp - enter.at < SAME_BREATH ? enter : null;
      enter = { at: event.timeStamp, step: again?.step ?? current.current };
      if (enter.step !== current.current) {
        swallow(event);
      }
    };
    const onClick = (event: MouseEvent) => {
      const onButton = event.target instanceof Element && event.target.closest("button") !== null;
      if (event.detail > 1 && onButton && clickedIn !== null && clickedIn !== current.current) {
        swallow(event);
      } else {
        enter = event.detail > 0 ? null : enter; // a key on a button comes as a click without a count
        clickedIn = current.current;
      }
    };
    window.addEventListener("keydown", onKey, true);
    window.addEventListener("click", onClick, true);
    return () => {
      window.removeEventListener("keydown", onKey, true);
      window.removeEventListener("click", onClick, true);
    };
  }, []);
}
