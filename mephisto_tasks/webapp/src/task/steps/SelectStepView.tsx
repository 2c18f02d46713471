import { useRef, useState } from "react";
import { MAX_TEXT } from "../../wire/answers";
import { useDraft } from "../useDraft";
import { choiceInputs, Choices } from "./Choices";
import {
  type Choice,
  howMany,
  isSingle,
  itemsOf,
  missing,
  noneLabel,
  type SelectStep,
  shownDraft,
  toggleItem,
  toggleNone,
} from "./choice";
import { JudgedReply } from "./JudgedReply";
import { Question } from "./Question";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { TextField } from "./TextField";
import { keyRange, useEnterKey, useNumberKeys } from "./useNumberKeys";
import styles from "./Steps.module.css";

/** Choose cards or tick options: one, any number, or explicitly none; and say why, where that is asked. */
export function SelectStepView({ step, agentId, pending, onAnswer }: StepProps<SelectStep>) {
  const group = useRef<HTMLDivElement>(null);
  const reason = useRef<HTMLTextAreaElement>(null);
  const [kept, change] = useDraft(agentId, step.step_id);
  const [tried, setTried] = useState(false);

  const draft = shownDraft(step, kept);
  const items = itemsOf(step);
  const none = noneLabel(step);
  const lack = missing(step, draft);
  const choose = (choice: Choice) => {
    if (!pending) {
      change(choice);
    }
  };
  useNumberKeys((number) => {
    const item = items[number - 1];
    if (item) {
      choose(toggleItem(step, draft, item.id));
    } else if (number === 0 && none !== null) {
      choose(toggleNone(step, draft));
    } else {
      return;
    }
    choiceInputs(group.current)[item ? number - 1 : items.length]?.focus({ preventScroll: true });
  });
  const send = () => {
    if (pending) {
      return;
    }
    if (lack !== null) {
      setTried(true);
      (lack.where === "reason" ? reason.current : choiceInputs(group.current)[0])?.focus();
      return;
    }
    const { selected } = draft;
    const said = { selected, none: selected.length === 0, reason: step.reason ? draft.text : "" };
    onAnswer({ kind: step.kind, step_id: step.step_id, ...said });
  };
  useEnterKey(send);

  const problem = tried ? lack : null;
  return (
    <>
      <Question text={step.question} detail={howMany(step)} />
      {step.kind === "tick" && step.reply !== null && <JudgedReply text={step.reply.text} />}
      <StepForm labelledBy="question" onSend={send}>
        <Choices
          labelledBy="question"
          items={items}
          none={none}
          single={isSingle(step)}
          look={step.kind === "choose" ? "cards" : "lines"}
          choice={draft}
          locked={pending}
          groupRef={group}
          problem={problem?.where === "items" ? problem.text : null}
          onItem={(id) => choose(toggleItem(step, draft, id))}
          onNone={() => choose(toggleNone(step, draft))}
          onEnter={send}
        />
        <div className={styles.below}>
          {step.reason !== null && (
            <TextField
              id="reason"
              label={step.reason.required ? step.reason.label : `${step.reason.label} (optional)`}
              value={draft.text}
              onChange={(text) => change({ text })}
              minWords={step.reason.required || draft.text.trim() !== "" ? step.reason.min_words : 0}
              maxChars={MAX_TEXT}
              problem={problem?.where === "reason" ? problem.text : null}
              readOnly={pending}
              fieldRef={reason}
              onEnter={send}
            />
          )}
          <StepFoot send="Continue" unready={lack !== null} pending={pending} keys={keyHint(step)} />
        </div>
      </StepForm>
    </>
  );
}

function keyHint(step: SelectStep): string {
  const none = noneLabel(step) === null ? "" : ", 0 for none";
  const typing = step.reason ? " (with Alt while you type)" : "";
  return `Press ${keyRange(itemsOf(step).length)} to choose${none}${typing}, Enter to continue.`;
}
