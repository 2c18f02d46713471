import { t } from "../../language";
import type { Said } from "../../wire/markup";
import { Reply } from "../Reply";
import { Fold } from "./Fold";
import styles from "./Steps.module.css";

/** The reply that a question is about, where it will stand in the transcript. */
export function JudgedReply({ said, open, onOpen }: { said: Said; open: boolean; onOpen: (open: boolean) => void }) {
  return (
    <figure className={styles.judged} aria-label={t("The reply to judge")} data-testid="judged-reply">
      <figcaption>{t("Partner")}</figcaption>
      <blockquote>
        <Fold name={t("The reply to judge")} open={open} onOpen={onOpen}>
          <Reply said={said} />
        </Fold>
      </blockquote>
    </figure>
  );
}
