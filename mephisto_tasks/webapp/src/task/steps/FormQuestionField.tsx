import type { Ref } from "react";
import { t } from "../../language";
import type { FormQuestion } from "../../wire/state";
import { Guide } from "../Guide";
import { OptionRow } from "./OptionRow";
import { Reason } from "./Reason";
import styles from "./Form.module.css";

/** The words below the form that say what is missing. */
export const MISSING_ID = "form-missing";

export interface FormQuestionFieldProps {
  question: FormQuestion;
  /** The stem of its ids. */
  id: string;
  /** Id of the words that ask; null: they stand here. */
  askedBy: string | null;
  picked: string | null;
  reason: string;
  /** Nothing is chosen, and the rater has tried to go on. */
  missing: boolean;
  /** What is wrong with the reason is said. */
  said: boolean;
  reasonRef: Ref<HTMLTextAreaElement> | undefined;
  onPick: (optionId: string) => void;
  /** A pointer has pressed an option. */
  onPressed: () => void;
  onReason: (text: string) => void;
}

/** One question, the options to choose from beside it, and why, where that is asked. */
export function FormQuestionField(props: FormQuestionFieldProps) {
  const { question, id, askedBy, picked, reason, missing, said, reasonRef, onPick, onPressed, onReason } = props;
  const asked = question.reason;
  const missingId = askedBy === null ? `${id}-missing` : MISSING_ID;
  return (
    <div className={styles.question} data-question={question.question_id} data-missing={missing ? "" : undefined}>
      <div className={askedBy === null ? `cluster ${styles.row}` : undefined}>
        {askedBy === null && (
          <p className={styles.text}>
            <span id={id}>{question.text}</span>{" "}
            {missing && (
              <span id={missingId} className={`wrong ${styles.missing}`}>
                {t("Not answered yet")}
              </span>
            )}
          </p>
        )}
        <OptionRow
          labelledBy={askedBy ?? id}
          describedBy={missing ? missingId : undefined}
          options={question.options.map((option) => ({ id: option.option_id, label: option.label }))}
          value={picked}
          onPick={onPick}
          onPressed={onPressed}
        />
      </div>
      {asked !== null && picked !== null && <Guide at="reason" />}
      {/* Why is asked of an answer: there is nothing to say of it before. */}
      {asked !== null && (picked !== null || reason !== "") && (
        <Reason asked={asked} id={`${id}-reason`} text={reason} said={said} fieldRef={reasonRef} onText={onReason} />
      )}
    </div>
  );
}
