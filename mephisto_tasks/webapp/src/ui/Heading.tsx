import { useEffect, useRef } from "react";
import styles from "./Heading.module.css";

/** The heading of a screen; takes the focus when the screen appears, so that it is read first. */
export function Heading({ children }: { children: string }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => ref.current?.focus(), []);
  return (
    <h1 ref={ref} tabIndex={-1} className={styles.heading}>
      {children}
    </h1>
  );
}
