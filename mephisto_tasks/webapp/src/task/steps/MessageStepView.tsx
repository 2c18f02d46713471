import { useRef, useState } from "react";
import type { AnswerBody } from "../../wire/answers";
import type { MessageStep } from "../../wire/state";
import { Button } from "../../ui/Button";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import { useDraft } from "../useDraft";
import { Sending } from "./Sending";
import { TextField, textProblem } from "./TextField";
import styles from "./Steps.module.css";

export interface StepProps<S> {
  step: S;
  agentId: string;
  /** The answer is on its way: nothing may be changed or sent twice. */
  pending: boolean;
  onAnswer: (body: AnswerBody) => void;
}

/** Write the next message. */
export function MessageStepView({ step, agentId, pending, onAnswer }: StepProps<MessageStep>) {
  const field = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const [draft, change] = useDraft(agentId, step.step_id);
  const [tried, setTried] = useState(false);
  useFocusOnArrival(hasKeyboard() ? field : form);

  const problem = textProblem(draft.text, "Your message", step.min_words, step.max_chars);
  const send = () => {
    if (pending) {
      return;
    }
    if (problem !== null) {
      setTried(true);
      field.current?.focus();
      return;
    }
    onAnswer({ kind: "message", step_id: step.step_id, text: draft.text });
  };

  return (
    <form
      ref={form}
      tabIndex={-1}
      aria-label="Your turn"
      className={`${styles.step} ${styles.composer}`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextField
        id="message"
        label={step.label}
        value={draft.text}
        onChange={(text) => change({ text })}
        minWords={step.min_words}
        maxChars={step.max_chars}
        problem={tried ? problem : null}
        readOnly={pending}
        fieldRef={field}
        onEnter={send}
      />
      <div className={styles.foot}>
        <Button type="submit" unready={problem !== null} disabled={pending}>
          {pending ? "Sending…" : "Send"}
        </Button>
        {!pending && <span className={styles.keys}>Enter sends, Shift+Enter starts a new line.</span>}
        <Sending pending={pending} />
      </div>
    </form>
  );
}
