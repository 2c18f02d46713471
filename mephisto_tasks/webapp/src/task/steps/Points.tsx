import type { CSSProperties } from "react";
import { t } from "../../language";
import { Radios } from "./OptionRow";
import { isNamed, points, type RatedProps } from "./rating";
import styles from "./Rate.module.css";

/** More of them would be too narrow for a finger. */
const MOST_IN_ROW = 7;

/**
 * One radio button for each whole number, in one row.
 *
 * A point may have a name, or a hint that says what it means. Where there is room they stand in the buttons. On a phone the
 * buttons show their numbers, and below stands what the chosen one says; what all say unfolds. A screen reader hears
 * it with each point.
 */
export function Points({ scale, value, labelledBy, describedBy, onChange }: RatedProps) {
  const named = isNamed(scale);
  const hinted = scale.hints.length > 0;
  const words = hinted ? scale.hints : named ? scale.labels : [];
  const all = points(scale);
  const chosen = value === null ? undefined : words[all.indexOf(value)];
  const label = (point: number, index: number) => {
    const word = words[index];
    const end = index === 0 ? scale.left : index === all.length - 1 ? scale.right : "";
    return (
      <>
        <span className={`strong ${styles.value}`} aria-hidden={named && !hinted ? true : undefined}>
          {point}
        </span>
        {word !== undefined && <bdi className={styles.meaning}>{word}</bdi>}
        {word === undefined && end !== String(point) && end !== "" && <span className="visually-hidden">, {end}</span>}
      </>
    );
  };
  return (
    <>
      <Radios
        className={styles.points}
        looks={styles.point}
        labelledBy={labelledBy}
        describedBy={describedBy}
        options={all.map((point, index) => ({ id: String(point), label: label(point, index) }))}
        value={value === null ? null : String(value)}
        data-words={hinted ? "hints" : named ? "names" : undefined}
        data-many={all.length > MOST_IN_ROW ? "" : undefined}
        style={{ "--points": all.length } as CSSProperties}
        onPick={(point) => onChange(Number(point))}
      />
      {words.length > 0 && (
        <p className={styles.chosen} aria-hidden="true">
          {chosen}
        </p>
      )}
      {hinted && (
        <details className={styles.meanings} aria-labelledby={labelledBy}>
          <summary>{t("What each number means")}</summary>
          <ol start={scale.minimum} dir="auto">
            {words.map((word, index) => (
              <li key={index}>{word}</li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}
