import type { ReactNode, Ref } from "react";
import { t } from "../../language";
import { Button } from "../../ui/Button";
import { FormGuide, Guide } from "../Guide";
import { Sending } from "./Sending";
import styles from "./Steps.module.css";

export interface StepFormProps {
  /** Id of the heading that names the form; else `label` does. */
  labelledBy?: string;
  label?: string;
  /**
   * `panel`: a card of its own. `line`: a text field with its button beside it. `through`: what stands in it is laid out as
   * if there was no form.
   */
  look?: "plain" | "panel" | "line" | "through";
  formRef?: Ref<HTMLFormElement>;
  onSend: () => void;
  children: ReactNode;
}

/** The form around a step. The page itself says what is missing, and where. */
export function StepForm({ labelledBy, label, look = "plain", formRef, onSend, children }: StepFormProps) {
  return (
    <form
      ref={formRef}
      tabIndex={-1}
      aria-label={label}
      aria-labelledby={labelledBy}
      className={look === "plain" ? styles.step : `${styles.step} ${styles[look]}`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <FormGuide />
      {children}
    </form>
  );
}

export interface StepFootProps {
  /** The words of the button that sends the step. */
  send: string;
  /** Something is still missing; pressing says what. */
  unready: boolean;
  pending: boolean;
  /** Which keys do what; shown where there is a keyboard. */
  keys?: string;
  /** How far one is, read aloud when it changes. */
  note?: string | undefined;
}

/** The button at the end of a step, and whether the answer is on its way. */
export function StepFoot({ send, unready, pending, keys, note }: StepFootProps) {
  return (
    <div className={styles.foot}>
      <Button type="submit" unready={unready} disabled={pending}>
        {pending ? t("Sending…") : send}
      </Button>
      {!unready && !pending && <Guide at="send" />}
      {keys !== undefined && !pending && <span className={styles.keys}>{keys}</span>}
      {note !== undefined && (
        <p role="status" className={styles.note}>
          {note}
        </p>
      )}
      <Sending pending={pending} />
    </div>
  );
}
