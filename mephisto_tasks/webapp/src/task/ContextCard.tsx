import { Disclosure, DisclosureContent, DisclosureProvider } from "@ariakit/react/disclosure";
import { useState } from "react";
import type { Context } from "../wire/state";
import { store } from "../wire/storage";
import { Chevron } from "../ui/icons";
import styles from "./ContextCard.module.css";

const FOLDED = "context-folded";

/** Who one is, or what to talk about. Without a sentence to show it does not appear at all. */
export function ContextCard({ context }: { context: Context }) {
  const lines = context.lines.filter((line) => line.trim() !== "");
  const [open, setOpen] = useState(() => store.read(FOLDED) === null);

  if (lines.length === 0) {
    return null;
  }
  const fold = (next: boolean) => {
    setOpen(next);
    if (next) {
      store.remove(FOLDED);
    } else {
      store.write(FOLDED, true);
    }
  };
  return (
    <section className={styles.card}>
      <DisclosureProvider open={open} setOpen={fold}>
        <h2 className={styles.heading}>
          <Disclosure className={styles.button}>
            {context.title}
            <Chevron up={open} />
          </Disclosure>
        </h2>
        <DisclosureContent className={styles.content}>
          <ul>
            {lines.map((line, index) => (
              <li key={index}>{line}</li>
            ))}
          </ul>
        </DisclosureContent>
      </DisclosureProvider>
    </section>
  );
}
