import { useRef } from "react";
import { t } from "../../language";
import { type Action, MAX_TEXT } from "../../wire/state";
import { actionDraft } from "../../wire/drafts";
import { Button } from "../../ui/Button";
import { Modal } from "../../ui/Modal";
import { Shelled } from "./StepShell";
import { TextField } from "./TextField";
import { useText } from "./useText";
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
  const meant = useRef<HTMLButtonElement>(null);
  const asksText = action.text_label !== null;
  const { field, shell, fieldProps } = useText({
    keptUnder,
    draftId: actionDraft(stepId, action.action_id),
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
          <Button buttonRef={meant} unready={shell.unready} onClick={shell.send}>
            {asksText ? t("Save") : action.label}
          </Button>
        </>
      }
    >
      <div className={`verbatim ${styles.dialog}`}>
        {action.confirm !== null && <p>{action.confirm}</p>}
        {action.text_label !== null && (
          <Shelled value={shell}>
            <TextField id="action-text" label={action.text_label} {...fieldProps} />
          </Shelled>
        )}
      </div>
    </Modal>
  );
}
