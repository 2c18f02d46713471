import { useRef } from "react";
import type { MessageStep } from "../../wire/state";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import { ActionButtons } from "./ActionButtons";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { Suggestions } from "./Suggestions";
import { TextField } from "./TextField";
import { useTextAnswer } from "./useTextAnswer";
import styles from "./Actions.module.css";

/** Write the next message, or do something else instead. */
export function MessageStepView({ step, agentId, pending, onAnswer }: StepProps<MessageStep>) {
  const field = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  useFocusOnArrival(hasKeyboard() ? field : form);
  const { text, setText, unready, send, fieldProps } = useTextAnswer({
    agentId,
    draftId: step.step_id,
    field,
    what: "Your message",
    minWords: step.min_words,
    maxChars: step.max_chars,
    pending,
    onText: (sent) => onAnswer({ kind: "message", step_id: step.step_id, text: sent }),
  });

  const actions = (group: string | null) => (
    <ActionButtons
      key={group}
      stepId={step.step_id}
      agentId={agentId}
      actions={step.actions.filter((action) => action.group === group)}
      pending={pending}
      onAction={(actionId, said) => onAnswer({ kind: "action", step_id: step.step_id, action_id: actionId, text: said })}
    />
  );
  const groups = [...new Set(step.actions.map((action) => action.group))].filter((group) => group !== null);
  const ungrouped = step.actions.some((action) => action.group === null);
  return (
    <>
      {groups.map((group, index) => (
        <div key={group} role="group" aria-labelledby={`group-${index}`} className={styles.group}>
          <h2 id={`group-${index}`}>{group}</h2>
          {actions(group)}
        </div>
      ))}
      <StepForm label="Your turn" look="composer" formRef={form} onSend={send}>
        <TextField id="message" label={step.label} fieldRef={field} onEnter={send} {...fieldProps} />
        <StepFoot send="Send" unready={unready} pending={pending} keys="Enter sends, Shift+Enter starts a new line." />
        {(ungrouped || step.suggestions.length > 0) && (
          <div className={styles.more}>
            {step.suggestions.length > 0 && (
              <Suggestions
                suggestions={step.suggestions}
                written={text}
                locked={pending}
                field={field}
                onChoose={setText}
              />
            )}
            {ungrouped && actions(null)}
          </div>
        )}
      </StepForm>
    </>
  );
}
