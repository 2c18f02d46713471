import type { Start } from "../session/view";
import type { TaskConfig } from "../wire/config";
import { Button } from "../ui/Button";
import { Heading } from "../ui/Heading";
import { Sections } from "../ui/Sections";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export interface PreviewProps {
  config: TaskConfig;
  /** With `accept_first` the crowd provider has to give the task out first; else the button starts it. */
  start: Start;
  onStart: () => void;
  onDecline: () => void;
}

/** What the task is, what it pays and what one agrees to, before anything is recorded. */
export function Preview({ config, start, onStart, onDecline }: PreviewProps) {
  return (
    <Frame wide>
      <Heading>{config.title}</Heading>
      {config.tagline && <p className={styles.lead}>{config.tagline}</p>}
      <Sections sections={config.preview.sections} />
      <Terms config={config} />
      <div className={styles.actions}>
        {start !== "accept_first" ? (
          <>
            <Button onClick={onStart}>{config.start_label}</Button>
            {start === "ask" && config.panel?.may_decline && (
              <Button look="quiet" onClick={onDecline}>
                I do not want to take part
              </Button>
            )}
          </>
        ) : (
          <>
            <Button disabled>{config.start_label}</Button>
            <p className={styles.hint}>
              This is a preview. You must accept the HIT before you can start; then this page opens the task by itself.
            </p>
          </>
        )}
      </div>
    </Frame>
  );
}

/** Pay and consent, in the preview and beside the instructions. */
export function Terms({ config }: { config: TaskConfig }) {
  if (!config.pay && !config.consent) {
    return null;
  }
  return (
    <dl className={styles.terms}>
      {config.pay && (
        <div>
          <dt>Pay</dt>
          <dd>{config.pay}</dd>
        </div>
      )}
      {config.consent && (
        <div>
          <dt>Consent</dt>
          <dd>{config.consent}</dd>
        </div>
      )}
    </dl>
  );
}
