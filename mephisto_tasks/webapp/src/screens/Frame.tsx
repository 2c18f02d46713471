import { type ReactNode, useEffect, useRef } from "react";
import { mayFocus } from "../task/focus";
import styles from "./Frame.module.css";

export interface FrameProps {
  /** Of the task, above the screen's own title. */
  task?: string;
  title?: string;
  /** What the screen has to say first. */
  lead?: string;
  children?: ReactNode;
  wide?: boolean;
  /** The card begins at the window's upper edge, so that much of it is in sight at once. */
  top?: boolean;
}

/** The page around everything that is not the task: one card in the middle. */
export function Frame({ task, title, lead, children, wide = false, top = false }: FrameProps) {
  return (
    <main className={top ? `${styles.frame} ${styles.top}` : styles.frame}>
      <div className={`card ${styles.card} ${wide ? styles.wide : ""}`}>
        {task !== undefined && <p className={`soft ${styles.task}`}>{task}</p>}
        {title !== undefined && <Heading>{title}</Heading>}
        {lead !== undefined && <p className={`soft ${styles.lead}`}>{lead}</p>}
        {children}
      </div>
    </main>
  );
}

/** The heading of a screen; takes the focus when the screen appears, so that it is read first. */
export function Heading({ children }: { children: string }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (mayFocus()) {
      ref.current?.focus();
    }
  }, []);
  return (
    <h1 ref={ref} tabIndex={-1} className={styles.heading}>
      {children}
    </h1>
  );
}
