import { type FocusEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { t } from "../../language";
import { Chevron } from "../../ui/icons";
import { heightInSight, useSize } from "../scroll";
import styles from "./Fold.module.css";

/** What is shown of a high text: this share of the window, but not less than so many pixels. */
const SHARE = 0.5;
const LEAST_PX = 220;
/** The same of one of two that stand below one another, and are to be seen together. */
const BRIEF_SHARE = 0.15;
const BRIEF_LEAST_PX = 84;
const NARROW_PX = 720;
/** A text that is hardly higher than that is shown as a whole. */
const SLACK = 1.25;

/** Which of several texts are open: what the fold of each gets. */
export function folds(open: readonly string[], change: (open: string[]) => void) {
  return (id: string) => ({
    open: open.includes(id),
    onOpen: (now: boolean) => change(now ? [...open, id] : open.filter((other) => other !== id)),
  });
}

export interface FoldProps {
  /** What is folded, for the button's name: “Reply 2”. */
  name: string;
  open: boolean;
  onOpen: (open: boolean) => void;
  /** It is judged, and read to its end before. */
  judged?: boolean;
  /** On a narrow window it stands above or below another one with which it is compared. */
  paired?: boolean;
  children: ReactNode;
}

/**
 * Shows the beginning of a high text, and all of it when asked to. Who listens hears all of it anyhow, and what takes the
 * focus in it, or is found by the browser's search, unfolds it.
 */
export function Fold({ name, open, onOpen, judged = false, paired = false, children }: FoldProps) {
  const content = useRef<HTMLDivElement>(null);
  const [most, setMost] = useState<number | null>(null);
  const measure = useCallback(
    (element: HTMLElement) => {
      const brief = paired && window.innerWidth < NARROW_PX;
      const room = Math.round(brief ? Math.max(BRIEF_LEAST_PX, BRIEF_SHARE * heightInSight()) : Math.max(LEAST_PX, SHARE * heightInSight()));
      setMost(element.scrollHeight > SLACK * room ? room : null);
    },
    [paired],
  );
  useSize(content, measure);
  const folded = most !== null && !open;
  const unfold = () => {
    if (folded) {
      onOpen(true);
    }
  };
  const onFocus = ({ target }: FocusEvent) => {
    if (folded) {
      unfold();
      // It was in sight of the fold, and lies further down now, maybe under the dock.
      requestAnimationFrame(() => target.scrollIntoView({ block: "nearest" }));
    }
  };
  useEffect(() => {
    if (folded && content.current) {
      content.current.scrollTop = 0;
    }
  }, [folded]);
  const turn = () => {
    onOpen(!open);
    if (open) {
      // What one reads next stands below it, and would be far away.
      requestAnimationFrame(() => content.current?.scrollIntoView({ block: "nearest" }));
    }
  };
  return (
    <div className={styles.fold} data-end={judged ? name : undefined}>
      {/* Nothing here can be pressed: these are about what stands in it. */}
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions -- it only follows what scrolls or is focused */}
      <div
        ref={content}
        className={folded ? styles.folded : undefined}
        style={folded ? { maxHeight: most } : undefined}
        onFocus={onFocus}
        onScroll={(event) => event.currentTarget.scrollTop > 0 && unfold()}
      >
        {children}
      </div>
      {most !== null && (
        <button type="button" className={styles.button} aria-expanded={open} onClick={turn}>
          {open ? t("Show less") : t("Show all")}
          <span className="visually-hidden"> ({name})</span>
          <Chevron up={open} />
        </button>
      )}
    </div>
  );
}
