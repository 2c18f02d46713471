import { useEffect, useState } from "react";
import type { Waiting } from "../session/view";
import { Button } from "../ui/Button";
import { Dots } from "../ui/Dots";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export const EXPLAIN_AFTER_MS = 10_000;

const DOING: Readonly<Record<Waiting, string>> = {
  config: "Loading the task…",
  agent: "Asking for a conversation…",
  connection: "Connecting…",
  first_state: "Getting your conversation ready…",
  onboarding: "Checking the practice…",
};

const WHY: Readonly<Record<Waiting, string>> = {
  config: "The page is still waiting for the server to describe the task.",
  agent: "The server has not answered yet. It may be busy, or still starting.",
  connection: "There is no live connection to the server yet. The page keeps trying.",
  first_state: "The connection is good. The server is still preparing the first step.",
  onboarding: "The server is still checking the practice.",
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
      <h1 className="visually-hidden">The task is loading</h1>
      <div role="status">
        <p className={styles.doing}>
          <Dots /> {DOING[waitingFor]}
        </p>
      </div>
      <Explanation
        key={round}
        text={problem === null ? WHY[waitingFor] : `${problem} The page keeps trying.`}
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
          <p>This takes longer than usual. {text}</p>
          <p>You can wait, or try again. Nothing that you have done is lost.</p>
          <Button onClick={onRetry}>Try again</Button>
        </div>
      )}
    </div>
  );
}
