import { t } from "../../language";
import type { Said } from "../../wire/markup";
import { Reply } from "../Reply";
import styles from "./Steps.module.css";

/** The reply that a question is about, where it will stand in the transcript. */
export function JudgedReply({ said }: { said: Said }) {
  return (
    <figure className={styles.judged} aria-label={t("The reply to judge")} data-testid="judged-reply">
      <figcaption>{t("Partner")}</figcaption>
      <blockquote>
        <Reply said={said} />
      </blockquote>
    </figure>
  );
}
