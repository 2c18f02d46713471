import { useRef } from "react";
import { t } from "../../language";
import type { RateStep, Scale } from "../../wire/state";
import { useDraft } from "../useDraft";
import { Question } from "./Question";
import { firstUnanswered, known, points } from "./rating";
import { ScaleField } from "./ScaleField";
import { focusedPart, inputsOf, StepFoot, type StepProps, StepShell, useShell } from "./StepShell";
import styles from "./Rate.module.css";

/** Rate every statement: on sliders that have no position until they are touched, or on points. */
export function RateStepView({ step, keptUnder, pending, onAnswer }: StepProps<RateStep>) {
  const list = useRef<HTMLDivElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);

  const values = known(step, draft.values);
  const open = firstUnanswered(step, values);
  const firstOpen = open === null ? -1 : step.scales.indexOf(open);
  const put = (scale: Scale, value: number) => change({ values: { ...values, [scale.scale_id]: value } });
  const shell = useShell({
    pending,
    lack: open && { where: "items", lead: () => inputsOf(list.current, firstOpen)[0]?.focus() },
    answer: () => onAnswer({ kind: "rate", step_id: step.step_id, values }),
    onNumber: (number) => {
      const focused = focusedPart(list.current);
      const index = focused < 0 ? firstOpen : focused;
      const scale = step.scales[index];
      if (scale?.style === "points" && number >= scale.minimum && number <= scale.maximum) {
        put(scale, number);
        inputsOf(list.current, index)[points(scale).indexOf(number)]?.focus();
      }
    },
  });

  return (
    <>
      <Question text={step.question} leadsBack />
      <StepShell shell={shell} labelledBy="question" look="panel">
        <p className="soft">{howTo(step)}</p>
        <div ref={list}>
          {step.scales.map((scale, index) => (
            <ScaleField
              key={scale.scale_id}
              scale={scale}
              index={index}
              value={values[scale.scale_id] ?? null}
              problem={shell.said && scale === open ? t("You have not answered this question yet.") : null}
              onChange={(value) => put(scale, value)}
            />
          ))}
        </div>
        <p role="status" className={`soft ${styles.count}`}>
          {t("{answered} of {all} answered", { answered: Object.keys(values).length, all: step.scales.length })}
        </p>
        <StepFoot />
      </StepShell>
    </>
  );
}

function howTo(step: RateStep): string {
  const slider = step.scales.some((scale) => scale.style === "slider");
  const point = step.scales.some((scale) => scale.style === "points");
  if (slider && point) {
    return t("Mark your answer on each line. If there is a list of answers, choose one.");
  }
  return slider ? t("Mark your answer on each line; you can move the mark afterwards.") : t("Choose one answer for each.");
}
