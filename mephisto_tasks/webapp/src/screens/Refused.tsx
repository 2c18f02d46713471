import { Heading } from "../ui/Heading";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export interface RefusedProps {
  title: string;
  reason: string;
  provider: string;
  /** One comes from the practice. */
  practice: boolean;
}

/** The server gives this worker no (further) conversation; `reason` is its own sentence. */
export function Refused({ title, reason, provider, practice }: RefusedProps) {
  return (
    <Frame>
      <p className={styles.eyebrow}>{title}</p>
      <Heading>{practice ? "The practice ends here" : "There is no conversation for you here"}</Heading>
      <p className={styles.lead}>{reason}</p>
      <p>
        {provider.startsWith("mturk")
          ? "Please return the HIT: that does not count against you. Then you can close this page."
          : "You can close this page."}
      </p>
    </Frame>
  );
}
