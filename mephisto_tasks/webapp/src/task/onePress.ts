import { useEffect, useLayoutEffect, useRef } from "react";

/** How close together two presses are one impatient one, in milliseconds. */
const SAME_BREATH = 800;

interface Press {
  at: number;
  step: string;
}

/**
 * The second press of an impatient rater does not count for the step that arrived in between: it was meant for the one
 * before, and could send a question that nobody has read.
 *
 * Only presses that can send (Enter, a button) with nothing else done between them are taken for one.
 */
export function useOnePress(step: string): void {
  const current = useRef(step);
  useLayoutEffect(() => {
    current.current = step;
  }, [step]);
  useEffect(() => {
    let last: Press | null = null;
    const press = (event: Event, sends: boolean) => {
      const again = sends && last !== null && event.timeStamp - last.at < SAME_BREATH;
      if (again && last?.step !== current.current) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
      last = sends ? { at: event.timeStamp, step: again && last ? last.step : current.current } : null;
    };
    const onKey = (event: KeyboardEvent) => press(event, event.key === "Enter" && !event.shiftKey);
    const onClick = (event: MouseEvent) => {
      // A button that was pressed by a key says so again as a click, without a count.
      if (event.detail > 0) {
        press(event, event.target instanceof Element && event.target.closest("button") !== null);
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
