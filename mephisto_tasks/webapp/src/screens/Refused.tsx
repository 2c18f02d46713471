import type { Refusal } from "../session/view";
import { t } from "../language";
import { BackTo } from "../ui/BackTo";
import styles from "../ui/BackTo.module.css";
import button from "../ui/Button.module.css";
import { Frame } from "./Frame";

export interface RefusedProps {
  title: string;
  refusal: Refusal;
  /** What the site that sent the rater calls a unit, which is to be returned there; null: nothing is. */
  unit: string | null;
  /** One comes from the practice. */
  practice: boolean;
}

/** The server gives this worker no (further) conversation; the reason is its own sentence. */
export function Refused({ title, refusal, unit, practice }: RefusedProps) {
  const heading = practice ? t("The practice ends here") : t("There is no conversation for you here");
  return (
    <Frame task={title} title={refusal.title ?? heading} lead={refusal.reason}>
      {refusal.redirect ? (
        <BackTo redirect={refusal.redirect} />
      ) : refusal.over ? (
        <a className={`${button.button} ${button.main} ${styles.link}`} href="./">
          {t("Go to the current study")}
        </a>
      ) : (unit !== null || !refusal.reason.includes(t("close this page"))) && (
        <p>
          {unit === null
            ? t("You can close this page.")
            : t("Please return the {unit}: that does not count against you. Then you can close this page.", { unit })}
        </p>
      )}
    </Frame>
  );
}
