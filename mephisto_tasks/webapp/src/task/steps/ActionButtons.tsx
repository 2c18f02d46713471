import { useState } from "react";
import { t } from "../../language";
import type { Action } from "../../wire/state";
import { Button } from "../../ui/Button";
import { ActionDialog } from "./ActionDialog";
import { useNumberKeys, type Writing } from "./keys";
import styles from "./Actions.module.css";

export interface ActionButtonsProps {
  keptUnder: string;
  stepId: string;
  actions: readonly Action[];
  /** Number keys press them, unless one writes here; null: they do not. */
  writing: Writing | null;
  pending: boolean;
  /** True where something is to be read first, and was led to. */
  hold: () => boolean;
  /** `text` is empty where the action asks for none. */
  onAction: (actionId: string, text: string) => void;
}

/**
 * What can be done instead of writing. An action that asks for something opens a dialog; one that is not to be had yet
 * keeps its place in the tab order. When it comes stands below, and stands out when it is pressed all the same.
 */
export function ActionButtons({ keptUnder, stepId, actions, writing, pending, hold, onAction }: ActionButtonsProps) {
  const [openId, setOpenId] = useState<string | null>(null);
  const [hintId, setHintId] = useState<string | null>(null);
  const opened = actions.find((action) => action.action_id === openId && action.enabled) ?? null;
  const hinted = actions.filter((action) => !action.enabled && (action.hint !== null || action.action_id === hintId));

  const press = (action: Action) => {
    setHintId(action.enabled ? null : action.action_id);
    if (!action.enabled || pending || hold()) {
      return;
    }
    if (action.confirm === null && action.text_label === null) {
      onAction(action.action_id, "");
    } else {
      setOpenId(action.action_id);
    }
  };
  const onNumber = (number: number) => {
    const action = actions[number - 1];
    if (action !== undefined) {
      press(action);
    }
  };
  useNumberKeys(writing && onNumber, writing);
  return (
    <>
      {actions.map((action) => (
        <Button
          key={action.action_id}
          look="quiet"
          disabled={pending}
          unavailable={!action.enabled}
          description={action.enabled ? null : action.hint}
          onClick={() => press(action)}
        >
          {action.label}
        </Button>
      ))}
      <p role="status" className={`soft ${styles.hint}`}>
        {hinted.map((action) => (
          <span key={action.action_id} className={action.action_id === hintId ? `strong ${styles.asked}` : undefined}>
            {action.hint ?? t("{action}: not possible yet.", { action: action.label })}{" "}
          </span>
        ))}
      </p>
      {opened !== null && (
        <ActionDialog
          keptUnder={keptUnder}
          stepId={stepId}
          action={opened}
          onClose={() => setOpenId(null)}
          onDone={(text) => {
            setOpenId(null);
            onAction(opened.action_id, text);
          }}
        />
      )}
    </>
  );
}
