import { t } from "../language";
import type { Redirect } from "../wire/state";
import styles from "./BackTo.module.css";
import button from "./Button.module.css";

/** The way back to the site that sent the rater, and the code that it asks for. */
export function BackTo({ redirect: { site, url, code } }: { redirect: Redirect }) {
  return (
    <div className={styles.back}>
      {code !== null && (
        <p>
          {t("Please enter this code at {site}:", { site })} <code className={`strong ${styles.code}`}>{code}</code>
        </p>
      )}
      {url !== null && (
        <a className={`${button.button} ${button.main} ${styles.link}`} href={url}>
          {t("Back to {site}", { site })}
        </a>
      )}
    </div>
  );
}
