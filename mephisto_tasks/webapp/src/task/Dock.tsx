import { createContext, type ReactNode, type RefObject, useContext, useEffect, useLayoutEffect, useRef } from "react";
import { heightInSight, scrollPage } from "./scroll";
import styles from "./Dock.module.css";

/** What is answered may cover this share of the window while one reads. */
const MOST = 0.45;
/** …this share of a low window, as above a keyboard on the screen, where one writes rather than reads. */
const MOST_OF_LOW = 0.55;
const LOW_PX = 560;
/** …and so much when it has grown since, by a message about what is missing: nothing shall jump then. */
const MOST_GROWN = 0.6;

/** What is said of the last answer, where its place is in the dock: whoever reads far above it must see it. */
export const DockNotice = createContext<ReactNode>(null);

/**
 * Keeps what one answers with at the lower edge of the window, beneath what it is about, as long as that leaves room to
 * read; else it stands at the end of the page. Style sheets know its height there as `--dock-height`.
 *
 * It sticks within its parent, which therefore is `main`, or a form set as `display: contents` in it.
 */
export function Dock({ children }: { children: ReactNode }) {
  const dock = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = dock.current;
    if (element === null) {
      return;
    }
    const measure = () => keepInSight(element);
    measure();
    const observer = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(measure);
    observer?.observe(element);
    const { visualViewport } = window;
    window.addEventListener("resize", measure);
    visualViewport?.addEventListener("resize", measure);
    visualViewport?.addEventListener("scroll", measure);
    return () => {
      observer?.disconnect();
      window.removeEventListener("resize", measure);
      visualViewport?.removeEventListener("resize", measure);
      visualViewport?.removeEventListener("scroll", measure);
      document.documentElement.style.removeProperty("--dock-height");
    };
  }, []);
  usePageKeys(dock);
  return (
    <div ref={dock} className={styles.dock}>
      {useContext(DockNotice)}
      {children}
    </div>
  );
}

function keepInSight(element: HTMLElement): void {
  const inSight = heightInSight();
  const most = element.hasAttribute("data-docked") ? MOST_GROWN : inSight < LOW_PX ? MOST_OF_LOW : MOST;
  // A docked step is set closer, so it is measured as one.
  element.toggleAttribute("data-docked", true);
  element.toggleAttribute("data-low", inSight < LOW_PX);
  const height = element.offsetHeight;
  const fits = height <= most * inSight;
  element.toggleAttribute("data-docked", fits);
  document.documentElement.style.setProperty("--dock-height", fits ? `${height}px` : "0px");
  element.style.setProperty("--keyboard-height", `${coveredBelow(inSight)}px`);
}

/** How much of the page's window a keyboard covers, where the browser lays it over the page. */
function coveredBelow(inSight: number): number {
  const covered = window.innerHeight - inSight - (window.visualViewport?.offsetTop ?? 0);
  return Math.max(0, Math.round(covered));
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
