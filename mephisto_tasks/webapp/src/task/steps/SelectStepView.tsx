import { useEffect, useRef, useState } from "react";
import { t } from "../../language";
import { Dock, leadTo } from "../Dock";
import { Guide } from "../Guide";
import { replyPlaces } from "../JumpBar";
import { Reply } from "../Reply";
import { onceSettled, uncover } from "../scroll";
import { useDraft } from "../useDraft";
import { cardId, choiceInputs, Choices, problemId } from "./Choices";
import { areLong, howMany, isSingle, itemsOf, missing, noneLabel, type SelectStep, shownDraft, toggleItem, toggleNone } from "./choice";
import { useDifferences } from "./Differences";
import { Fold, folds } from "./Fold";
import { altChooses, keyRange } from "./keys";
import { Quote } from "./Pinned";
import { Question } from "./Question";
import { Reason } from "./Reason";
import { Problem, StepFoot, type StepProps, StepShell, useLeadOn, useShell } from "./StepShell";
import { YourChoice } from "./YourChoice";
import styles from "./Steps.module.css";

/** Of so many replies the first are out of sight at the last: the choice is said, and can be made, in the dock as well. */
const MANY = 5;

export interface SelectStepProps extends StepProps<SelectStep> {
  /** What is waited for while the replies grow, and nothing can be chosen; null once they are complete. */
  waiting?: string | null;
}

/** Choose cards or tick options: one, any number, or explicitly none; and say why, where that is asked. */
export function SelectStepView({ step, waiting = null, keptUnder, pending, onAnswer }: SelectStepProps) {
  const [came] = useState(waiting !== null);
  const complete = waiting === null;
  const group = useRef<HTMLDivElement>(null);
  const reason = useRef<HTMLTextAreaElement>(null);
  const [kept, change] = useDraft(keptUnder, step.step_id);
  const leadOn = useLeadOn();

  const draft = shownDraft(step, kept);
  const items = itemsOf(step);
  // Of a page that was loaded again it is what had been chosen.
  const [touched, setTouched] = useState(() => items.findIndex(({ id }) => draft.selected.includes(id)));
  const none = noneLabel(step);
  const lack = missing(step, draft);
  const replies = step.kind === "choose" ? step.cards : null;
  const judged = step.kind === "tick" ? step.reply : null;
  const long = replies !== null && areLong(replies);
  const { marks, button, note } = useDifferences(complete ? replies : null);
  const foldOf = folds(kept.open, (open) => change({ open }));
  const onItem = (id: string) => {
    change(toggleItem(step, draft, id));
    setTouched(items.findIndex((item) => item.id === id));
  };
  const onNone = () => change(toggleNone(step, draft));
  const onPressed = () => leadOn(() => reason.current);
  const { selected } = draft;
  const shell = useShell({
    pending,
    waiting,
    lack: lack && {
      where: lack.where,
      untouched: draft.text === "",
      lead: () => (lack.where === "reason" ? leadTo(reason.current) : choiceInputs(group.current)[0]?.focus()),
    },
    answer: () => onAnswer({ kind: step.kind, step_id: step.step_id, selected, none: selected.length === 0, reason: step.reason ? draft.text : "" }),
    onNumber: (number) => {
      const item = items[number - 1];
      if (item) {
        onItem(item.id);
      } else if (number === 0 && none !== null) {
        onNone();
      } else {
        return;
      }
      choiceInputs(group.current)[item ? number - 1 : items.length]?.focus({ preventScroll: true });
      // A reply that was never on the screen is read first. Of several, more may be chosen by the next number.
      if (!(item && replies && shell.hold(number - 1)) && isSingle(step)) {
        onPressed();
      }
    },
    writing: { field: reason, begun: draft.text !== "" },
  });

  const chosen = replies === null ? [] : items.filter(({ id }) => selected.includes(id));
  const problem = shell.said === "items" && lack ? lack.text : null;
  // Why is asked of a choice, and before there is one the place is free for what is read.
  const asksWhy = step.reason !== null && (lack?.where !== "items" || draft.text !== "");
  const grows = asksWhy && replies !== null;
  const grew = useRef(false);
  useEffect(() => {
    const now = grows && !grew.current;
    grew.current = grows;
    if (grows && touched >= 0) {
      // The dock has grown: not over the very reply that it asks about.
      return onceSettled(() => uncover(document.getElementById(cardId(touched)), now));
    }
  }, [grows, touched]);
  const choosing = { items, none, choice: draft, onItem, onNone, onPressed };
  const choices = (
    <Choices
      labelledBy="question"
      {...choosing}
      single={isSingle(step)}
      cards={replies && { long, marks, foldOf }}
      groupRef={group}
      problem={problem}
    />
  );
  return (
    <>
      <Question
        text={step.question}
        detail={howMany(step)}
        leadsBack={replies === null && judged === null}
        long={long || (judged !== null && areLong([judged]))}
        parts={long ? replyPlaces(items.map((_, index) => t("Reply {number}", { number: index + 1 })), cardId) : []}
        tool={button}
      />
      {judged !== null && (
        <figure className={styles.judged} aria-label={t("The reply to judge")} data-testid="judged-reply">
          <figcaption className="soft">{t("Partner")}</figcaption>
          <blockquote className="bubble">
            <Fold name={t("The reply to judge")} {...foldOf(judged.candidate_id)} judged>
              <Reply said={judged} />
            </Fold>
          </blockquote>
        </figure>
      )}
      <StepShell shell={shell} labelledBy="question" look="through" chosen={isSingle(step) && lack?.where !== "items"}>
        {note}
        {replies && choices}
        <Dock>
          {!replies && choices}
          {replies && problem !== null && <Problem id={problemId("question")}>{problem}</Problem>}
          {asksWhy && selected.length > 0 && <Guide at="reason" />}
          {asksWhy &&
            chosen.map((item) => (
              <Quote key={item.id} name={t("Reply {number}", { number: items.indexOf(item) + 1 })} said={item} brief={chosen.length > 1} />
            ))}
          {step.reason !== null && asksWhy && (
            <Reason asked={step.reason} text={draft.text} said={shell.said === "reason"} fieldRef={reason} onText={(text) => change({ text })} />
          )}
          <p role="status" className="visually-hidden">
            {came && complete && t("All replies are complete.")}
          </p>
          <div className={`cluster ${styles.bar}`} data-foot>
            {replies && (long || items.length >= MANY) && <YourChoice {...choosing} />}
            <StepFoot keys={keyHint(step)} />
          </div>
        </Dock>
      </StepShell>
    </>
  );
}

function keyHint(step: SelectStep): string {
  const keys = keyRange(itemsOf(step).length);
  const alt = step.reason !== null && altChooses();
  if (noneLabel(step) !== null) {
    return alt
      ? t("Keys: {keys}, 0 for none (plus Alt while typing), Enter to continue.", { keys })
      : t("Keys: {keys}, 0 for none, Enter to continue.", { keys });
  }
  return alt
    ? t("Keys: {keys} (plus Alt while typing), Enter to continue.", { keys })
    : t("Keys: {keys}, Enter to continue.", { keys });
}
