import { Heading } from "../ui/Heading";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

/** The task belongs to the browser that began it: this one learns nothing of it but what to do. */
export function OtherBrowser({ task, title, text }: { task: string; title: string; text: string }) {
  return (
    <Frame>
      <p className={styles.eyebrow}>{task}</p>
      <Heading>{title}</Heading>
      <p className={styles.lead}>{text}</p>
    </Frame>
  );
}
