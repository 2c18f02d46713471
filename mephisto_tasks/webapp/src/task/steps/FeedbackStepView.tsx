import { useRef, useState } from "react";
import type { FeedbackStep } from "../../wire/state";
import { Button } from "../../ui/Button";
import { useFocusOnArrival } from "../focus";
import { useDraft } from "../useDraft";
import type { StepProps } from "./MessageStepView";
import { Sending } from "./Sending";
import { TextField, textProblem } from "./TextField";
import styles from "./Steps.module.css";

/** Free text at the end, which may be left empty. */
export function FeedbackStepView({ step, agentId, pending, onAnswer }: StepProps<FeedbackStep>) {
  const heading = useRef<HTMLHeadingElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const [draft, change] = useDraft(agentId, step.step_id);
  const [tried, setTried] = useState(false);
  useFocusOnArrival(heading);

  const problem = textProblem(draft.text, "Your feedback", 0, step.max_chars);
  const send = () => {
    if (pending) {
      return;
    }
    if (problem !== null) {
      setTried(true);
      field.current?.focus();
      return;
    }
    onAnswer({ kind: "feedback", step_id: step.step_id, text: draft.text });
  };

  return (
    <form
      className={`${styles.step} ${styles.panel}`}
      aria-labelledby="step-heading"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <h2 id="step-heading" ref={heading} tabIndex={-1} className={styles.heading}>
        One last thing
      </h2>
      <TextField
        id="feedback"
        label={step.label}
        value={draft.text}
        onChange={(text) => change({ text })}
        minWords={0}
        maxChars={step.max_chars}
        problem={tried ? problem : null}
        readOnly={pending}
        rows={4}
        fieldRef={field}
      />
      <div className={styles.foot}>
        <Button type="submit" unready={problem !== null} disabled={pending}>
          {pending ? "Sending…" : draft.text.trim() === "" ? "Finish without feedback" : "Send and finish"}
        </Button>
        <Sending pending={pending} />
      </div>
    </form>
  );
}
