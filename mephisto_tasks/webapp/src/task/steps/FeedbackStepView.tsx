import { useRef } from "react";
import type { FeedbackStep } from "../../wire/state";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import { t } from "../../language";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { TextField } from "./TextField";
import { useTextAnswer } from "./useTextAnswer";
import styles from "./Steps.module.css";

/** Free text at the end, which may be left empty. */
export function FeedbackStepView({ step, keptUnder, pending, onAnswer }: StepProps<FeedbackStep>) {
  const heading = useRef<HTMLHeadingElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useFocusOnArrival(hasKeyboard() ? field : heading);
  const { unready, send, fieldProps } = useTextAnswer({
    keptUnder,
    draftId: step.step_id,
    field,
    what: t("Your feedback"),
    minWords: 0,
    maxChars: step.max_chars,
    pending,
    onText: (sent) => onAnswer({ kind: "feedback", step_id: step.step_id, text: sent }),
  });

  return (
    <StepForm labelledBy="step-heading" look="panel" onSend={send}>
      <h2 id="step-heading" ref={heading} tabIndex={-1} className={styles.heading}>
        {t("One last thing")}
      </h2>
      <TextField id="feedback" label={step.label} rows={4} fieldRef={field} {...fieldProps} />
      <StepFoot send={t("Finish")} unready={unready} pending={pending} />
    </StepForm>
  );
}
