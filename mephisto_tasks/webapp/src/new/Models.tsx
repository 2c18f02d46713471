import { useId, useState } from "react";
import { Button } from "../ui/Button";
import styles from "./NewStudy.module.css";
import { useTyped } from "./useTyped";
import { ask, type Choices, type Reply, told } from "./wire";

interface Props {
  choices: Choices;
  models: readonly string[];
  folder: string;
  onChange: (models: readonly string[]) => void;
}

const FUNCTION = `def reply(history):
    """history: the messages so far, oldest first."""
    last = history[-1].text
    return f"Why do you say “{last}”?"
`;

/** The models, each with its first reply once it was asked. */
export function Models({ choices, models, folder, onChange }: Props) {
  const [replies, setReplies] = useState<Readonly<Record<string, Reply>>>({});
  const [busy, setBusy] = useState(false);
  const tryAll = async () => {
    setBusy(true);
    for (const model of models.filter((name) => name !== "")) {
      const reply = await ask<Reply>("reply", { model, choices }).catch((error: unknown) => ({ model, reply: "", why: told(error) }));
      setReplies((before) => ({ ...before, [model]: reply }));
    }
    setBusy(false);
  };
  return (
    <fieldset className={styles.group}>
      <legend>Models</legend>
      <p className={styles.about}>
        A Python file with a function, the address of a server, a folder of weights, or a name from <code>models list</code>.
      </p>
      <details className={styles.about}>
        <summary>Add your own model</summary>
        <p>
          A function: save this as <code>bots.py</code> in <code>{folder}</code>, and enter <code>bots.py</code> below. Another
          function of the file is <code>bots.py:NAME</code>.
        </p>
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be scrolled by keys */}
        <pre tabIndex={0}>{FUNCTION}</pre>
        <p>
          A hosted model: enter the server&#39;s address, then # and the model&#39;s name, such as{" "}
          <code>https://api.openai.com/v1#gpt-4o-mini</code>. The key is read from the environment variable{" "}
          <code>OPENAI_API_KEY</code>, which has to be set before <code>parlai-humaneval new</code> starts.
        </p>
      </details>
      {models.map((model, place) => (
        <Model
          key={place}
          number={place + 1}
          model={model}
          reply={replies[model]}
          onChange={(name) => onChange(models.map((other, at) => (at === place ? name : other)))}
          onRemove={models.length > 2 ? () => onChange(models.filter((_, at) => at !== place)) : null}
        />
      ))}
      <div className={styles.buttons}>
        <Button look="quiet" onClick={() => onChange([...models, ""])}>
          Add a model
        </Button>
        <Button look="quiet" disabled={busy} onClick={() => void tryAll()}>
          {busy ? "Asking…" : "Try each model"}
        </Button>
      </div>
    </fieldset>
  );
}

interface ModelProps {
  number: number;
  model: string;
  reply: Reply | undefined;
  onChange: (name: string) => void;
  onRemove: (() => void) | null;
}

function Model({ number, model, reply, onChange, onRemove }: ModelProps) {
  const id = useId();
  const typed = useTyped(model, onChange);
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{`Model ${number}`}</label>
      <div className={styles.row}>
        <input
          {...typed}
          id={id}
          spellCheck={false}
          aria-describedby={`${id}-reply`}
        />
        {onRemove && (
          <button type="button" className="sign" aria-label={`Remove model ${number}`} onClick={onRemove}>
            ×
          </button>
        )}
      </div>
      <p id={`${id}-reply`} role="status" className={reply?.why ? "wrong" : styles.reply}>
        {reply && (reply.why || `“${reply.reply}”`)}
      </p>
    </div>
  );
}
