/** Two finished dialogues below one another: whether both were read to their ends before one of them is preferred. */
import { useCallback, useRef, useState } from "react";
import { useLook } from "./scroll";

/** What may stick below dialogues while one reads them. */
const BELOW = ["dock", "jump", "question"];

/** Where a dialogue ends. */
export function endId(index: number): string {
  return `panel-${index}-end`;
}

/**
 * Which of `count` dialogues has an end that was never in sight; -1: none, and where one sees both at once, side by side.
 *
 * It is a courtesy: whoever goes on all the same is led to that end, which then was seen. So nobody is kept from answering, by
 * keys or with a screen reader that does not scroll.
 */
export function useUnseen(count: number): number {
  const seen = useRef<ReadonlySet<number>>(new Set());
  const [unseen, setUnseen] = useState(-1);
  const look = useCallback(() => {
    const { style } = document.documentElement;
    const below = BELOW.map((part) => parseFloat(style.getPropertyValue(`--${part}-height`)) || 0);
    const edge = window.innerHeight - below.reduce((sum, height) => sum + height) + 1;
    const ends = Array.from({ length: count }, (_, index) => document.getElementById(endId(index))?.getBoundingClientRect());
    ends.forEach((end, index) => {
      if (end === undefined || (end.bottom <= edge && end.bottom >= 0)) {
        seen.current = new Set(seen.current).add(index);
      }
    });
    const stacked = count > 1 && ends[0]?.left === ends[1]?.left;
    setUnseen(stacked ? ends.findIndex((_, index) => !seen.current.has(index)) : -1);
  }, [count]);
  useLook(look);
  return unseen;
}

/** Brings a dialogue's end into sight, for eyes and for who listens. */
export function goToEnd(index: number): void {
  const end = document.getElementById(endId(index));
  end?.focus({ preventScroll: true });
  end?.scrollIntoView({ block: "center" });
}
