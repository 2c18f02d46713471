import type { Section } from "../wire/config";
import { Bullets } from "./Bullets";
import styles from "./Sections.module.css";

/** Headed paragraphs; several lines under one heading become a list. Blank ones are left out. */
export function Sections({ sections }: { sections: readonly Section[] }) {
  return (
    <>
      {sections.map((section, index) => {
        const lines = section.lines.filter((line) => line.trim() !== "");
        return (
          // Sections never change while the page lives, so their place is their identity.
          <section key={index} className={styles.section}>
            {section.heading && <h2>{section.heading}</h2>}
            {lines.length === 1 && <p>{lines[0]}</p>}
            {lines.length > 1 && <Bullets lines={lines} />}
          </section>
        );
      })}
    </>
  );
}
