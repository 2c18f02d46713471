import { useEffect, useRef } from "react";

/**
 * Keys 0–9 choose while no text field has the focus; with Alt they choose anywhere.
 * Read from `code`, because Alt+1 types another character on many keyboards.
 */
export function useNumberKeys(choose: (number: number) => void): void {
  const latest = useRef(choose);
  useEffect(() => {
    latest.current = choose;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const number = pressedNumber(event);
      if (number === null || event.ctrlKey || event.metaKey || event.shiftKey) {
        return;
      }
      if (document.querySelector("[role='dialog']") !== null || (isTyping(event.target) && !event.altKey)) {
        return;
      }
      event.preventDefault();
      latest.current(number);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

function pressedNumber(event: KeyboardEvent): number | null {
  const match = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  return match ? Number(match[1]) : null;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.tagName === "TEXTAREA" || target.matches("input[type='text']"))
  );
}

/** “1”, “1 or 2”, “1 to 5”: the keys of so many things; a tenth thing has none. */
export function keyRange(count: number): string {
  const last = Math.min(9, count);
  return last === 1 ? "1" : last === 2 ? "1 or 2" : `1 to ${last}`;
}
