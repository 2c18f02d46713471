import { useEffect, useRef } from "react";
import { t } from "../../language";

/**
 * Keys 0–9 choose while no text field has the focus; with Alt they choose anywhere.
 * Read from `code`, because Alt+1 types another character on many keyboards.
 */
export function useNumberKeys(choose: (number: number) => void): void {
  useKeys((event) => {
    const number = pressedNumber(event);
    if (number === null || event.shiftKey || (isTyping(event.target) && !event.altKey)) {
      return;
    }
    event.preventDefault();
    choose(number);
  });
}

/** Enter sends also while nothing has the focus that has a use for the key itself, as when a step has just appeared. */
export function useEnterKey(send: () => void): void {
  useKeys((event) => {
    const used = event.defaultPrevented || event.repeat || event.shiftKey || event.altKey;
    if (event.key === "Enter" && !used && !hasUse(event.target)) {
      event.preventDefault();
      send();
    }
  });
}

/** Keys pressed anywhere in the page, unless a dialog lies above it. */
function useKeys(press: (event: KeyboardEvent) => void): void {
  const latest = useRef(press);
  useEffect(() => {
    latest.current = press;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!event.ctrlKey && !event.metaKey && document.querySelector("[role='dialog']") === null) {
        latest.current(event);
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

function hasUse(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("a, button, input, textarea, summary"));
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
  return last === 1 ? "1" : last === 2 ? t("1 or 2") : t("1 to {last}", { last });
}
