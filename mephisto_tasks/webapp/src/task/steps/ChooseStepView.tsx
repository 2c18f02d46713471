import { useRef, useState } from "react";
import type { ChooseStep } from "../../wire/state";
import { MAX_TEXT } from "../../wire/answers";
import { Button } from "../../ui/Button";
import { useFocusOnArrival } from "../focus";
import { useDraft } from "../useDraft";
import { Cards } from "./Cards";
import { type Choice, howMany, missing, toggleCard, toggleNone } from "./choice";
import type { StepProps } from "./MessageStepView";
import { Sending } from "./Sending";
import { TextField } from "./TextField";
import { useNumberKeys } from "./useNumberKeys";
import styles from "./Steps.module.css";

const REASON_ID = "reason";

/** Choose one card, any number, or explicitly none, and say why. */
export function ChooseStepView({ step, agentId, pending, onAnswer }: StepProps<ChooseStep>) {
  const question = useRef<HTMLHeadingElement>(null);
  const cards = useRef<HTMLDivElement>(null);
  const reason = useRef<HTMLTextAreaElement>(null);
  const [draft, change] = useDraft(agentId, step.step_id);
  const [tried, setTried] = useState(false);
  useFocusOnArrival(question);

  const lack = missing(step, draft);
  const choose = (choice: Choice) => {
    if (!pending) {
      change(choice);
    }
  };
  useNumberKeys((number) => {
    const card = step.cards[number - 1];
    if (card) {
      choose(toggleCard(step, draft, card.candidate_id));
      inputs(cards.current)[number - 1]?.focus({ preventScroll: true });
    }
  });
  const send = () => {
    if (pending) {
      return;
    }
    if (lack !== null) {
      setTried(true);
      (lack.where === "reason" ? reason.current : inputs(cards.current)[0])?.focus();
      return;
    }
    onAnswer({ kind: "choose", step_id: step.step_id, selected: draft.selected, reason: step.reason ? draft.text : "" });
  };

  const problem = tried ? lack : null;
  const count = howMany(step);
  return (
    <>
      <div className={styles.question}>
        <h2 id="question" ref={question} tabIndex={-1}>
          {step.question}
        </h2>
        {count !== null && <p>{count}</p>}
      </div>
      <form
        className={styles.step}
        aria-labelledby="question"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Cards
          step={step}
          choice={draft}
          locked={pending}
          groupRef={cards}
          problem={problem?.where === "cards" ? problem.text : null}
          onCard={(id) => choose(toggleCard(step, draft, id))}
          onNone={() => choose(toggleNone(step, draft))}
          onEnter={send}
        />
        <div className={styles.below}>
          {step.reason !== null && (
            <TextField
              id={REASON_ID}
              label={step.reason.required ? step.reason.label : `${step.reason.label} (optional)`}
              value={draft.text}
              onChange={(text) => change({ text })}
              minWords={step.reason.min_words}
              maxChars={MAX_TEXT}
              problem={problem?.where === "reason" ? problem.text : null}
              readOnly={pending}
              fieldRef={reason}
              onEnter={send}
            />
          )}
          <div className={styles.foot}>
            <Button type="submit" unready={lack !== null} disabled={pending}>
              {pending ? "Sending…" : "Continue"}
            </Button>
            {!pending && <span className={styles.keys}>{keyHint(step)}</span>}
            <Sending pending={pending} />
          </div>
        </div>
      </form>
    </>
  );
}

function inputs(group: HTMLElement | null): HTMLInputElement[] {
  return Array.from(group?.querySelectorAll("input") ?? []);
}

function keyHint(step: ChooseStep): string {
  const last = Math.min(9, step.cards.length);
  const keys = last === 1 ? "1" : last === 2 ? "1 or 2" : `1 to ${last}`;
  const typing = step.reason ? " (with Alt while you type)" : "";
  return `Press ${keys} to choose${typing}, Enter to continue.`;
}
