import { useState } from "react";
import { t } from "../../language";
import type { WriteStep } from "../../wire/state";
import { Dock } from "../Dock";
import { Reply } from "../Reply";
import { Fold, folds } from "./Fold";
import { StepFoot, type StepProps, StepShell } from "./StepShell";
import { TextField } from "./TextField";
import { useText } from "./useText";
import styles from "./WriteStepView.module.css";

/** Write a better reply in the partner's place, with the replies that none was chosen of still to be seen. */
export function WriteStepView({ step, keptUnder, pending, onAnswer }: StepProps<WriteStep>) {
  const [unfolded, setUnfolded] = useState<readonly string[]>([]);
  const foldOf = folds(unfolded, setUnfolded);
  const { field, shell, fieldProps } = useText({
    keptUnder,
    draftId: step.step_id,
    what: t("The reply"),
    minWords: step.min_words,
    maxChars: step.max_chars,
    pending,
    onText: (text) => onAnswer({ kind: "write", step_id: step.step_id, text }),
  });
  return (
    <>
      {step.cards.length > 0 && (
        <section className={`box soft ${styles.rejected}`} aria-labelledby="rejected-heading">
          <h2 id="rejected-heading">
            {step.cards.length === 1 ? t("The reply that you did not choose") : t("The replies that you did not choose")}
          </h2>
          <ul className="verbatim">
            {step.cards.map((card) => (
              <li key={card.candidate_id}>
                <Fold name={card.text.slice(0, 40)} {...foldOf(card.candidate_id)} paired>
                  <Reply said={card} />
                </Fold>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Dock>
        <StepShell shell={shell} label={t("The partner's reply, written by you")} look="line" first={field}>
          <TextField id="reply" label={step.label} keys={t("Press Enter to send, or Shift+Enter for a new line.")} {...fieldProps} />
          <StepFoot send={t("Send")} />
        </StepShell>
      </Dock>
    </>
  );
}
