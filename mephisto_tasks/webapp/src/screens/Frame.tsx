import type { ReactNode } from "react";
import styles from "./Frame.module.css";

export interface FrameProps {
  children: ReactNode;
  wide?: boolean;
  /** The card begins at the window's upper edge, so that much of it is in sight at once. */
  top?: boolean;
}

/** The page around everything that is not the task: one card in the middle. */
export function Frame({ children, wide = false, top = false }: FrameProps) {
  return (
    <main className={top ? `${styles.frame} ${styles.top}` : styles.frame}>
      <div className={wide ? `${styles.card} ${styles.wide}` : styles.card}>{children}</div>
    </main>
  );
}
