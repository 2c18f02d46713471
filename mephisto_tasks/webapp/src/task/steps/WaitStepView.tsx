import { useRef } from "react";
import { t } from "../../language";
import type { WaitStep } from "../../wire/state";
import { Dots } from "../../ui/Dots";
import { useAfter } from "../../ui/useAfter";
import { Dock } from "../Dock";
import { useFocusOnArrival } from "../focus";
import styles from "./Steps.module.css";

/** After this long a rater deserves words, even when the server has sent none. */
export const LONG_WAIT_MS = 30_000;

/**
 * The partner is typing; when it takes longer, says so. An idle wait is never a long one, and nobody is typing.
 *
 * `talking`: in a conversation that has begun the place where one answers is kept, so that nothing moves.
 */
export function WaitStepView({ step, talking }: { step: WaitStep; talking: boolean }) {
  const ref = useRef<HTMLElement>(null);
  const long = useAfter(LONG_WAIT_MS);
  useFocusOnArrival(ref);
  if (step.idle) {
    return (
      <section ref={ref} tabIndex={-1} aria-label={t("Waiting")} className={styles.wait}>
        <p role="status" className={`box soft ${styles.told} ${styles.idle}`}>
          {step.text}
        </p>
      </section>
    );
  }
  return (
    <>
      <section ref={ref} tabIndex={-1} aria-label={t("Waiting")} className={styles.wait}>
        <p className={`bubble soft ${styles.typing}`}>
          <Dots />
          {!step.slow && <span>{step.text}</span>}
        </p>
        <div role="status">
          {step.slow && <p className={`box warning ${styles.told}`}>{step.text}</p>}
          {!step.slow && long && (
            <p className={`box warning ${styles.told}`}>{t("This is taking longer than usual. Your work is safe, and there is nothing to do.")}</p>
          )}
        </div>
      </section>
      {talking && (
        <Dock>
          <div className={styles.kept} aria-hidden="true" />
        </Dock>
      )}
    </>
  );
}
