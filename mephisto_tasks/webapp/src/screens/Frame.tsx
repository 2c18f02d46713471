import type { ReactNode } from "react";
import styles from "./Frame.module.css";

/** The page around everything that is not the task: one card in the middle. */
export function Frame({ children, wide = false }: { children: ReactNode; wide?: boolean }) {
  return (
    <main className={styles.frame}>
      <div className={wide ? `${styles.card} ${styles.wide}` : styles.card}>{children}</div>
    </main>
  );
}
