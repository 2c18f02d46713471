import { useRef, useState } from "react";
import { t } from "../../language";
import type { TopicStep } from "../../wire/state";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import { useDraft } from "../useDraft";
import { choiceInputs, Choices } from "./Choices";
import { optionItems } from "./choice";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { TextField, textProblem } from "./TextField";
import { altChooses, keyRange, useNumberKeys } from "./keys";
import styles from "./Steps.module.css";

/** Name what to talk about and, where it is asked, what one thinks of it. */
export function TopicStepView({ step, keptUnder, pending, onAnswer }: StepProps<TopicStep>) {
  const field = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const group = useRef<HTMLDivElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);
  const [tried, setTried] = useState(false);
  useFocusOnArrival(hasKeyboard() ? field : form);

  const items = optionItems(step.opinions);
  const opinion = items.find((item) => item.id === draft.selected[0])?.id ?? "";
  const textLack = textProblem(draft.text, t("The topic"), 1, step.max_chars);
  const opinionLack = items.length > 0 && opinion === "" ? t("Choose an answer before you go on.") : null;
  const choose = (id: string) => {
    if (!pending) {
      change({ selected: [id] });
    }
  };
  useNumberKeys((number) => {
    const item = items[number - 1];
    if (item) {
      choose(item.id);
      choiceInputs(group.current)[number - 1]?.focus({ preventScroll: true });
    }
  });
  const send = () => {
    if (pending) {
      return;
    }
    if (textLack !== null || opinionLack !== null) {
      setTried(true);
      (textLack === null ? choiceInputs(group.current)[0] : field.current)?.focus();
      return;
    }
    onAnswer({ kind: "topic", step_id: step.step_id, text: draft.text, opinion });
  };

  return (
    <StepForm label={t("Your topic")} look="panel" formRef={form} onSend={send}>
      <TextField
        id="topic"
        label={step.label}
        value={draft.text}
        onChange={(text) => change({ text })}
        minWords={1}
        maxChars={step.max_chars}
        problem={tried ? textLack : null}
        readOnly={pending}
        fieldRef={field}
        onSend={send}
      />
      {items.length > 0 && (
        <div className={styles.opinion}>
          <h2 id="opinion">{step.opinion_label}</h2>
          <Choices
            labelledBy="opinion"
            items={items}
            none={null}
            single
            cards={null}
            choice={{ selected: opinion === "" ? [] : [opinion], none: false }}
            locked={pending}
            problem={tried && textLack === null ? opinionLack : null}
            groupRef={group}
            onItem={choose}
            onNone={() => undefined}
            onSend={send}
          />
        </div>
      )}
      <StepFoot
        send={t("Continue")}
        unready={textLack !== null || opinionLack !== null}
        pending={pending}
        keys={
          items.length > 0 && altChooses()
            ? t("Press {keys} to choose (with Alt while you type), Enter to continue.", { keys: keyRange(items.length) })
            : t("Enter to continue.")
        }
      />
    </StepForm>
  );
}
