import { Radio, RadioGroup, RadioProvider } from "@ariakit/react/radio";
import type { CSSProperties } from "react";
import { t } from "../../language";
import type { Scale } from "../../wire/state";
import { onEnter } from "./keys";
import { isNamed, points } from "./rating";
import styles from "./Rate.module.css";

export interface PointsProps {
  scale: Scale;
  value: number | null;
  locked: boolean;
  labelledBy: string;
  /** Id of the problem that stands below; null while there is none. */
  describedBy: string | null;
  onChange: (value: number) => void;
  onSend: () => void;
}

/**
 * One radio button for each whole number, in one row.
 *
 * A point may have a name, or a hint that says what it means. Where there is room they stand in the buttons. On a phone the
 * buttons show their numbers, and below stands what the chosen one says; what all say unfolds. A screen reader hears
 * it with each point.
 */
export function Points({ scale, value, locked, labelledBy, describedBy, onChange, onSend }: PointsProps) {
  const named = isNamed(scale);
  const hinted = scale.hints.length > 0;
  const words = hinted ? scale.hints : named ? scale.labels : [];
  const all = points(scale);
  const chosen = value === null ? undefined : words[all.indexOf(value)];
  const label = (point: number, index: number) => {
    const word = words[index];
    const end = index === 0 ? scale.left : index === all.length - 1 ? scale.right : "";
    return (
      <label key={point} className={`${styles.point} ${point === value ? styles.picked : ""} ${locked ? styles.locked : ""}`}>
        <Radio value={String(point)} className={styles.input} />
        <span className={styles.value} aria-hidden={named && !hinted ? true : undefined}>
          {point}
        </span>
        {word !== undefined && <span className={styles.meaning}>{word}</span>}
        {word === undefined && end !== String(point) && end !== "" && <span className="visually-hidden">, {end}</span>}
      </label>
    );
  };
  return (
    <RadioProvider
      value={value === null ? null : String(value)}
      setValue={(next) => {
        if (!locked && next !== null) {
          onChange(Number(next));
        }
      }}
    >
      <RadioGroup
        className={styles.points}
        data-words={hinted ? "hints" : named ? "names" : undefined}
        data-many={all.length > MOST_IN_ROW ? "" : undefined}
        style={{ "--points": all.length } as CSSProperties}
        onKeyDown={(event) => onEnter(event, onSend)}
        aria-labelledby={labelledBy}
        aria-required
        {...(describedBy === null ? {} : { "aria-describedby": describedBy })}
      >
        {all.map(label)}
      </RadioGroup>
      {words.length > 0 && (
        <p className={styles.chosen} aria-hidden="true">
          {chosen}
        </p>
      )}
      {hinted && (
        <details className={styles.meanings}>
          <summary>{t("What each number means")}</summary>
          <ol start={scale.minimum}>
            {words.map((word, index) => (
              <li key={index}>{word}</li>
            ))}
          </ol>
        </details>
      )}
    </RadioProvider>
  );
}

/** More of them would be too narrow for a finger. */
const MOST_IN_ROW = 7;
