import styles from "./Dots.module.css";

/** Three dots that move gently, or stand still for those who prefer that. The words beside them carry the meaning. */
export function Dots() {
  return (
    <span className={styles.dots} aria-hidden="true">
      <span />
      <span />
      <span />
    </span>
  );
}
