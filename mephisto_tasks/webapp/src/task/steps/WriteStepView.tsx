import { useRef, useState } from "react";
import { t } from "../../language";
import type { WriteStep } from "../../wire/state";
import { Dock } from "../Dock";
import { Reply } from "../Reply";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import { Fold } from "./Fold";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { TextField } from "./TextField";
import { useTextAnswer } from "./useTextAnswer";
import styles from "./WriteStepView.module.css";

/** Write a better reply in the partner's place, with the replies that none was chosen of still to be seen. */
export function WriteStepView({ step, keptUnder, pending, onAnswer }: StepProps<WriteStep>) {
  const field = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const [unfolded, setUnfolded] = useState<readonly string[]>([]);
  useFocusOnArrival(hasKeyboard() ? field : form);
  const { unready, send, fieldProps } = useTextAnswer({
    keptUnder,
    draftId: step.step_id,
    field,
    what: t("The reply"),
    minWords: step.min_words,
    maxChars: step.max_chars,
    pending,
    onText: (text) => onAnswer({ kind: "write", step_id: step.step_id, text }),
  });

  return (
    <>
      {step.cards.length > 0 && (
        <section className={styles.rejected} aria-labelledby="rejected-heading">
          <h2 id="rejected-heading">
            {step.cards.length === 1 ? t("The reply that you did not choose") : t("The replies that you did not choose")}
          </h2>
          <ul>
            {step.cards.map((card) => (
              <li key={card.candidate_id}>
                <Fold name={card.text.slice(0, 40)} open={unfolded.includes(card.candidate_id)} onOpen={(open) => setUnfolded(open ? [...unfolded, card.candidate_id] : unfolded.filter((id) => id !== card.candidate_id))} paired>
                  <Reply said={card} />
                </Fold>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Dock>
        <StepForm label={t("The partner's reply, written by you")} look="line" formRef={form} onSend={send}>
          <TextField
            id="reply"
            label={step.label}
            keys={t("Enter sends, Shift+Enter starts a new line.")}
            fieldRef={field}
            onSend={send}
            {...fieldProps}
          />
          <StepFoot send={t("Send")} unready={unready} pending={pending} />
        </StepForm>
      </Dock>
    </>
  );
}
