import type { Start } from "../session/view";
import type { TaskConfig } from "../wire/config";
import { t, tn } from "../language";
import { Button } from "../ui/Button";
import { Sections } from "../ui/Sections";
import { ConsentText } from "./Consent";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export interface PreviewProps {
  config: TaskConfig;
  /** With `accept_first` the crowd provider has to give the task out first; else the button starts it. */
  start: Start;
  /** Why nobody can start here. */
  why?: string | undefined;
  onStart: () => void;
  onDecline: () => void;
}

/** What the task is, how long it takes, what it pays and what one agrees to, with the button that starts it; below it the rest. */
export function Preview({ config, start, why, onStart, onDecline }: PreviewProps) {
  const acceptFirst = start === "accept_first";
  return (
    <Frame wide top title={config.title}>
      {config.tagline && <p className={styles.tagline}>{config.tagline}</p>}
      <ul className={`strong ${styles.facts}`}>
        {config.minutes !== null && <li>{tn("About {n} minute", "About {n} minutes", config.minutes)}</li>}
        {config.pay && <li>{config.pay}</li>}
      </ul>
      {config.consent && <p className={`soft ${styles.agrees}`}>{config.consent}</p>}
      <div className={`cluster ${styles.actions}`}>
        <Button disabled={acceptFirst || start === "only_look"} onClick={onStart}>
          {config.start_label}
        </Button>
        {start === "ask" && config.panel?.may_decline && (
          <Button look="quiet" onClick={onDecline}>
            {t("I do not want to take part")}
          </Button>
        )}
        {why && <p className={`soft ${styles.hint}`}>{why}</p>}
        {acceptFirst && (
          <p className={`soft ${styles.hint}`}>
            {t("This is a preview. You must accept the {unit} before you can start; then this page opens the task automatically.", {
              unit: config.unit ?? "unit",
            })}
          </p>
        )}
      </div>
      <div className={styles.more}>
        <Sections sections={config.preview.sections} />
        {config.consent_form && acceptFirst && (
          <section className={styles.agreement} aria-label={t(config.consent_form.title)}>
            <h2>{t("Once you accept, you will be asked to agree to this")}</h2>
            <ConsentText form={config.consent_form} />
          </section>
        )}
      </div>
    </Frame>
  );
}

/** Time, pay and consent, beside the instructions. */
export function Terms({ config }: { config: TaskConfig }) {
  const terms = [
    [t("Time"), config.minutes === null ? "" : tn("About {n} minute", "About {n} minutes", config.minutes)],
    [t("Pay"), config.pay],
    [t("Consent"), config.consent],
  ].filter(([, text]) => text);
  if (terms.length === 0) {
    return null;
  }
  return (
    <dl className={styles.terms}>
      {terms.map(([name, text]) => (
        <div key={name}>
          <dt className="strong">{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
