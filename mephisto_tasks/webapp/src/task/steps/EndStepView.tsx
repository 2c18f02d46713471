import { useRef } from "react";
import { t } from "../../language";
import type { TaskSession } from "../../session/session";
import type { Delivery } from "../../session/view";
import type { EndStep, Redirect } from "../../wire/state";
import { BackTo } from "../../ui/BackTo";
import { Button } from "../../ui/Button";
import { Dots } from "../../ui/Dots";
import { useFocusOnArrival } from "../focus";
import styles from "./Steps.module.css";

export interface EndStepProps {
  step: EndStep;
  delivery: Delivery;
  session: TaskSession;
}

/** The end of the practice or of the task, and whether the work has reached the server. */
export function EndStepView({ step, delivery, session }: EndStepProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const over = step.next === "stay" || delivery.kind === "done";
  useFocusOnArrival(heading);
  return (
    <section className={`card ${styles.panel}`} aria-labelledby="step-heading">
      <h2 id="step-heading" ref={heading} tabIndex={-1} className={styles.heading}>
        {step.title}
      </h2>
      <p className="verbatim">{step.text}</p>
      {step.next !== "stay" && <DeliveryWords step={step} delivery={delivery} onAgain={session.deliverAgain} />}
      {step.resumes && (
        <div className={styles.delivery}>
          <Button onClick={session.goOn}>{t("Go on")}</Button>
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
        <p className={`soft ${styles.typing}`}>
          <Dots /> <span>{practice ? t("One moment, the conversation is next…") : t("Sending your work…")}</span>
        </p>
      )}
      {delivery.kind === "failed" && delivery.retrying && (
        <p className={`box warning ${styles.told}`}>
          {practice ? t("Your practice answers could not be sent yet.") : t("Your work could not be sent yet.")} {delivery.text}{" "}
          {t("Nothing is lost; the page keeps trying. Please leave it open.")}
        </p>
      )}
      {delivery.kind === "failed" && !delivery.retrying && (
        <>
          <p className={`box warning ${styles.told}`}>
            {practice ? t("The server did not accept your practice answers.") : t("The server did not accept your work.")} {delivery.text}{" "}
            {t("Your work is saved on the server.")}
          </p>
          <Button onClick={onAgain}>{t("Try again")}</Button>
        </>
      )}
      {delivery.kind === "done" && (
        <p className="box success">{t("Your work has been sent.")} {afterwards(step.redirect)}</p>
      )}
    </div>
  );
}

function afterwards(redirect: Redirect | null): string {
  if (redirect?.url) {
    return t("You will return to {site} automatically.", { site: redirect.site });
  }
  return redirect?.code ? t("Copy your code before you close this page.") : t("You can close this page.");
}
