import { useRef } from "react";
import { t } from "../../language";
import { MAX_TEXT } from "../../wire/answers";
import { actionDraft } from "../../wire/drafts";
import type { Action } from "../../wire/state";
import { Button } from "../../ui/Button";
import { Modal } from "../../ui/Modal";
import { TextField } from "./TextField";
import { useTextAnswer } from "./useTextAnswer";
import styles from "./Actions.module.css";

export interface ActionDialogProps {
  keptUnder: string;
  stepId: string;
  action: Action;
  onClose: () => void;
  onDone: (text: string) => void;
}

/** Asks for an action's text, or whether it is meant, or both. What was typed is still there when it opens again. */
export function ActionDialog({ keptUnder, stepId, action, onClose, onDone }: ActionDialogProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const meant = useRef<HTMLButtonElement>(null);
  const asksText = action.text_label !== null;
  const { unready, send, fieldProps } = useTextAnswer({
    keptUnder,
    draftId: actionDraft(stepId, action.action_id),
    field,
    what: t("This field"),
    minWords: asksText ? 1 : 0,
    maxChars: MAX_TEXT,
    pending: false,
    onText: (text) => onDone(asksText ? text : ""),
  });
  return (
    <Modal
      title={action.label}
      open
      onClose={onClose}
      closeLabel={t("Close")}
      initialFocus={asksText ? field : meant}
      foot={
        <>
          <Button look="quiet" onClick={onClose}>
            {t("Cancel")}
          </Button>
          <Button buttonRef={meant} unready={unready} onClick={send}>
            {asksText ? t("Save") : action.label}
          </Button>
        </>
      }
    >
      <div className={styles.dialog}>
        {action.confirm !== null && <p>{action.confirm}</p>}
        {action.text_label !== null && (
          <TextField id="action-text" label={action.text_label} fieldRef={field} onSend={send} {...fieldProps} />
        )}
      </div>
    </Modal>
  );
}
