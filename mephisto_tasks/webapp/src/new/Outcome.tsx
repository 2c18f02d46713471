import { useState } from "react";
import { Button } from "../ui/Button";
import styles from "./NewStudy.module.css";
import { amount } from "./Techniques";
import { ask, type Choices, type Currency, type Draft, told } from "./wire";

interface Props {
  choices: Choices;
  draft: Draft;
  currency: Currency;
  path: string;
}

interface Written {
  files: readonly string[];
  command: string;
}

const WORDS: Readonly<Record<Currency, string>> = {
  current: "",
  typing: "Press Enter to update these numbers.",
  computing: "Updating…",
  unknown: "These numbers could not be updated.",
};

/** What the study costs and finds, why it cannot be launched yet, and its file. */
export function Outcome({ choices, draft, currency, path }: Props) {
  const [written, setWritten] = useState<{ of: Choices; what: Written } | null>(null);
  const [problem, setProblem] = useState("");
  const taken = problem.includes("already exists");
  const write = async () => {
    setProblem("");
    try {
      setWritten({ of: choices, what: await ask<Written>("write", { choices, replace: taken }) });
    } catch (error) {
      setProblem(told(error));
    }
  };
  const { estimate, problems } = draft;
  return (
    <section className={styles.outcome} aria-labelledby="outcome">
      <div className={styles.row}>
        <h2 id="outcome">Your study</h2>
        <p role="status" className={styles.about}>
          {WORDS[currency]}
        </p>
      </div>
      {estimate && (
        <dl className={styles.figures} aria-live="polite" aria-busy={currency !== "current"}>
          <Figure name="Cost" value={estimate.cost > 0 ? `$${amount(estimate.cost)}` : "no pay"} />
          <Figure name="Hours" value={estimate.hours.toFixed(1)} />
          <Figure name="Raters" value={amount(estimate.raters)} />
          <Figure name="Power" value={`${Math.round(100 * estimate.power)} %`} />
        </dl>
      )}
      {draft.remark !== "" && <p>{draft.remark}</p>}
      {problems.map((one) => (
        <p key={one} role="alert" className="wrong">
          {one}
        </p>
      ))}
      {draft.missing.length > 0 && <p>{`Add at the launch: ${draft.missing.join(", ")}`}</p>}
      {problem !== "" && (
        <p role="alert" className="wrong">
          {problem}
        </p>
      )}
      <div className={styles.buttons}>
        <Button disabled={problems.length > 0} onClick={() => void write()}>
          {taken ? `Replace ${path}` : `Write ${path}`}
        </Button>
        {written?.of === choices && (
          <p role="status">
            Written. Launch it: <code>{written.what.command}</code>
          </p>
        )}
      </div>
      <details>
        <summary>The file</summary>
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be scrolled by keys */}
        <pre tabIndex={0} aria-busy={currency !== "current"}>{draft.text}</pre>
      </details>
    </section>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
