import { useRef } from "react";
import type { Delivery } from "../../session/view";
import type { EndStep } from "../../wire/state";
import type { Redirect } from "../../wire/redirect";
import { BackTo } from "../../ui/BackTo";
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
  const over = step.next === "stay" || delivery.kind === "done";
  useFocusOnArrival(heading);
  return (
    <section className={`${styles.step} ${styles.panel}`} aria-labelledby="step-heading">
      <h2 id="step-heading" ref={heading} tabIndex={-1} className={styles.heading}>
        {step.title}
      </h2>
      <p className={styles.plain}>{step.text}</p>
      {step.next !== "stay" && (
        <DeliveryWords step={step} delivery={delivery} onAgain={onDeliverAgain} />
      )}
      {over && step.redirect && <BackTo redirect={step.redirect} />}
    </section>
  );
}

function DeliveryWords({ step, delivery, onAgain }: { step: EndStep; delivery: Delivery; onAgain: () => void }) {
  const practice = step.next === "submit_onboarding";
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
        <p className={styles.done}>Your work has been sent. {afterwards(step.redirect)}</p>
      )}
    </div>
  );
}

function afterwards(redirect: Redirect | null): string {
  if (redirect?.url) {
    return `This page goes back to ${redirect.site} by itself.`;
  }
  return redirect?.code ? "Copy your code before you close this page." : "You can close this page.";
}
