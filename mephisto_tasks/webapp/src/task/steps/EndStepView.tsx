import { useRef } from "react";
import { t } from "../../language";
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
  onGoOn: () => void;
}

/** The end of the practice or of the task, and whether the work has reached the server. */
export function EndStepView({ step, delivery, onDeliverAgain, onGoOn }: EndStepProps) {
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
      {step.resumes && (
        <div className={styles.delivery}>
          <Button onClick={onGoOn}>{t("Go on")}</Button>
        </div>
      )}
      {over && step.redirect && <BackTo redirect={step.redirect} />}
    </section>
  );
}

function DeliveryWords({ step, delivery, onAgain }: { step: EndStep; delivery: Delivery; onAgain: () => void }) {
  const practice = step.next === "submit_onboarding";
  return (
    <div role="status" className={styles.delivery}>
      {(delivery.kind === "sending" || delivery.kind === "none") && (
        <p className={styles.typing}>
          <Dots /> <span>{practice ? t("One moment, the conversation comes next…") : t("Sending your work…")}</span>
        </p>
      )}
      {delivery.kind === "failed" && delivery.retrying && (
        <p className={styles.slow}>
          {practice ? t("Sending the practice has not worked yet.") : t("Sending your work has not worked yet.")} {delivery.text}{" "}
          {t("Nothing is lost; the page keeps trying. Please leave it open.")}
        </p>
      )}
      {delivery.kind === "failed" && !delivery.retrying && (
        <>
          <p className={styles.slow}>
            {practice ? t("The server did not accept the practice.") : t("The server did not accept your work.")} {delivery.text}{" "}
            {t("What you did is saved on the server.")}
          </p>
          <Button onClick={onAgain}>{t("Try again")}</Button>
        </>
      )}
      {delivery.kind === "done" && (
        <p className={styles.done}>{t("Your work has been sent.")} {afterwards(step.redirect)}</p>
      )}
    </div>
  );
}

function afterwards(redirect: Redirect | null): string {
  if (redirect?.url) {
    return t("This page goes back to {site} by itself.", { site: redirect.site });
  }
  return redirect?.code ? t("Copy your code before you close this page.") : t("You can close this page.");
}
