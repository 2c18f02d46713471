/** What sticks to the window's edges while one reads: one budget for all of it, so that there is always room to read. */
import { useLayoutEffect, useRef } from "react";
import { useListener } from "../ui/useListener";
import { heightInSight } from "./scroll";

/** All that sticks, but the header, covers at most this share of the window… */
const MOST = 0.45;
/** …and in a lower window than this, as above a keyboard or at 200 % zoom, nothing but the header sticks. */
const LOW_PX = 500;

/** Who gets room first: where one answers, a lost connection, the names of what is compared, what is asked, and then what helps to find one's way. */
const PARTS = ["dock", "banner", "tabs", "question", "jump", "topic", "heads", "context"] as const;

/**
 * Lets the parts of the page stick (`data-stick` names them) as far as there is room, in the order of {@link PARTS}. One that does
 * has `data-stuck` (the dock: `data-docked`), and style sheets know its height as `--dock-height` and so on; 0 for the others.
 *
 * It stands before the steps in the page, so that they find the heights as they are.
 */
export function Sticking() {
  const observer = useRef<ResizeObserver | null>(null);
  useListener("resize", settle);
  useLayoutEffect(() => {
    const { visualViewport } = window;
    observer.current = new ResizeObserver(settle);
    visualViewport?.addEventListener("resize", settle);
    visualViewport?.addEventListener("scroll", settle);
    return () => {
      observer.current?.disconnect();
      visualViewport?.removeEventListener("resize", settle);
      visualViewport?.removeEventListener("scroll", settle);
      PARTS.forEach((part) => document.documentElement.style.removeProperty(`--${part}-height`));
    };
  }, []);
  useLayoutEffect(() => {
    settle();
    document.querySelectorAll("[data-stick]").forEach((part) => observer.current?.observe(part));
  });
  return null;
}

function settle(): void {
  // While a dock is measured as a docked one, the page may be lower than the window has scrolled: Firefox scrolls up at once, and
  // the end of the page cannot be reached.
  document.body.style.minHeight = `${document.documentElement.scrollHeight}px`;
  const inSight = heightInSight();
  const most = inSight < LOW_PX ? 0 : Math.floor(MOST * inSight);
  let room = most;
  for (const part of PARTS) {
    const elements = Array.from(document.querySelectorAll<HTMLElement>(`[data-stick="${part}"]`));
    const height =
      part === "dock" ? Math.max(0, ...elements.map((dock) => docked(dock, inSight, most))) : Math.max(0, ...elements.map((one) => one.offsetHeight));
    const sticks = most > 0 && height <= room;
    elements.forEach((element) => element.toggleAttribute(part === "dock" ? "data-docked" : "data-stuck", sticks));
    room -= sticks ? height : 0;
    document.documentElement.style.setProperty(`--${part}-height`, `${sticks ? height : 0}px`);
  }
  document.body.style.removeProperty("min-height");
}

/** How high a dock is as a docked one, which is set closer. Having been docked in this window, it scrolls rather than leaves. */
function docked(dock: HTMLElement, inSight: number, most: number): number {
  const window_ = String(inSight);
  const was = dock.hasAttribute("data-docked");
  const stays = was && dock.dataset.window === window_ && most > 0;
  dock.dataset.window = window_;
  dock.style.setProperty("--keyboard-height", `${coveredBelow(inSight)}px`);
  dock.style.removeProperty("--dock-most");
  dock.toggleAttribute("data-capped", false);
  dock.toggleAttribute("data-docked", true);
  const height = dock.offsetHeight;
  if (height > most && stays) {
    dock.style.setProperty("--dock-most", `${most}px`);
    dock.toggleAttribute("data-capped", true);
    return most;
  }
  if (was && height > most && dock.contains(document.activeElement)) {
    // What one writes in goes to the end of the page, and is to stay in sight there.
    requestAnimationFrame(() => dock.scrollIntoView({ block: "end" }));
  }
  return height;
}

/** How much of the page's window a keyboard covers, where the browser lays it over the page. */
function coveredBelow(inSight: number): number {
  const covered = window.innerHeight - inSight - (window.visualViewport?.offsetTop ?? 0);
  return Math.max(0, Math.round(covered));
}
