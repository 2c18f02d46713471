import { useState } from "react";
import type { Waiting } from "../session/view";
import { t } from "../language";
import { Button } from "../ui/Button";
import { Dots } from "../ui/Dots";
import { useAfter } from "../ui/useAfter";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export const EXPLAIN_AFTER_MS = 10_000;

/** What is done, and why it takes long. */
const WORDS: Readonly<Record<Waiting, () => [string, string]>> = {
  config: () => [t("Loading the task…"), t("The page is still waiting for the server to describe the task.")],
  agent: () => [t("Asking for a conversation…"), t("The server has not answered yet. It may be busy or still starting.")],
  connection: () => [t("Connecting…"), t("There is no live connection to the server yet. The page keeps trying.")],
  first_state: () => [t("Getting your conversation ready…"), t("The connection is good. The server is still preparing the first step.")],
};

export interface LoadingProps {
  waitingFor: Waiting;
  /** What went wrong with the last try; null when nothing did. */
  problem: string | null;
  onRetry: () => void;
}

/** Says at once what it does, and after ten seconds why it is not done. */
export function Loading({ waitingFor, problem, onRetry }: LoadingProps) {
  const [round, setRound] = useState(0);
  const [doing, why] = WORDS[waitingFor]();
  return (
    <Frame>
      <h1 className="visually-hidden">{t("The task is loading")}</h1>
      <div role="status">
        <p className={styles.doing}>
          <Dots /> {doing}
        </p>
      </div>
      <Explanation
        key={round}
        text={problem === null ? why : t("{problem} The page keeps trying.", { problem })}
        onRetry={() => {
          setRound(round + 1);
          onRetry();
        }}
      />
    </Frame>
  );
}

function Explanation({ text, onRetry }: { text: string; onRetry: () => void }) {
  const due = useAfter(EXPLAIN_AFTER_MS);
  return (
    <div role="status">
      {due && (
        <div className={styles.explanation}>
          <p>{t("This is taking longer than usual. {why}", { why: text })}</p>
          <p>{t("You can wait, or try again. None of your work is lost.")}</p>
          <Button onClick={onRetry}>{t("Try again")}</Button>
        </div>
      )}
    </div>
  );
}
