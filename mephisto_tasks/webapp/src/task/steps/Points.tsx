import { Radio, RadioGroup, RadioProvider } from "@ariakit/react/radio";
import type { KeyboardEvent } from "react";
import type { Scale } from "../../wire/state";
import { points } from "./rating";
import styles from "./Rate.module.css";

export interface PointsProps {
  scale: Scale;
  value: number | null;
  locked: boolean;
  labelledBy: string;
  /** Id of the problem that stands below; null while there is none. */
  describedBy: string | null;
  onChange: (value: number) => void;
  onEnter: () => void;
}

/** One radio button for each whole number, under its name where it has one; with hints, a row for each, which says what it means. */
export function Points({ scale, value, locked, labelledBy, describedBy, onChange, onEnter }: PointsProps) {
  const named = scale.labels.length > 0;
  const hinted = scale.hints.length > 0;
  const all = points(scale);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      onEnter();
    }
  };
  const label = (point: number, index: number) => {
    const hint = scale.hints[index];
    const end = index === 0 ? scale.left : index === all.length - 1 ? scale.right : "";
    return (
      <label key={point} className={`${styles.point} ${point === value ? styles.picked : ""} ${locked ? styles.locked : ""}`}>
        <Radio value={String(point)} className={styles.input} />
        <span className={hint === undefined ? undefined : styles.value}>{named ? scale.labels[index] : point}</span>
        {hint !== undefined && <span className={styles.meaning}>{hint}</span>}
        {!named && end !== "" && <span className="visually-hidden">, {end}</span>}
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
        className={[styles.points, hinted ? styles.hinted : named ? styles.named : ""].join(" ")}
        onKeyDown={onKeyDown}
        aria-labelledby={labelledBy}
        aria-required
        {...(describedBy === null ? {} : { "aria-describedby": describedBy })}
      >
        {all.map(label)}
      </RadioGroup>
    </RadioProvider>
  );
}
