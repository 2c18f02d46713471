import styles from "./icons.module.css";

/** Decorative: what it shows is always said in words or states beside it. */
export function Chevron({ up }: { up: boolean }) {
  return (
    <svg className={up ? `${styles.icon} ${styles.up}` : styles.icon} viewBox="0 0 20 20" aria-hidden="true">
      <path d="M5 7.5l5 5 5-5" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

export function Check() {
  return (
    <svg className={styles.icon} viewBox="0 0 20 20" aria-hidden="true">
      <path d="M4.5 10.5l3.5 3.5 7.5-8" fill="none" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
