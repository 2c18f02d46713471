/**
 * Leads through what a rater does for the first time: one sentence at a time, beside the part of the page that it is about.
 *
 * Nothing has to be closed. A sentence makes way for that of the next part, and is over when its step was answered.
 */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useLayoutEffect, useMemo, useState } from "react";
import type { GuideLine } from "../wire/config";
import type { Step } from "../wire/state";
import { store } from "../wire/storage";
import styles from "./Guide.module.css";

/** What the form of a step is called in a guide. */
const FORMS: Readonly<Partial<Record<Step["kind"], string>>> = {
  message: "message",
  write: "better_reply",
  choose: "replies",
  tick: "answers",
  form: "answers",
  rate: "scales",
  rank: "order",
  topic: "topic",
};

interface Guiding {
  /** What the form of the current step is called. */
  form: string | null;
  /** The sentence that stands at a part; null where there is none, or where its step was answered. */
  textAt: (part: string) => string | null;
  /** The part that one is led to. */
  now: string | null;
  /** A part with a sentence is on the page; call what it returns when it goes. */
  enter: (part: string) => () => void;
}

/** All parts stand in {@link Guided}. */
const Context = createContext({} as Guiding);

export interface GuidedProps {
  lines: readonly GuideLine[];
  keptUnder: string;
  kind: Step["kind"];
  /** Tells steps apart. */
  stepKey: string;
  children: ReactNode;
}

/** The part of the page through which one is led. What was read is not repeated after a reload. */
export function Guided({ lines, keptUnder, kind, stepKey, children }: GuidedProps) {
  const kept = `guided:${keptUnder}`;
  /** Part → the step in which its sentence stood. */
  const [stood, setStood] = useState(() => new Map(Object.entries((store.read(kept) ?? {}) as Record<string, string>)));
  const [parts, setParts] = useState<readonly string[]>([]);
  const now = parts.at(-1) ?? null;

  useEffect(() => {
    if (stood.size > 0) {
      store.write(kept, Object.fromEntries(stood));
    }
  }, [kept, stood]);
  const textAt = useCallback(
    (part: string) => ((stood.get(part) ?? stepKey) === stepKey ? (lines.find(({ at }) => at === part)?.text ?? null) : null),
    [lines, stood, stepKey],
  );
  const enter = useCallback(
    (part: string) => {
      setStood((before) => (before.has(part) ? before : new Map(before).set(part, stepKey)));
      setParts((before) => [...before, part]);
      return () => setParts((before) => before.filter((other) => other !== part));
    },
    [stepKey],
  );
  const form = FORMS[kind] ?? null;
  const guiding = useMemo(() => ({ form, textAt, now, enter }), [form, textAt, now, enter]);
  return (
    <Context.Provider value={guiding}>
      {children}
      <p role="status" className="visually-hidden" data-testid="guide">
        {now !== null && textAt(now)}
      </p>
    </Context.Provider>
  );
}

/** Where the sentence of a part stands. Once one was led on, or it is `over`, its place stays empty, so that nothing jumps. */
export function Guide({ at, over }: { at: string; over?: boolean | undefined }) {
  const { textAt, now, enter } = useContext(Context);
  const text = textAt(at);
  const leads = text !== null && !over;
  useLayoutEffect(() => (leads ? enter(at) : undefined), [at, leads, enter]);
  return text !== null ? (
    <p className={`info strong ${styles.guide}`} data-guide={at} data-past={now === at ? undefined : ""}>
      {text}
    </p>
  ) : null;
}

/** The same for the form of the current step, whatever it asks. */
export function FormGuide({ over }: { over: boolean | undefined }) {
  const { form } = useContext(Context);
  return form === null ? null : <Guide at={form} over={over} />;
}
