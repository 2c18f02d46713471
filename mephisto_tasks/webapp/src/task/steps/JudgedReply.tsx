import styles from "./Steps.module.css";

/** The reply that a question is about, where it will stand in the transcript. */
export function JudgedReply({ text }: { text: string }) {
  return (
    <figure className={styles.judged} aria-label="The reply to judge" data-testid="judged-reply">
      <figcaption>Partner</figcaption>
      <blockquote>{text}</blockquote>
    </figure>
  );
}
