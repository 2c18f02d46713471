/** What keys do in a step: numbers choose, Enter goes on, and everything else that is typed is somebody's text. */
import type { KeyboardEvent as ReactKeyboardEvent, RefObject } from "react";
import { t } from "../../language";
import { useListener } from "../../ui/useListener";
import { leadTo } from "../Dock";

/** The text that a step asks for beside a choice: a key that prints goes there, wherever the focus is. */
export interface Writing {
  /** Null inside while there is no such field on the page. */
  field: RefObject<HTMLTextAreaElement | null>;
  /** Something was written: from then on a number is text, too, except with Alt. */
  begun: boolean;
}

/**
 * Keys 0–9 choose while nobody writes: no text field has the focus, and the text of `writing` is empty. With Alt they choose
 * anywhere, unless they type a character, as Option+2 types “@” on some keyboards. A key that is held down chooses once.
 */
export function useNumberKeys(choose: ((number: number) => void) | null, writing: Writing | null = null): void {
  useKeys(choose && ((event) => {
    const field = writing?.field.current ?? null;
    const typing = isTyping(event.target);
    const number = pressedNumber(event, typing || field !== null);
    if (number !== null && (event.altKey || !(typing || (field !== null && writing?.begun === true)))) {
      event.preventDefault();
      if (!event.repeat) {
        choose(number);
      }
    } else if (field !== null && !typing && prints(event)) {
      // The browser types into what has the focus once this is over.
      leadTo(field);
    }
  }));
}

/** Enter sends also while nothing has the focus that has a use for the key itself, as when a step has just appeared. */
export function useEnterKey(send: (() => void) | null): void {
  useKeys(send && ((event) => {
    if (!event.defaultPrevented && !event.altKey && !hasUse(event.target)) {
      onEnter(event, send);
    }
  }));
}

/** Calls `send` for an Enter that means to go on: not one with Shift, one held down, or one that ends a composed character. */
export function onEnter(event: KeyboardEvent | ReactKeyboardEvent, send: () => void): void {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- Safari tells by it alone of a composition that this very key has ended
  const { isComposing, keyCode } = "nativeEvent" in event ? event.nativeEvent : event;
  if (event.key === "Enter" && !event.shiftKey && !isComposing && keyCode !== 229) {
    event.preventDefault();
    if (!event.repeat) {
      send();
    }
  }
}

/** Keys pressed anywhere in the page, unless a dialog lies above it. */
function useKeys(press: ((event: KeyboardEvent) => void) | null): void {
  useListener("keydown", (event) => {
    if (press && !event.ctrlKey && !event.metaKey && !event.isComposing && document.querySelector("[role='dialog']") === null) {
      press(event);
    }
  });
}

function hasUse(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("a, button, input, textarea, summary"));
}

/**
 * The number of a key: by what it types, or where nothing can be written, by its place in the row, which types “&” or “é” on
 * some keyboards.
 */
function pressedNumber({ key, code, shiftKey }: KeyboardEvent, canWrite: boolean): number | null {
  const match = /^[0-9]$/.exec(key) ?? (canWrite || shiftKey || key === "Dead" ? null : /^Digit([0-9])$/.exec(code));
  return match ? Number(match.at(-1)) : null;
}

/** Whether a key types something. The space bar has other uses, and no text begins with it. */
function prints({ key, altKey }: KeyboardEvent): boolean {
  return !altKey && key !== " " && (Array.from(key).length === 1 || key === "Dead");
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.tagName === "TEXTAREA" || target.matches("input[type='text']"))
  );
}

/** Whether Alt with a number chooses while one types: on a Mac it types a character. */
export function altChooses(): boolean {
  return !navigator.userAgent.includes("Mac");
}

/** “1”, “1 or 2”, “1 to 5”: the keys of so many things; a tenth thing has none. */
export function keyRange(count: number): string {
  const last = Math.min(9, count);
  return last === 1 ? "1" : last === 2 ? t("1 or 2") : t("1 to {last}", { last });
}
