import { t } from "../../language";
import type { FeedbackStep } from "../../wire/state";
import { StepFoot, type StepProps, StepShell } from "./StepShell";
import { TextField } from "./TextField";
import { useText } from "./useText";
import styles from "./Steps.module.css";

/** Free text at the end, which may be left empty. */
export function FeedbackStepView({ step, keptUnder, pending, onAnswer }: StepProps<FeedbackStep>) {
  const { field, shell, fieldProps } = useText({
    keptUnder,
    draftId: step.step_id,
    what: t("Your feedback"),
    minWords: 0,
    maxChars: step.max_chars,
    pending,
    onText: (text) => onAnswer({ kind: "feedback", step_id: step.step_id, text }),
  });
  return (
    <StepShell shell={shell} labelledBy="step-heading" look="panel" first={field}>
      <h2 id="step-heading" className={styles.heading}>
        {t("One last thing")}
      </h2>
      <TextField id="feedback" label={step.label} lines {...fieldProps} />
      <StepFoot send={t("Finish")} />
    </StepShell>
  );
}
