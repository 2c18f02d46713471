import { useEffect, useMemo, useRef, useState } from "react";
import { t } from "../../language";
import { MAX_TEXT } from "../../wire/answers";
import { differences } from "../differences";
import { Dock, leadTo } from "../Dock";
import { hasKeyboard } from "../focus";
import { Guide } from "../Guide";
import { replyPlaces } from "../JumpBar";
import { uncover } from "../scroll";
import { useDraft } from "../useDraft";
import { useBothRead } from "./BothRead";
import { cardId, choiceInputs, Choices, problemId } from "./Choices";
import {
  areLong,
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
import { Differences } from "./Differences";
import { JudgedReply } from "./JudgedReply";
import { altChooses, keyRange, useEnterKey, useNumberKeys } from "./keys";
import { Quote } from "./Pinned";
import { Question } from "./Question";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { TextField } from "./TextField";
import { useComplaint } from "./useComplaint";
import { YourChoice } from "./YourChoice";
import styles from "./Steps.module.css";

/** Of so many replies the first are out of sight at the last: the choice is said, and can be made, in the dock as well. */
const MANY = 5;

/** Choose cards or tick options: one, any number, or explicitly none; and say why, where that is asked. */
export function SelectStepView({ step, keptUnder, pending, onAnswer }: StepProps<SelectStep>) {
  const group = useRef<HTMLDivElement>(null);
  const reason = useRef<HTMLTextAreaElement>(null);
  const [kept, change] = useDraft(keptUnder, step.step_id);
  const [complaint, complain] = useComplaint();
  const [comparing, setComparing] = useState(false);
  const [touched, setTouched] = useState<number | null>(null);
  /** Grows with every press that leads on to the reason. */
  const [pressed, setPressed] = useState(0);

  const bothRead = useBothRead();
  const draft = shownDraft(step, kept);
  const items = itemsOf(step);
  const none = noneLabel(step);
  const lack = missing(step, draft);
  const isChoose = step.kind === "choose";
  const long = isChoose && areLong(step.cards);
  const judgesLong = step.kind === "tick" && step.reply !== null && areLong([step.reply]);
  const marks = useMemo(() => (comparing && step.kind === "choose" ? differences(step.cards) : null), [comparing, step]);
  const choose = (choice: Choice) => {
    if (!pending) {
      change(choice);
    }
  };
  const onItem = (id: string) => {
    choose(toggleItem(step, draft, id));
    setTouched(items.findIndex((item) => item.id === id));
  };
  const onOpen = (id: string, open: boolean) => change({ open: open ? [...kept.open, id] : kept.open.filter((other) => other !== id) });
  const foldOf = (id: string) => ({ open: kept.open.includes(id), onOpen: (open: boolean) => onOpen(id, open) });
  const onNone = () => choose(toggleNone(step, draft));
  const onPressed = () => setPressed((times) => times + 1);
  useNumberKeys((number) => {
    const item = items[number - 1];
    if (item) {
      onItem(item.id);
    } else if (number === 0 && none !== null) {
      onNone();
    } else {
      return;
    }
    choiceInputs(group.current)[item ? number - 1 : items.length]?.focus({ preventScroll: true });
    // Of several, more may be chosen by the next number.
    if (isSingle(step)) {
      onPressed();
    }
  }, { field: reason, begun: draft.text !== "" });
  const send = () => {
    if (pending) {
      return;
    }
    if (lack !== null) {
      complain(lack.where, draft.text === "");
      if (lack.where === "reason") {
        leadTo(reason.current);
      } else {
        choiceInputs(group.current)[0]?.focus();
      }
      return;
    }
    if (bothRead.hold()) {
      return;
    }
    const { selected } = draft;
    const said = { selected, none: selected.length === 0, reason: step.reason ? draft.text : "" };
    onAnswer({ kind: step.kind, step_id: step.step_id, ...said });
  };
  useEnterKey(send);

  const chosen = isChoose ? items.find(({ id }) => draft.selected.includes(id)) : undefined;
  const problem = lack?.where === complaint ? lack : null;
  // Why is asked of a choice, and before there is one the place is free for what is read.
  const asksWhy = step.reason !== null && (lack?.where !== "items" || draft.text !== "");
  useEffect(() => {
    // Arrow keys go on from reply to reply; a number or a pointer has chosen. A keyboard on the screen is not called up.
    if (pressed > 0 && hasKeyboard()) {
      leadTo(reason.current);
    }
  }, [pressed]);
  useEffect(() => {
    if (asksWhy && isChoose && touched !== null) {
      // The dock has grown: not over the very reply that it asks about. Its height is known at the end of the next frame.
      let frame = requestAnimationFrame(() => {
        frame = requestAnimationFrame(() => uncover(document.getElementById(cardId(touched))));
      });
      return () => cancelAnimationFrame(frame);
    }
  }, [asksWhy, isChoose, touched]);
  const choices = (
    <Choices
      labelledBy="question"
      items={items}
      none={none}
      single={isSingle(step)}
      cards={
        isChoose
          ? {
              long,
              marks,
              open: kept.open,
              onOpen,
            }
          : null
      }
      choice={draft}
      locked={pending}
      groupRef={group}
      problem={problem?.where === "items" ? problem.text : null}
      onItem={onItem}
      onNone={onNone}
      onPressed={onPressed}
      onSend={send}
    />
  );
  return (
    <>
      <Question
        text={step.question}
        detail={howMany(step)}
        leadsBack={!isChoose && step.reply === null}
        long={long || judgesLong}
        many={isChoose && items.length > 3}
        parts={long ? replyPlaces(items.map((_, index) => t("Reply {number}", { number: index + 1 })), cardId) : []}
      />
      {step.kind === "tick" && step.reply !== null && <JudgedReply said={step.reply} {...foldOf(step.reply.candidate_id)} />}
      <StepForm labelledBy="question" look="through" onSend={send}>
        {long && items.length > 1 && <Differences shown={comparing} marks={marks} onShow={setComparing} />}
        {isChoose && choices}
        <Dock>
          {!isChoose && choices}
          {isChoose && problem?.where === "items" && (
            <p role="alert" id={problemId("question")} className={styles.problem}>
              {problem.text}
            </p>
          )}
          {asksWhy && draft.selected.length > 0 && <Guide at="reason" />}
          {asksWhy && chosen !== undefined && <Quote name={t("Reply {number}", { number: items.indexOf(chosen) + 1 })} said={chosen} />}
          {step.reason !== null && asksWhy && (
            <TextField
              id="reason"
              label={step.reason.required ? step.reason.label : t("{label} (optional)", { label: step.reason.label })}
              value={draft.text}
              onChange={(text) => change({ text })}
              minWords={step.reason.required || draft.text.trim() !== "" ? step.reason.min_words : 0}
              maxChars={MAX_TEXT}
              problem={problem?.where === "reason" ? problem.text : null}
              readOnly={pending}
              fieldRef={reason}
              onSend={send}
            />
          )}
          {bothRead.words}
          <div className={styles.bar}>
            {isChoose && (long || items.length >= MANY) && (
              <YourChoice items={items} none={none} choice={draft} locked={pending} onItem={onItem} onNone={onNone} onPressed={onPressed} />
            )}
            <StepFoot send={t("Continue")} unready={lack !== null} pending={pending} keys={keyHint(step)} />
          </div>
        </Dock>
      </StepForm>
    </>
  );
}

function keyHint(step: SelectStep): string {
  const keys = keyRange(itemsOf(step).length);
  const alt = step.reason !== null && altChooses();
  if (noneLabel(step) !== null) {
    return alt
      ? t("Keys: {keys}, 0 for none (with Alt while you type), Enter to continue.", { keys })
      : t("Keys: {keys}, 0 for none, Enter to continue.", { keys });
  }
  return alt
    ? t("Keys: {keys} (with Alt while you type), Enter to continue.", { keys })
    : t("Keys: {keys}, Enter to continue.", { keys });
}
