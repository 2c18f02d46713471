import { useRef } from "react";
import { t } from "../../language";
import type { FormQuestion, FormStep } from "../../wire/state";
import { Dock, leadTo } from "../Dock";
import { useFocusOnArrival } from "../focus";
import { JumpBar, QUESTION_ID } from "../JumpBar";
import { useDraft } from "../useDraft";
import { askedReasons, groups, keyQuestion, missingWords, picked, reasonOf, unanswered } from "./form";
import { FormQuestionField, MISSING_ID } from "./FormQuestionField";
import { altChooses, keyRange } from "./keys";
import { Asked } from "./Question";
import { reasonProblem } from "./Reason";
import { focusedPart, inputsOf, Problem, StepFoot, type StepProps, StepShell, useLeadOn, useShell } from "./StepShell";
import styles from "./Form.module.css";

/** Several short questions at once, each with a few options in a row; a single one is the step's heading itself. */
export function FormStepView({ step, keptUnder, pending, onAnswer }: StepProps<FormStep>) {
  const list = useRef<HTMLDivElement>(null);
  const reason = useRef<HTMLTextAreaElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);
  const leadOn = useLeadOn();
  useFocusOnArrival(heading);

  const picks = picked(step, draft.picks);
  const open = unanswered(step, picks);
  const [firstOpen] = open;
  const badReason = step.questions.find((question) => reasonProblem(question.reason, reasonOf(question, draft.reasons)) !== null);
  const only = step.questions.length === 1 ? step.questions[0] : undefined;
  const grouped = groups(step.questions);
  const shown = grouped.flatMap(({ questions }) => questions);

  const pick = (question: FormQuestion, optionId: string) => change({ picks: { ...picks, [question.question_id]: optionId } });
  const focus = (question: FormQuestion, option = 0) => inputsOf(list.current, shown.indexOf(question))[option]?.focus();
  const fieldOf = (question: FormQuestion) => document.querySelector<HTMLTextAreaElement>(`#${idOf(question)}-reason`);
  const idOf = (question: FormQuestion) => `form-${step.questions.indexOf(question)}`;
  const shell = useShell({
    pending,
    lack: firstOpen
      ? { where: "items", lead: () => focus(firstOpen) }
      : badReason
        ? { where: "reason", untouched: reasonOf(badReason, draft.reasons) === "", lead: () => leadTo(fieldOf(badReason)) }
        : null,
    answer: () => onAnswer({ kind: "form", step_id: step.step_id, values: picks, reasons: askedReasons(step, draft.reasons) }),
    onNumber: (number) => {
      const question = keyQuestion(step, picks, shown[focusedPart(list.current)]);
      const option = question?.options[number - 1];
      if (question === undefined || option === undefined) {
        return;
      }
      pick(question, option.option_id);
      // A first answer leads on, so that one can go through the questions by numbers alone; a changed one does not.
      const isFirst = open.includes(question) && question.reason === null;
      const next = isFirst ? open.find((other) => other !== question) : undefined;
      if (next === undefined) {
        focus(question, number - 1);
        leadOn(() => fieldOf(question));
      } else {
        focus(next);
      }
    },
    writing: only === undefined ? null : { field: reason, begun: reasonOf(only, draft.reasons) !== "" },
  });

  const field = (question: FormQuestion) => {
    const id = question.question_id;
    return (
      <FormQuestionField
        key={id}
        id={idOf(question)}
        askedBy={only === undefined ? null : QUESTION_ID}
        question={question}
        picked={picks[id] ?? null}
        reason={reasonOf(question, draft.reasons)}
        missing={shell.said === "items" && open.includes(question)}
        said={shell.said === "reason"}
        onPick={(option) => pick(question, option)}
        onPressed={() => leadOn(() => fieldOf(question))}
        reasonRef={question === only ? reason : undefined}
        onReason={(text) => change({ reasons: { ...draft.reasons, [id]: text } })}
      />
    );
  };
  return (
    <>
      <JumpBar sticky />
      <Dock>
        <StepShell shell={shell} labelledBy={QUESTION_ID}>
          <Asked
            text={only === undefined ? t("Questions") : only.text}
            headingRef={heading}
            className={only === undefined ? "visually-hidden" : styles.heading}
          />
          <div ref={list} className={styles.groups}>
            {grouped.map(({ name, questions }, index) => (
              <div key={index} className={styles.group} {...(name === null ? {} : { role: "group", "aria-labelledby": `form-group-${index}` })}>
                {name !== null && <h3 id={`form-group-${index}`}>{name}</h3>}
                {questions.map(field)}
              </div>
            ))}
          </div>
          {shell.said === "items" && <Problem id={MISSING_ID}>{missingWords(step, open)}</Problem>}
          <StepFoot
            keys={keyHint(step)}
            note={only === undefined ? t("{answered} of {all} answered", { answered: step.questions.length - open.length, all: step.questions.length }) : undefined}
          />
        </StepShell>
      </Dock>
    </>
  );
}

function keyHint({ questions }: FormStep): string {
  const keys = keyRange(Math.max(...questions.map(({ options }) => options.length)));
  if (altChooses() && questions.some(({ reason }) => reason !== null)) {
    return t("Press {keys} to choose (plus Alt while typing), Enter to continue.", { keys });
  }
  return questions.length > 1
    ? t("Press {keys} to answer each question, Enter to continue.", { keys })
    : t("Press {keys} to choose, Enter to continue.", { keys });
}
