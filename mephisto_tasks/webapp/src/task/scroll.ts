/** Where the page scrolls to when the current step changes. */
import { type RefObject, useEffect, useLayoutEffect } from "react";
import { useListener } from "../ui/useListener";
import type { PageState } from "../wire/state";
import type { Item } from "./item";

/** Marks where the step begins, which is the last of the places that a bar leads to. */
export const STEP_ID = "step";

/** True where a whole chat by others is to be judged, which nobody has read yet: some items of the practice. */
export function readFromTop({ phase, step, transcript }: PageState): boolean {
  const judgesChat = step.kind === "rate" || (step.kind === "tick" && step.reply === null);
  return phase === "practice" && judgesChat && transcript.length > 0;
}

/** True where what is said of the last answer stands above what is to be read, which is new. A refusal stays at its question. */
export function noticeFirst(state: PageState, item: Item): boolean {
  const fresh = state.panels.length > 0 ? item.openedAt === state.version : readFromTop(state);
  return fresh && state.notice !== null && state.notice.level !== "error";
}

/** Looks at what is in sight, now and whenever one scrolls or the window changes. */
export function useLook(look: () => void): void {
  useEffect(look, [look]);
  useListener("scroll", look);
  useListener("resize", look);
}

/** Measures an element now and whenever its size changes, or that of what stands in it. */
export function useSize(ref: RefObject<HTMLElement | null>, measure: (element: HTMLElement) => void): void {
  useLayoutEffect(() => {
    const element = ref.current;
    if (element !== null) {
      const observer = new ResizeObserver(() => measure(element));
      [element, ...element.children].forEach((watched) => observer.observe(watched));
      return () => observer.disconnect();
    }
  }, [ref, measure]);
}

export function showTop(): void {
  window.scrollTo({ top: 0, behavior: calmMotion() ? "auto" : "smooth" });
}

/** Where what was there before ends: what begins above this share of a page that was just opened is in sight as it is. */
const NEAR = 0.4;

/**
 * Shows the whole of what lies between the two marks if it fits, else its beginning, with `before` of the window's height above
 * it in either case. A dock at its end is a part of it.
 */
export function bringIntoView(top: Element | null, bottom: Element | null, before = 0): void {
  if (top === null || bottom === null) {
    return;
  }
  const start = top.getBoundingClientRect().top + window.scrollY;
  const end = bottom.getBoundingClientRect().bottom + window.scrollY;
  const header = scrollEdge();
  const room = heightInSight() - header;
  const margin = 16;
  const fits = end - start <= (1 - before) * room - margin;
  if (!fits && window.scrollY === 0 && top.id === STEP_ID && start < NEAR * heightInSight()) {
    return;
  }
  const target = fits ? end - heightInSight() + margin : start - header - before * room;
  if (target > window.scrollY || start - header < window.scrollY) {
    window.scrollTo({ top: Math.max(0, target), behavior: calmMotion() ? "auto" : "smooth" });
  }
}

/**
 * Moves the page as little as shows all of an element above the dock, and all of its siblings if there is room: what is compared.
 * Where nothing is docked it stays. It also stays where half of the element is in sight, or of what there is room for, if the element
 * is higher than that or `grown` is false: the dock is as it was.
 */
export function uncover(element: HTMLElement | null, grown = true): void {
  const dock = document.querySelector("[data-docked]");
  if (dock === null || element === null) {
    return;
  }
  const { top, bottom, height } = element.getBoundingClientRect();
  const above = scrollEdge() + (parseFloat(getComputedStyle(element).scrollMarginTop) || 0);
  const room = dock.getBoundingClientRect().top - above;
  const seen = Math.min(bottom, above + room) - Math.max(top, above);
  const parent = element.parentElement;
  const all = parent?.getBoundingClientRect();
  const below = grown && all && all.height <= room && all.bottom > above + room ? parent?.lastElementChild : null;
  if (below || seen < Math.min(height, room) / 2 || (grown && height <= room)) {
    (below ?? element).scrollIntoView({ block: "nearest", behavior: calmMotion() ? "auto" : "smooth" });
  }
}

/** Does something once the heights of what sticks are known, which is at the end of the next frame. Returns what keeps it from it. */
export function onceSettled(act: () => void): () => void {
  let frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(act);
  });
  return () => cancelAnimationFrame(frame);
}

/** Marks words that say what is missing, in sight where one is led to when no dock says it. */
export const LACK = "data-lack";

/** Where one was led to: not beneath a dock that has grown by saying why, and where nothing is docked below the words that do. */
export function showLed(): void {
  const led = document.activeElement;
  if (!(led instanceof HTMLElement) || led.closest("[data-stick='dock']") !== null) {
    return;
  }
  uncover(led.closest<HTMLElement>("label") ?? led);
  if (document.querySelector("[data-docked]") === null) {
    document.querySelector(`[${LACK}]`)?.scrollIntoView({ block: "nearest" });
  }
}

/** Scrolls down (1) or up (-1) by what is in sight between the header and what `covered` pixels hide below. */
export function scrollPage(way: -1 | 1, covered: number): void {
  const inSight = heightInSight() - scrollEdge() - covered;
  window.scrollBy({ top: way * 0.85 * inSight, behavior: calmMotion() ? "auto" : "smooth" });
}

/** How high the part of the window is that no keyboard on the screen covers; a page that was zoomed into counts as a whole. */
export function heightInSight(): number {
  const inSight = window.visualViewport;
  return inSight && Math.abs(inSight.scale - 1) < 0.01 ? inSight.height : window.innerHeight;
}

/** How far from the window's upper edge something begins that was brought into sight. */
export function scrollEdge(): number {
  return parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
}

function calmMotion(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
