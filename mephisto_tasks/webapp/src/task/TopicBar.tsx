import { useEffect, useRef, useState } from "react";
import { t } from "../language";
import { Chevron } from "../ui/icons";
import styles from "./TopicBar.module.css";

/** What the conversation is about, always in sight: one line, which unfolds when the topic is longer. */
export function TopicBar({ topic }: { topic: string }) {
  const line = useRef<HTMLParagraphElement>(null);
  const [open, setOpen] = useState(false);
  const [cut, setCut] = useState(false);
  useEffect(() => {
    const element = line.current;
    if (element === null || typeof ResizeObserver === "undefined") {
      return;
    }
    const observer = new ResizeObserver(() => setCut(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [topic]);
  return (
    <section className={styles.bar} aria-label={t("Topic")} data-stick="topic">
      <div className={styles.inner}>
        <p ref={line} className={open ? styles.whole : styles.line}>
          <span className={styles.word}>{t("Topic:")}</span> {topic}
        </p>
        {(cut || open) && (
          <button
            type="button"
            className={styles.fold}
            aria-expanded={open}
            aria-label={t("Show the whole topic")}
            onClick={() => setOpen(!open)}
          >
            <Chevron up={open} />
          </button>
        )}
      </div>
    </section>
  );
}
