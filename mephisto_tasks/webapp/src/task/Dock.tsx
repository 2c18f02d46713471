import { createContext, type ReactNode, useContext, useRef } from "react";
import { useListener } from "../ui/useListener";
import { scrollPage } from "./scroll";
import styles from "./Dock.module.css";

/** What is said of the last answer, where its place is in the dock: whoever reads far above it must see it. */
export const DockNotice = createContext<ReactNode>(null);

/**
 * Keeps what one answers with at the lower edge of the window, beneath what it is about, as long as that leaves room to
 * read (see {@link Sticking}); else it stands at the end of the page.
 *
 * It sticks within its parent, which therefore is `main`, or a form set as `display: contents` in it.
 */
export function Dock({ children }: { children: ReactNode }) {
  const dock = useRef<HTMLDivElement>(null);
  // The page keys scroll by what is in sight, and not past lines that the dock covers.
  useListener("keydown", (event) => {
    const way = direction(event);
    const docked = dock.current?.hasAttribute("data-docked") === true;
    if (docked && way !== 0 && !event.defaultPrevented && document.querySelector("[role='dialog']") === null) {
      event.preventDefault();
      scrollPage(way, dock.current?.offsetHeight ?? 0);
    }
  });
  return (
    <div ref={dock} className={`card ${styles.dock}`} data-stick="dock">
      {useContext(DockNotice)}
      {children}
    </div>
  );
}

/** Leads to the text that goes with a choice: where the dock sticks nothing moves, else its end comes into sight. */
export function leadTo(field: HTMLTextAreaElement | null): void {
  const dock = field?.closest("[data-stick='dock']");
  field?.focus({ preventScroll: true });
  if (dock?.hasAttribute("data-docked") === false) {
    dock.scrollIntoView({ block: "end" });
  }
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
