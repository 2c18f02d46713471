import { Button } from "../ui/Button";
import { Heading } from "../ui/Heading";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

/** The page cannot go on by itself: says so, and offers to load it anew. */
export function Problem({ text, onReload = reload }: { text: string; onReload?: () => void }) {
  return (
    <Frame>
      <div role="alert">
        <Heading>The page cannot go on</Heading>
        <p>{text}</p>
      </div>
      <div className={styles.actions}>
        <Button onClick={onReload}>Reload the page</Button>
      </div>
    </Frame>
  );
}

function reload(): void {
  window.location.reload();
}
