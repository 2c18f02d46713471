import { useEffect, useId, useState } from "react";
import { Field } from "./Field";
import { Models } from "./Models";
import styles from "./NewStudy.module.css";
import { Outcome } from "./Outcome";
import { Preview } from "./Preview";
import { Techniques } from "./Techniques";
import { ask, type Choices, type Currency, type Draft, type FieldInfo, type Start, start, told, type Value } from "./wire";

const LABELS: Readonly<Record<string, string>> = {
  conf: "Settings to begin with",
  task_name: "Name of the study",
  place: "Where raters come from",
  task_reward: "Reward per assignment",
  metric: "What is judged",
  question: "Your own question",
};

/** A field that is no setting: what the plan is asked for. */
const plain = (name: string, description: string): FieldInfo => ({
  name,
  description,
  topic: "",
  default: "",
  choices: [],
  suggestions: [],
});
const GAP = plain("gap", "The smallest difference between two models that you must not miss, in points of 100.");
const WAGE = plain("wage", "Dollars per hour. Suggested rewards are based on it.");

export function NewStudy() {
  const [begun, setBegun] = useState<Start | null>(null);
  const [choices, setChoices] = useState<Choices | null>(null);
  const [made, setMade] = useState<{ of: Choices; draft: Draft } | null>(null);
  const [typing, setTyping] = useState(false);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    start()
      .then((found) => {
        setBegun(found);
        setChoices(found.choices);
      })
      .catch((error: unknown) => setProblem(told(error)));
  }, []);
  useEffect(() => {
    if (!choices) {
      return;
    }
    const left = new AbortController();
    ask<Draft>("draft", { choices }, left.signal)
      .then((draft) => {
        setMade({ of: choices, draft });
        setProblem("");
      })
      .catch((error: unknown) => {
        if (!left.signal.aborted) {
          setProblem(told(error));
        }
      });
    return () => left.abort();
  }, [choices]);
  // What was computed is of the choices before until the answer is there; if there is none, it stays so.
  const currency = typing ? "typing" : made?.of === choices ? "current" : problem === "" ? "computing" : "unknown";
  return (
    <>
      <header className={styles.header}>
        <h1>New study</h1>
        {problem !== "" && (
          <p role="alert" className="wrong">
            {problem}
          </p>
        )}
      </header>
      {begun && choices && made ? (
        <main className={styles.main}>
          <Form
            begun={begun}
            choices={choices}
            draft={made.draft}
            currency={currency}
            onTyping={setTyping}
            onChange={(next) => {
              setTyping(false);
              setChoices(next);
            }}
          />
          <Outcome choices={choices} draft={made.draft} currency={currency} path={begun.path} />
          <Preview choices={choices} />
        </main>
      ) : (
        <main>{problem === "" && <p role="status">Loading…</p>}</main>
      )}
    </>
  );
}

interface FormProps {
  begun: Start;
  choices: Choices;
  draft: Draft;
  currency: Currency;
  onTyping: (typing: boolean) => void;
  onChange: (choices: Choices) => void;
}

function Form({ begun, choices, draft, currency, onTyping, onChange }: FormProps) {
  const set = (name: string, value: Value | null) => {
    const others = Object.entries(choices.settings).filter(([other]) => other !== name);
    const settings = Object.fromEntries(value === null || value === "" ? others : [...others, [name, value] as const]);
    onChange({ ...choices, settings });
  };
  const field = (info: FieldInfo) => (
    <Field
      key={info.name}
      field={info}
      {...(info.name in LABELS ? { label: LABELS[info.name] ?? "" } : {})}
      value={text(choices.settings[info.name])}
      {...about(info, draft)}
      onChange={(value) => set(info.name, value)}
    />
  );
  const models = draft.fields.find(({ name }) => name === "models");
  const rest = draft.fields.filter(({ name }) => name !== "models");
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- it listens for its fields
    <form
      className={styles.form}
      aria-label="Settings"
      onSubmit={(event) => event.preventDefault()}
      onInput={({ target }) => onTyping(isTypedInto(target))}
      onBlur={() => onTyping(false)}
    >
      {models && (
        <Models
          choices={choices}
          models={listed(choices.settings.models ?? models.default)}
          folder={begun.folder}
          onChange={(names) => set("models", names)}
        />
      )}
      <Field
        field={GAP}
        label="Gap"
        value={String(Number((100 * choices.gap).toFixed(2)))}
        onChange={(value) => onChange({ ...choices, gap: Number(value) / 100 || 0 })}
      />
      <Field
        field={WAGE}
        label="Hourly wage"
        value={String(choices.wage)}
        onChange={(value) => onChange({ ...choices, wage: Math.max(0, Number(value)) || 0 })}
      />
      <Techniques
        techniques={begun.techniques}
        bars={draft.bars}
        fee={draft.fee}
        currency={currency}
        chosen={choices.technique}
        onChange={(technique) => onChange({ ...choices, technique, settings: kept(choices.settings) })}
      />
      <fieldset className={styles.group}>
        <legend>Question, raters and pay</legend>
        {rest.map(field)}
      </fieldset>
      <More others={draft.others} settings={choices.settings} field={field} onAdd={(info) => set(info.name, info.default)} />
    </form>
  );
}

/** Of another technique, only what all have. */
function kept(settings: Choices["settings"]): Choices["settings"] {
  const study = ["task_name", "models", "zoo_files", "language", "task_reward", "seed"];
  const shared = [...study, "place", "requester_name", "hostname", "port", "public_url"];
  return Object.fromEntries(Object.entries(settings).filter(([name]) => shared.includes(name)));
}

function about(info: FieldInfo, { amount, estimate, question }: Draft): { placeholder?: string; hint?: string } {
  if (info.name === "question" && question !== "") {
    return { placeholder: question };
  }
  if (info.name === amount && estimate?.planned) {
    return { placeholder: `${estimate.planned}`, hint: `${info.description} Empty: as many as your gap needs.` };
  }
  if (info.name === "task_reward" && estimate) {
    return { hint: `$${estimate.reward.toFixed(2)} is your hourly wage for the expected minutes. ${info.description}` };
  }
  return {};
}

interface MoreProps {
  others: readonly FieldInfo[];
  settings: Choices["settings"];
  field: (info: FieldInfo) => React.ReactNode;
  onAdd: (info: FieldInfo) => void;
}

/** Every other setting of a launch; those that were added are shown. */
function More({ others, settings, field, onAdd }: MoreProps) {
  const id = useId();
  const [added, setAdded] = useState<readonly string[]>([]);
  const shown = others.filter(({ name }) => name in settings || added.includes(name));
  const topics = [...new Set(others.map(({ topic }) => topic))];
  return (
    <fieldset className={styles.group}>
      <legend>More settings</legend>
      {shown.map(field)}
      <div className={styles.field}>
        <label htmlFor={id}>Add a setting</label>
        <select
          id={id}
          value=""
          onChange={(event) => {
            const info = others.find(({ name }) => name === event.target.value);
            if (info) {
              setAdded([...added, info.name]);
              if (info.choices.length > 0) {
                onAdd(info);
              }
            }
          }}
        >
          <option value="">Choose…</option>
          {topics.map((topic) => (
            <optgroup key={topic} label={topic}>
              {others
                .filter((info) => info.topic === topic && !shown.includes(info))
                .map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
            </optgroup>
          ))}
        </select>
      </div>
    </fieldset>
  );
}

/** Whether what is typed there counts only when it is left, or with Enter. */
function isTypedInto(target: EventTarget): boolean {
  return target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type === "text");
}

function text(value: Value | undefined): string {
  return value === undefined ? "" : typeof value === "object" ? `[${value.join(", ")}]` : String(value);
}

/** `[a, b]` as YAML writes it, or a list. */
function listed(value: Value): readonly string[] {
  return typeof value === "object" ? value : String(value).replace(/^\[|\]$/g, "").split(",").map((name) => name.trim());
}
