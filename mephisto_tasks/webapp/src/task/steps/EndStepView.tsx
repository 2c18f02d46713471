import { useRef } from "react";
import type { Delivery } from "../../session/view";
import type { EndStep } from "../../wire/state";
import { Button } from "../../ui/Button";
import { Dots } from "../../ui/Dots";
import { useFocusOnArrival } from "../focus";
import styles from "./Steps.module.css";

export interface EndStepProps {
  step: EndStep;
  delivery: Delivery;
  onDeliverAgain: () => void;
}

/** The end of the practice or of the task, and whether the work has reached the server. */
export function EndStepView({ step, delivery, onDeliverAgain }: EndStepProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useFocusOnArrival(heading);
  return (
    <section className={`${styles.step} ${styles.panel}`} aria-labelledby="step-heading">
      <h2 id="step-heading" ref={heading} tabIndex={-1} className={styles.heading}>
        {step.title}
      </h2>
      <p className={styles.plain}>{step.text}</p>
      {step.next !== "stay" && (
        <DeliveryWords delivery={delivery} practice={step.next === "submit_onboarding"} onAgain={onDeliverAgain} />
      )}
    </section>
  );
}

function DeliveryWords({ delivery, practice, onAgain }: { delivery: Delivery; practice: boolean; onAgain: () => void }) {
  const what = practice ? "the practice" : "your work";
  return (
    <div role="status" className={styles.delivery}>
      {(delivery.kind === "sending" || delivery.kind === "none") && (
        <p className={styles.typing}>
          <Dots /> <span>{practice ? "One moment, the conversation comes next…" : "Sending your work…"}</span>
        </p>
      )}
      {delivery.kind === "failed" && delivery.retrying && (
        <p className={styles.slow}>
          Sending {what} has not worked yet. {delivery.text} Nothing is lost; the page keeps trying. Please leave it open.
        </p>
      )}
      {delivery.kind === "failed" && !delivery.retrying && (
        <>
          <p className={styles.slow}>The server did not accept {what}. {delivery.text} What you did is saved on the server.</p>
          <Button onClick={onAgain}>Try again</Button>
        </>
      )}
      {delivery.kind === "done" && (
        <p className={styles.done}>Your work has been sent. You can close this page.</p>
      )}
    </div>
  );
}
