import { useCallback, useRef, useState } from "react";
import { t } from "../language";
import { Chevron } from "../ui/icons";
import { useSize } from "./scroll";
import styles from "./TopicBar.module.css";

/** What the conversation is about, always in sight: one line, which unfolds when the topic is longer. */
export function TopicBar({ topic }: { topic: string }) {
  const line = useRef<HTMLParagraphElement>(null);
  const [open, setOpen] = useState(false);
  const [cut, setCut] = useState(false);
  const measure = useCallback((element: HTMLElement) => setCut(element.scrollWidth > element.clientWidth), []);
  useSize(line, measure);
  return (
    <section className={`stripe ${styles.bar}`} aria-label={t("Topic")} data-stick="topic">
      <div className={`column ${styles.inner}`}>
        <p ref={line} className={open ? styles.whole : styles.line} dir="auto">
          <bdi className="soft">{t("Topic:")}</bdi> {topic}
        </p>
        {(cut || open) && (
          <button
            type="button"
            className={`soft sign ${styles.fold}`}
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
