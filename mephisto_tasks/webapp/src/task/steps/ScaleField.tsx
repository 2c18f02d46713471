import type { Ref } from "react";
import { t } from "../../language";
import type { Scale } from "../../wire/state";
import { Points } from "./Points";
import { endsOf } from "./rating";
import { Slider } from "./Slider";
import styles from "./Rate.module.css";

export interface ScaleFieldProps {
  scale: Scale;
  /** Its place in the step, which makes its ids. */
  index: number;
  value: number | null;
  locked: boolean;
  problem: string | null;
  fieldRef?: Ref<HTMLDivElement>;
  onChange: (value: number) => void;
  onSend: () => void;
}

/** One statement and where it is rated, with the labels of both ends below. */
export function ScaleField({ scale, index, value, locked, problem, fieldRef, onChange, onSend }: ScaleFieldProps) {
  const id = `scale-${index}`;
  const problemId = problem === null ? null : `${id}-problem`;
  const common = { scale, value, locked, labelledBy: id, onChange, onSend };
  const slider = scale.style === "slider";
  const [left, right] = endsOf(scale);
  return (
    <div ref={fieldRef} className={styles.scale} data-scale={index} data-answered={value !== null}>
      <p id={id} className={styles.statement}>
        {scale.statement}
      </p>
      {slider ? (
        <Slider {...common} describedBy={[`${id}-ends`, problemId].filter(Boolean).join(" ")} invalid={problem !== null} />
      ) : (
        <Points {...common} describedBy={problemId} />
      )}
      <div className={styles.ends} aria-hidden="true">
        <span>{left}</span>
        <span>{right}</span>
      </div>
      {slider && (
        <span id={`${id}-ends`} hidden>
          {t("from “{left}” to “{right}”", { left, right })}
        </span>
      )}
      {problem !== null && (
        <p role="alert" id={`${id}-problem`} className={styles.problem}>
          {problem}
        </p>
      )}
    </div>
  );
}
