import { useRef } from "react";
import { useListener } from "../ui/useListener";

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
  const enter = useRef<Press | null>(null);
  const clickedIn = useRef<string | null>(null);
  useListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || event.shiftKey) {
        enter.current = null;
        return;
      }
      const again = enter.current !== null && event.timeStamp - enter.current.at < SAME_BREATH ? enter.current : null;
      enter.current = { at: event.timeStamp, step: again?.step ?? step };
      if (enter.current.step !== step) {
        swallow(event);
      }
    },
    true,
  );
  useListener(
    "click",
    (event) => {
      const onButton = event.target instanceof Element && event.target.closest("button") !== null;
      if (event.detail > 1 && onButton && clickedIn.current !== null && clickedIn.current !== step) {
        swallow(event);
      } else {
        enter.current = event.detail > 0 ? null : enter.current; // a key on a button comes as a click without a count
        clickedIn.current = step;
      }
    },
    true,
  );
}

function swallow(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}
