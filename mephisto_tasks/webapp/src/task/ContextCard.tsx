import { Disclosure, DisclosureContent, DisclosureProvider } from "@ariakit/react/disclosure";
import { useEffect, useRef, useState } from "react";
import type { Context } from "../wire/state";
import { store } from "../wire/storage";
import { Bullets } from "../ui/Bullets";
import { Chevron } from "../ui/icons";
import styles from "./ContextCard.module.css";

/** Kept under this: what the card said when it was read or folded. */
const READ = "context-read";

export interface ContextCardProps {
  context: Context;
  /** The first turn, in which it is open by itself until it was read. */
  beginning: boolean;
  /** The rater has answered something, or is doing so. */
  acted: boolean;
}

/** Who one is: in sight where there is room, as one line that unfolds. Without a sentence to show it does not appear at all. */
export function ContextCard({ context, beginning, acted }: ContextCardProps) {
  const lines = context.lines.filter((line) => line.trim() !== "");
  const words = lines.join("\n");
  const [read, setRead] = useState(() => store.read(READ));
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? (beginning && read !== words);
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!open || chosen !== null) {
      return;
    }
    const done = () => {
      store.write(READ, words);
      setRead(words);
    };
    if (acted) {
      done();
      return;
    }
    const onScroll = ({ target }: Event) => {
      const elsewhere = target instanceof Node && bar.current?.contains(target) === false;
      if (elsewhere && document.querySelector("[role='dialog']") === null) {
        done();
      }
    };
    const scrolling = ["wheel", "touchmove"] as const;
    scrolling.forEach((name) => document.addEventListener(name, onScroll, { passive: true }));
    return () => scrolling.forEach((name) => document.removeEventListener(name, onScroll));
  }, [open, chosen, acted, words]);

  if (lines.length === 0) {
    return null;
  }
  const fold = (next: boolean) => {
    setChosen(next);
    if (!next) {
      store.write(READ, words);
    }
  };
  return (
    <section ref={bar} className={`stripe ${styles.bar}`} data-stick="context">
      <div className="column">
        <DisclosureProvider open={open} setOpen={fold}>
          <h2>
            <Disclosure className={styles.button}>
              <bdi className={`strong ${styles.title}`}>{context.title}</bdi>
              {/* The sentences themselves are read below. */}
              <bdi className={`soft ${styles.line}`} aria-hidden="true">
                {!open && lines.join(" ")}
              </bdi>
              <Chevron up={open} />
            </Disclosure>
          </h2>
          {/* A scrolling region must be reachable by keyboard. */}
          <DisclosureContent className={styles.content} tabIndex={0} role="region" aria-label={context.title}>
            <Bullets lines={lines} className="verbatim" />
          </DisclosureContent>
        </DisclosureProvider>
      </div>
    </section>
  );
}
