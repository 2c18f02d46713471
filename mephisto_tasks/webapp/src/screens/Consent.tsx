import type { ConsentForm, Section } from "../wire/config";
import { t } from "../language";
import { Button } from "../ui/Button";
import { Sections } from "../ui/Sections";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export interface ConsentProps {
  /** Title of the task. */
  task: string;
  form: ConsentForm;
  onAgree: () => void;
  onDecline: () => void;
}

/** What one agrees to, before anything is stored. */
export function Consent({ task, form, onAgree, onDecline }: ConsentProps) {
  return (
    <Frame wide task={task} title={t(form.title)}>
      {form.agreed_before !== null && (
        <p className={styles.news}>
          {t("You agreed to an earlier version of this text ({version}).", { version: form.agreed_before })}{" "}
          {form.changes || t("The text has changed since you agreed to it. Please read it again.")}
        </p>
      )}
      <ConsentText form={form} />
      <div className={`cluster ${styles.actions}`}>
        <Button onClick={onAgree}>{t(form.agree)}</Button>
        <Button look="quiet" onClick={onDecline}>
          {t(form.decline)}
        </Button>
      </div>
    </Frame>
  );
}

/** The text alone, as a preview shows it. */
export function ConsentText({ form }: { form: ConsentForm }) {
  return (
    <>
      <Sections sections={said(form.text)} />
      <Sections sections={said(form.privacy)} />
      <p className={`soft ${styles.contact}`}>
        {t("Questions? {contact}. This is version {version} of this text.", { contact: form.contact, version: form.version })}
      </p>
    </>
  );
}

/** The researchers' own words, in the rater's language where their catalogue has them. */
function said(sections: readonly Section[]): Section[] {
  return sections.map(({ heading, lines }) => ({ heading: heading && t(heading), lines: lines.map((line) => t(line)) }));
}
