import { useState } from "react";
import { t } from "../../language";
import type { Action, MessageStep } from "../../wire/state";
import { Dock } from "../Dock";
import { ActionButtons } from "./ActionButtons";
import { altChooses, keyRange } from "./keys";
import { Pictures } from "./Pictures";
import { StepFoot, type StepProps, StepShell } from "./StepShell";
import { Suggestions } from "./Suggestions";
import { TextField } from "./TextField";
import { useText } from "./useText";
import stepStyles from "./Steps.module.css";
import styles from "./Actions.module.css";

interface MessageStepProps extends StepProps<MessageStep> {
  onUpload: (file: Blob) => Promise<string>;
}

/** Write the next message, or do something else instead. */
export function MessageStepView({ step, keptUnder, pending, onAnswer, onUpload }: MessageStepProps) {
  const [busy, setBusy] = useState(false);
  const most = step.max_images ?? 0;
  const { field, text, setText, images, change, shell, fieldProps } = useText({
    keptUnder,
    draftId: step.step_id,
    what: t("Your message"),
    minWords: step.min_words,
    maxChars: step.max_chars,
    pending,
    busy,
    onText: (sent, with_) =>
      onAnswer({ kind: "message", step_id: step.step_id, text: sent, ...(with_.length > 0 && { images: [...with_] }) }),
  });

  const buttons = (actions: readonly Action[], keyed: boolean) => (
    <ActionButtons
      stepId={step.step_id}
      keptUnder={keptUnder}
      actions={actions}
      writing={keyed ? { field, begun: text !== "" } : null}
      pending={pending}
      hold={shell.hold}
      onAction={(actionId, said) => onAnswer({ kind: "action", step_id: step.step_id, action_id: actionId, text: said })}
    />
  );
  const groups = [...new Set(step.actions.map((action) => action.group))].filter((group) => group !== null);
  const ungrouped = step.actions.filter((action) => action.group === null);
  // Two groups would want the same keys.
  const keyed = groups.length === 1;
  return (
    <Dock>
      {groups.map((group, index) => {
        const actions = step.actions.filter((action) => action.group === group);
        const shared = sharedHint(actions);
        return (
          <div key={group} role="group" aria-labelledby={`group-${index}`} className={`cluster ${styles.group}`} data-keyed={keyed ? "" : undefined}>
            <div className={`cluster soft ${styles.head}`}>
              <h2 id={`group-${index}`}>{group}</h2>
              {shared !== null && <bdi>{shared}</bdi>}
              {keyed && altChooses() && (
                <span className={`soft ${stepStyles.keys}`}>{t("Keys: {keys} (plus Alt while typing).", { keys: keyRange(actions.length) })}</span>
              )}
            </div>
            {buttons(actions, keyed)}
          </div>
        );
      })}
      <StepShell shell={shell} label={t("Your turn")} look="line" first={field}>
        <TextField id="message" label={step.label} keys={t("Press Enter to send, or Shift+Enter for a new line.")} {...fieldProps} />
        <StepFoot send={t("Send")} />
        {most > 0 && <Pictures images={images} most={most} busy={busy} onBusy={setBusy} onChange={change} onUpload={onUpload} />}
        {(ungrouped.length > 0 || step.suggestions.length > 0) && (
          <div className={`cluster ${styles.more}`}>
            {step.suggestions.length > 0 && (
              <Suggestions suggestions={step.suggestions} written={text} locked={pending} field={field} onChoose={setText} />
            )}
            {ungrouped.length > 0 && buttons(ungrouped, false)}
          </div>
        )}
      </StepShell>
    </Dock>
  );
}

/** What is said of all actions of a group alike; null where it is nothing, or not the same. */
function sharedHint(actions: readonly Action[]): string | null {
  const [first] = actions;
  return first !== undefined && actions.every(({ hint, enabled }) => enabled && hint === first.hint) ? first.hint : null;
}
