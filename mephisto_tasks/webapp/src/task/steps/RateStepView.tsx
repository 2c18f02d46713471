import { useRef, useState } from "react";
import { t } from "../../language";
import type { RateStep, Scale } from "../../wire/state";
import { useDraft } from "../useDraft";
import { Question } from "./Question";
import { firstUnanswered, known, points } from "./rating";
import { ScaleField } from "./ScaleField";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { useEnterKey, useNumberKeys } from "./keys";
import styles from "./Rate.module.css";

/** Rate every statement: on sliders that have no position until they are touched, or on points. */
export function RateStepView({ step, keptUnder, pending, onAnswer }: StepProps<RateStep>) {
  const list = useRef<HTMLDivElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);
  const [tried, setTried] = useState(false);

  const values = known(step, draft.values);
  const open = firstUnanswered(step, values);
  const put = (scale: Scale, value: number) => {
    if (!pending) {
      change({ values: { ...values, [scale.scale_id]: value } });
    }
  };
  useNumberKeys((number) => {
    const index = focusedScale(list.current) ?? (open === null ? -1 : step.scales.indexOf(open));
    const scale = step.scales[index];
    if (scale?.style === "points" && number >= scale.minimum && number <= scale.maximum) {
      put(scale, number);
      inputs(list.current, index)[points(scale).indexOf(number)]?.focus();
    }
  });
  const send = () => {
    if (pending) {
      return;
    }
    if (open !== null) {
      setTried(true);
      inputs(list.current, step.scales.indexOf(open))[0]?.focus();
      return;
    }
    onAnswer({ kind: "rate", step_id: step.step_id, values });
  };
  useEnterKey(send);

  return (
    <>
      <Question text={step.question} detail={null} leadsBack />
      <StepForm labelledBy="question" look="panel" onSend={send}>
        <p className={styles.how}>{howTo(step)}</p>
        <div ref={list}>
          {step.scales.map((scale, index) => (
            <ScaleField
              key={scale.scale_id}
              scale={scale}
              index={index}
              value={values[scale.scale_id] ?? null}
              locked={pending}
              problem={tried && scale === open ? t("This one is not answered yet.") : null}
              onChange={(value) => put(scale, value)}
              onSend={send}
            />
          ))}
        </div>
        <p role="status" className={styles.count}>
          {t("{answered} of {all} answered", { answered: Object.keys(values).length, all: step.scales.length })}
        </p>
        <StepFoot send={t("Continue")} unready={open !== null} pending={pending} />
      </StepForm>
    </>
  );
}

/** Which scale has the focus, by its place; null when none has. */
function focusedScale(list: HTMLElement | null): number | null {
  const scale = document.activeElement?.closest<HTMLElement>("[data-scale]");
  return scale && list?.contains(scale) ? Number(scale.dataset.scale) : null;
}

function inputs(list: HTMLElement | null, index: number): HTMLInputElement[] {
  return Array.from(list?.querySelectorAll<HTMLInputElement>(`[data-scale="${index}"] input`) ?? []);
}

function howTo(step: RateStep): string {
  const slider = step.scales.some((scale) => scale.style === "slider");
  const point = step.scales.some((scale) => scale.style === "points");
  if (slider && point) {
    return t("Press each line where your answer lies, and choose one answer where there are several.");
  }
  return slider ? t("Press each line where your answer lies; you can move it afterwards.") : t("Choose one answer for each.");
}
