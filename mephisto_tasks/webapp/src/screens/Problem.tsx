import { t } from "../language";
import { Button } from "../ui/Button";
import { Frame, Heading } from "./Frame";
import styles from "./Screens.module.css";

export interface ProblemProps {
  text: string;
  /** True when the task goes on in another window: reloading here would take it away from there. */
  otherWindow?: boolean;
  onReload?: () => void;
}

/** The page cannot continue by itself: says so, and offers to load it anew. */
export function Problem({ text, otherWindow = false, onReload = reload }: ProblemProps) {
  return (
    <Frame>
      <div role="alert">
        <Heading>{otherWindow ? t("This task is open in another window") : t("The page cannot continue")}</Heading>
        <p>{text}</p>
      </div>
      <div className={`cluster ${styles.actions}`}>
        <Button look={otherWindow ? "quiet" : "main"} onClick={onReload}>
          {otherWindow ? t("Continue here instead") : t("Reload the page")}
        </Button>
      </div>
    </Frame>
  );
}

function reload(): void {
  window.location.reload();
}
