import { t } from "../../language";
import type { Scale } from "../../wire/state";
import { Points } from "./Points";
import { endsOf } from "./rating";
import { Slider } from "./Slider";
import { Problem } from "./StepShell";
import styles from "./Rate.module.css";

export interface ScaleFieldProps {
  scale: Scale;
  /** Its place in the step, which makes its ids. */
  index: number;
  /** Null until it is touched. */
  value: number | null;
  problem: string | null;
  onChange: (value: number) => void;
}

/** One statement and where it is rated, with the labels of both ends below. */
export function ScaleField({ scale, index, value, problem, onChange }: ScaleFieldProps) {
  const id = `scale-${index}`;
  const problemId = problem === null ? undefined : `${id}-problem`;
  const common = { scale, value, labelledBy: id, onChange };
  const slider = scale.style === "slider";
  const [left, right] = endsOf(scale);
  return (
    <div className={styles.scale} data-scale={index} data-answered={value !== null}>
      <p id={id} className={`strong ${styles.statement}`}>
        {scale.statement}
      </p>
      {slider ? (
        <Slider {...common} describedBy={[`${id}-ends`, problemId].filter(Boolean).join(" ")} invalid={problem !== null} />
      ) : (
        <Points {...common} describedBy={problemId} />
      )}
      <div className={`soft ${styles.ends}`} aria-hidden="true">
        <span>
          <bdi>{left}</bdi>
        </span>
        <span>
          <bdi>{right}</bdi>
        </span>
      </div>
      {slider && (
        <span id={`${id}-ends`} hidden>
          {t("from “{left}” to “{right}”", { left, right })}
        </span>
      )}
      {problem !== null && <Problem id={`${id}-problem`}>{problem}</Problem>}
    </div>
  );
}
