import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { scrollPage } from "./scroll";
import styles from "./Dock.module.css";

/** A step may cover this share of the window while one reads. */
const MOST = 0.45;
/** …and so much when it has grown since, by a message about what is missing: nothing shall jump then. */
const MOST_GROWN = 0.6;
/** On a narrower window the dialogues stand below one another, and reading needs the whole height. */
const NARROWEST = 720;

/** Keeps a step in sight at the lower edge of the window, beneath what it is about, as long as it leaves room to read. */
export function Dock({ children }: { children: ReactNode }) {
  const dock = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = dock.current;
    if (element === null) {
      return;
    }
    const measure = () => {
      const most = element.hasAttribute("data-docked") ? MOST_GROWN : MOST;
      // A docked step is set closer, so it is measured as one.
      element.toggleAttribute("data-docked", true);
      const fits = window.innerWidth >= NARROWEST && element.offsetHeight <= most * window.innerHeight;
      element.toggleAttribute("data-docked", fits);
    };
    measure();
    window.addEventListener("resize", measure);
    const observer = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(measure);
    observer?.observe(element);
    return () => {
      window.removeEventListener("resize", measure);
      observer?.disconnect();
    };
  }, []);
  usePageKeys(dock);
  return (
    <div ref={dock} className={styles.dock}>
      {children}
    </div>
  );
}

/** The page keys scroll by what is in sight, and not past lines that the dock covers. */
function usePageKeys(dock: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const way = direction(event);
      const docked = dock.current?.hasAttribute("data-docked") === true;
      if (docked && way !== 0 && !event.defaultPrevented && document.querySelector("[role='dialog']") === null) {
        event.preventDefault();
        scrollPage(way, dock.current?.offsetHeight ?? 0);
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [dock]);
}

/** 1 for a page down, -1 for a page up, 0 for any other key, and where the key has another use. */
function direction({ key, target, shiftKey, altKey, ctrlKey, metaKey }: KeyboardEvent): -1 | 0 | 1 {
  const used = target instanceof HTMLElement && target.matches(key === " " ? "button, input, textarea" : "textarea");
  if (used || altKey || ctrlKey || metaKey) {
    return 0;
  }
  if (key === " ") {
    return shiftKey ? -1 : 1;
  }
  return key === "PageDown" ? 1 : key === "PageUp" ? -1 : 0;
}
