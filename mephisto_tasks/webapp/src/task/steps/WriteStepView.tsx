import { useRef } from "react";
import type { WriteStep } from "../../wire/state";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { TextField } from "./TextField";
import { useTextAnswer } from "./useTextAnswer";
import styles from "./WriteStepView.module.css";

/** Write a better reply in the partner's place, with the replies that none was chosen of still to be seen. */
export function WriteStepView({ step, agentId, pending, onAnswer }: StepProps<WriteStep>) {
  const field = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  useFocusOnArrival(hasKeyboard() ? field : form);
  const { unready, send, fieldProps } = useTextAnswer({
    agentId,
    draftId: step.step_id,
    field,
    what: "The reply",
    minWords: step.min_words,
    maxChars: step.max_chars,
    pending,
    onText: (text) => onAnswer({ kind: "write", step_id: step.step_id, text }),
  });

  return (
    <>
      {step.cards.length > 0 && (
        <section className={styles.rejected} aria-labelledby="rejected-heading">
          <h2 id="rejected-heading">{step.cards.length === 1 ? "The reply that you did not choose" : "The replies that you did not choose"}</h2>
          <ul>
            {step.cards.map((card) => (
              <li key={card.candidate_id}>{card.text}</li>
            ))}
          </ul>
        </section>
      )}
      <StepForm label="The partner's reply, written by you" formRef={form} onSend={send}>
        <div className={styles.place}>
          <p className={styles.name}>Partner, in your words</p>
          <div className={styles.bubble}>
            <TextField id="reply" label={step.label} fieldRef={field} onEnter={send} {...fieldProps} />
            <StepFoot send="Send" unready={unready} pending={pending} keys="Enter sends, Shift+Enter starts a new line." />
          </div>
        </div>
      </StepForm>
    </>
  );
}
