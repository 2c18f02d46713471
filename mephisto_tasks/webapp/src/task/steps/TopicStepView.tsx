import { useRef } from "react";
import { t } from "../../language";
import type { TopicStep } from "../../wire/state";
import { useDraft } from "../useDraft";
import { choiceInputs, Choices } from "./Choices";
import { optionItems } from "./choice";
import { altChooses, keyRange } from "./keys";
import { StepFoot, type StepProps, StepShell, useShell } from "./StepShell";
import { TextField, textProblem } from "./TextField";
import styles from "./Steps.module.css";

/** Name what to talk about and, where it is asked, what one thinks of it. */
export function TopicStepView({ step, keptUnder, pending, onAnswer }: StepProps<TopicStep>) {
  const field = useRef<HTMLTextAreaElement>(null);
  const group = useRef<HTMLDivElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);

  const items = optionItems(step.opinions);
  const opinion = items.find((item) => item.id === draft.selected[0])?.id ?? "";
  const textLack = textProblem(draft.text, t("The topic"), 1, step.max_chars);
  const opinionLack = items.length > 0 && opinion === "" ? t("Choose an answer before you continue.") : null;
  const choose = (id: string) => change({ selected: [id] });
  const shell = useShell({
    pending,
    lack:
      textLack === null && opinionLack === null
        ? null
        : { where: "items", lead: () => (textLack === null ? choiceInputs(group.current)[0] : field.current)?.focus() },
    answer: () => onAnswer({ kind: "topic", step_id: step.step_id, text: draft.text, opinion }),
    onNumber: (number) => {
      const item = items[number - 1];
      if (item) {
        choose(item.id);
        choiceInputs(group.current)[number - 1]?.focus({ preventScroll: true });
      }
    },
    enter: false,
  });

  return (
    <StepShell shell={shell} label={t("Your topic")} look="panel" first={field}>
      <TextField
        id="topic"
        label={step.label}
        value={draft.text}
        onChange={(text) => change({ text })}
        minWords={1}
        maxChars={step.max_chars}
        problem={shell.said && textLack}
        fieldRef={field}
      />
      {items.length > 0 && (
        <div className={styles.opinion}>
          <h2 id="opinion" className="strong">{step.opinion_label}</h2>
          <Choices
            labelledBy="opinion"
            items={items}
            single
            choice={{ selected: opinion === "" ? [] : [opinion], none: false }}
            problem={shell.said && textLack === null ? opinionLack : null}
            groupRef={group}
            onItem={choose}
          />
        </div>
      )}
      <StepFoot
        keys={
          items.length > 0 && altChooses()
            ? t("Press {keys} to choose (plus Alt while typing), Enter to continue.", { keys: keyRange(items.length) })
            : t("Enter to continue.")
        }
      />
    </StepShell>
  );
}
