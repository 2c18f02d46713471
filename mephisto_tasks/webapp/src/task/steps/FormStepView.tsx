import { useEffect, useRef, useState } from "react";
import { t } from "../../language";
import type { FormQuestion, FormStep } from "../../wire/state";
import { Dock, leadTo } from "../Dock";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import { JumpBar, QUESTION_ID } from "../JumpBar";
import { useDraft } from "../useDraft";
import { useBothRead } from "./BothRead";
import { askedReasons, groups, keyQuestion, missingWords, picked, reasonOf, reasonProblem, unanswered } from "./form";
import { FormQuestionField, MISSING_ID } from "./FormQuestionField";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { useComplaint } from "./useComplaint";
import { altChooses, keyRange, useEnterKey, useNumberKeys } from "./keys";
import styles from "./Form.module.css";

/** Several short questions at once, each with a few options in a row; a single one is the step's heading itself. */
export function FormStepView({ step, keptUnder, pending, onAnswer }: StepProps<FormStep>) {
  const list = useRef<HTMLDivElement>(null);
  const reason = useRef<HTMLTextAreaElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);
  const [complaint, complain] = useComplaint();
  /** The question that was answered by a press last, to which a reason is to be given. */
  const [pressed, setPressed] = useState<{ question: FormQuestion } | null>(null);
  useFocusOnArrival(heading);
  const bothRead = useBothRead();

  const picks = picked(step, draft.picks);
  const open = unanswered(step, picks);
  const badReason = step.questions.find((question) => reasonProblem(question, draft.reasons) !== null);
  const only = step.questions.length === 1 ? step.questions[0] : undefined;

  const pick = (question: FormQuestion, optionId: string) => {
    if (!pending) {
      change({ picks: { ...picks, [question.question_id]: optionId } });
    }
  };
  useEffect(() => {
    if (pressed !== null && hasKeyboard()) {
      leadTo(reasonField(list.current, pressed.question));
    }
  }, [pressed]);
  const focus = (question: FormQuestion, option = 0) => radios(list.current, question)[option]?.focus();
  useNumberKeys((number) => {
    const question = keyQuestion(step, picks, focusedQuestion(list.current));
    const option = question?.options[number - 1];
    if (question === undefined || option === undefined || pending) {
      return;
    }
    pick(question, option.option_id);
    // A first answer leads on, so that one can go through the questions by numbers alone; a changed one does not.
    const isFirst = open.includes(question) && question.reason === null;
    const next = isFirst ? open.find((other) => other !== question) : undefined;
    if (next === undefined) {
      focus(question, number - 1);
      setPressed({ question });
    } else {
      focus(next);
    }
  }, only === undefined ? null : { field: reason, begun: reasonOf(only, draft.reasons) !== "" });
  const send = () => {
    if (pending) {
      return;
    }
    const [first] = open;
    if (first !== undefined || badReason !== undefined) {
      if (first !== undefined) {
        complain("items", false);
        focus(first);
      } else if (badReason !== undefined) {
        complain("reason", reasonOf(badReason, draft.reasons) === "");
        leadTo(reasonField(list.current, badReason));
      }
      return;
    }
    if (bothRead.hold()) {
      return;
    }
    const reasons = askedReasons(step, draft.reasons);
    onAnswer({ kind: "form", step_id: step.step_id, values: picks, reasons });
  };
  useEnterKey(send);

  const field = (question: FormQuestion) => {
    const id = question.question_id;
    return (
      <FormQuestionField
        key={id}
        id={`form-${step.questions.indexOf(question)}`}
        askedBy={only === undefined ? null : QUESTION_ID}
        question={question}
        picked={picks[id] ?? null}
        reason={reasonOf(question, draft.reasons)}
        missing={complaint === "items" && open.includes(question)}
        reasonProblem={complaint === "reason" && open.length === 0 ? reasonProblem(question, draft.reasons) : null}
        locked={pending}
        onPick={(option) => pick(question, option)}
        onPressed={() => setPressed({ question })}
        reasonRef={question === only ? reason : undefined}
        onReason={(text) => change({ reasons: { ...draft.reasons, [id]: text } })}
        onSend={send}
      />
    );
  };
  return (
    <>
      <JumpBar sticky />
      <Dock>
        <StepForm labelledBy={QUESTION_ID} onSend={send}>
          <h2 id={QUESTION_ID} ref={heading} tabIndex={-1} className={only === undefined ? "visually-hidden" : styles.heading}>
            {only === undefined ? t("Questions") : only.text}
          </h2>
          <div ref={list} className={styles.groups}>
            {groups(step.questions).map(({ name, questions }, index) =>
              name === null ? (
                <div key={index} className={styles.group}>
                  {questions.map(field)}
                </div>
              ) : (
                <div key={index} className={styles.group} role="group" aria-labelledby={`form-group-${index}`}>
                  <h3 id={`form-group-${index}`}>{name}</h3>
                  {questions.map(field)}
                </div>
              ),
            )}
          </div>
          {complaint === "items" && open.length > 0 && (
            <p role="alert" id={MISSING_ID} className={styles.problem}>
              {missingWords(step, open)}
            </p>
          )}
          {bothRead.words}
          <StepFoot
            send={t("Continue")}
            unready={open.length > 0 || badReason !== undefined}
            pending={pending}
            keys={keyHint(step)}
            note={only === undefined ? t("{answered} of {all} answered", { answered: step.questions.length - open.length, all: step.questions.length }) : undefined}
          />
        </StepForm>
      </Dock>
    </>
  );
}

/** Which question has the focus, by its id; null when none has. */
function focusedQuestion(list: HTMLElement | null): string | null {
  const question = document.activeElement?.closest<HTMLElement>("[data-question]");
  return question && list?.contains(question) ? (question.dataset.question ?? null) : null;
}

function fieldOf(list: HTMLElement | null, question: FormQuestion): HTMLElement | undefined {
  const all = Array.from(list?.querySelectorAll<HTMLElement>("[data-question]") ?? []);
  return all.find((element) => element.dataset.question === question.question_id);
}

function radios(list: HTMLElement | null, question: FormQuestion): HTMLInputElement[] {
  return Array.from(fieldOf(list, question)?.querySelectorAll("input") ?? []);
}

function reasonField(list: HTMLElement | null, question: FormQuestion): HTMLTextAreaElement | null {
  return fieldOf(list, question)?.querySelector("textarea") ?? null;
}

function keyHint({ questions }: FormStep): string {
  const keys = keyRange(Math.max(...questions.map(({ options }) => options.length)));
  if (altChooses() && questions.some(({ reason }) => reason !== null)) {
    return t("Press {keys} to choose (with Alt while you type), Enter to continue.", { keys });
  }
  return questions.length > 1
    ? t("Press {keys} to choose in each question, Enter to continue.", { keys })
    : t("Press {keys} to choose, Enter to continue.", { keys });
}
