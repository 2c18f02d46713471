import { type MouseEvent, useCallback, useRef, useState } from "react";
import { t } from "../language";
import { scrollEdge, useLook } from "./scroll";
import styles from "./Tabs.module.css";

/** What begins so little below the upper edge is what one reads. */
const NEAR_PX = 96;

/**
 * The names of two conversations that stand below one another on a narrow window: always in sight, with a mark at the one that
 * one reads, and a way to the other. Nothing is hidden, so that a search, a screen reader and scrolling come to both.
 *
 * A tab's number is the `data-tab` of what it stands for; of several it leads to the last. Back in a long conversation one is
 * where one left it. At the end of the page, where it cannot scroll any further, the mark is at the tab that was chosen.
 */
export function Tabs({ names }: { names: readonly string[] }) {
  const [here, setHere] = useState(0);
  const left = useRef(new Map<Element, number>());
  const led = useRef<Element>(null);
  const look = useCallback(() => {
    const line = scrollEdge() + NEAR_PX;
    const all = parts();
    const begun = all.filter((part) => part.getBoundingClientRect().top <= line).length - 1;
    const atEnd = window.scrollY + window.innerHeight > document.documentElement.scrollHeight - 2;
    const chosen = atEnd ? all.indexOf(led.current as HTMLElement) : -1;
    setHere(Number(all[Math.max(begun, chosen)]?.dataset.tab ?? 0));
  }, []);
  useLook(look);
  const go = (event: MouseEvent, index: number) => {
    event.preventDefault();
    const [now, target] = [partOf(here), partOf(index)];
    if (target === undefined) {
      return;
    }
    const focused = target.querySelector<HTMLElement>("h2[tabindex]") ?? target;
    focused.focus({ preventScroll: true });
    const depth = index === here ? 0 : (left.current.get(target) ?? 0);
    if (now !== undefined) {
      left.current.set(now, Math.max(0, scrollEdge() - now.getBoundingClientRect().top));
    }
    target.scrollIntoView({ block: "start" });
    window.scrollBy({ top: depth });
    led.current = target;
    look();
  };
  return (
    <nav className={styles.tabs} aria-label={t("What to compare")} data-stick="tabs">
      {names.map((name, index) => (
        <a key={index} href={`#tab-${index}`} aria-current={index === here ? "location" : undefined} onClick={(event) => go(event, index)}>
          {name}
        </a>
      ))}
    </nav>
  );
}

function parts(): HTMLElement[] {
  return Array.from(document.querySelectorAll<HTMLElement>("[data-tab]"));
}

function partOf(index: number): HTMLElement | undefined {
  return parts()
    .filter(({ dataset }) => dataset.tab === String(index))
    .at(-1);
}
