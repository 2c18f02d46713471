import { useEffect, useState } from "react";
import type { Waiting } from "../session/view";
import { t } from "../language";
import { Button } from "../ui/Button";
import { Dots } from "../ui/Dots";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export const EXPLAIN_AFTER_MS = 10_000;

const DOING: Readonly<Record<Waiting, () => string>> = {
  config: () => t("Loading the task…"),
  agent: () => t("Asking for a conversation…"),
  connection: () => t("Connecting…"),
  first_state: () => t("Getting your conversation ready…"),
  onboarding: () => t("Checking the practice…"),
};

const WHY: Readonly<Record<Waiting, () => string>> = {
  config: () => t("The page is still waiting for the server to describe the task."),
  agent: () => t("The server has not answered yet. It may be busy, or still starting."),
  connection: () => t("There is no live connection to the server yet. The page keeps trying."),
  first_state: () => t("The connection is good. The server is still preparing the first step."),
  onboarding: () => t("The server is still checking the practice."),
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
  return (
    <Frame>
      <h1 className="visually-hidden">{t("The task is loading")}</h1>
      <div role="status">
        <p className={styles.doing}>
          <Dots /> {DOING[waitingFor]()}
        </p>
      </div>
      <Explanation
        key={round}
        text={problem === null ? WHY[waitingFor]() : t("{problem} The page keeps trying.", { problem })}
        onRetry={() => {
          setRound(round + 1);
          onRetry();
        }}
      />
    </Frame>
  );
}

function Explanation({ text, onRetry }: { text: string; onRetry: () => void }) {
  const [due, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), EXPLAIN_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status">
      {due && (
        <div className={styles.explanation}>
          <p>{t("This takes longer than usual. {why}", { why: text })}</p>
          <p>{t("You can wait, or try again. Nothing that you have done is lost.")}</p>
          <Button onClick={onRetry}>{t("Try again")}</Button>
        </div>
      )}
    </div>
  );
}
