import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef, useState } from "react";
import { t } from "../../language";
import { Button } from "../../ui/Button";
import { Dots } from "../../ui/Dots";
import { useAfter } from "../../ui/useAfter";
import type { AnswerBody } from "../../wire/state";
import { leadTo } from "../Dock";
import { Unread, useEnds } from "../ends";
import { hasKeyboard, useFocusOnArrival } from "../focus";
import { FormGuide, Guide } from "../Guide";
import { onceSettled, showLed } from "../scroll";
import { useEnterKey, useNumberKeys, type Writing } from "./keys";
import styles from "./Steps.module.css";

/** What every component of a step that awaits an answer gets. */
export interface StepProps<S> {
  step: S;
  keptUnder: string;
  /** The answer is on its way: nothing may be changed or sent twice. */
  pending: boolean;
  onAnswer: (body: AnswerBody) => void;
}

/** The first thing that keeps an answer from being sent. */
export interface Lack {
  where: "items" | "reason";
  /** Nothing is written yet: to be led to the reason for the first time is no complaint. */
  untouched?: boolean;
  /** Goes where it can be mended. */
  lead: () => void;
}

export interface Shell {
  /** Nothing can be changed or sent now. */
  pending: boolean;
  /** What is waited for before anything can be answered; null where that is over. */
  waiting: string | null;
  unready: boolean;
  /** What is said to be missing: what was so when the rater last tried to go on, and nothing that came up since. */
  said: Lack["where"] | null;
  /** Sends the answer, or leads to what it lacks. */
  send: () => void;
  /** See {@link useEnds}. */
  hold: (only?: number) => boolean;
  led: HTMLElement | null;
}

export interface ShellOptions {
  pending: boolean;
  waiting?: string | null;
  lack: Lack | null;
  answer: () => void;
  /** Number keys choose something. */
  onNumber?: ((number: number) => void) | null;
  /** The text beside what is chosen. */
  writing?: Writing | null;
  /** It is about what one has read: Enter sends also while nothing has the focus that has a use for it. */
  enter?: boolean;
}

/** What all steps do alike: they are sent by a button or Enter, say what is missing, and take nothing more once sent. */
export function useShell({ pending: sending, waiting = null, lack, answer, onNumber = null, writing = null, enter = true }: ShellOptions): Shell {
  const pending = sending || waiting !== null;
  const { led, hold } = useEnds(waiting === null);
  const tries = useRef(0);
  const [complaint, setComplaint] = useState<Lack["where"] | null>(null);
  const send = () => {
    if (pending) {
      return;
    }
    if (lack !== null) {
      tries.current += 1;
      setComplaint(lack.where === "reason" && lack.untouched && tries.current === 1 ? null : lack.where);
      lack.lead();
      onceSettled(showLed);
    } else if (!enter || !hold()) {
      answer();
    }
  };
  useNumberKeys(onNumber && ((number) => !pending && onNumber(number)), writing);
  useEnterKey(enter ? send : null);
  return { pending, waiting, unready: lack !== null, said: lack?.where === complaint ? complaint : null, send, hold, led };
}

/** No part of a step stands outside of one. */
const Current = createContext({} as Shell);

/** The shell of the step that a part stands in. */
export const useStep = () => useContext(Current);

/** For parts outside of the form, which answer all the same. */
export const Shelled = Current.Provider;

export interface StepShellProps {
  shell: Shell;
  /** Id of the heading that names the form; else `label` does. */
  labelledBy?: string;
  label?: string;
  /**
   * `panel`: a card of its own. `line`: a text field with its button beside it. `through`: what stands in it is laid out as
   * if there was no form.
   */
  look?: "panel" | "line" | "through";
  /** What is written in first: it has the focus where there is a keyboard, else the form has it. */
  first?: RefObject<HTMLElement | null>;
  /** What is asked first is answered. */
  chosen?: boolean;
  children: ReactNode;
}

const NOTHING: RefObject<null> = { current: null };

/** The form around a step. The page itself says what is missing, and where. */
export function StepShell({ shell, labelledBy, label, look, first, chosen, children }: StepShellProps) {
  const form = useRef<HTMLFormElement>(null);
  useFocusOnArrival(first === undefined ? NOTHING : hasKeyboard() ? first : form);
  return (
    <form
      ref={form}
      tabIndex={-1}
      aria-label={label}
      aria-labelledby={labelledBy}
      className={look && `${styles[look]} ${look === "panel" ? "card" : ""}`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        shell.send();
      }}
    >
      <FormGuide over={chosen} />
      <Shelled value={shell}>{children}</Shelled>
      {shell.led && <Unread end={shell.led} />}
    </form>
  );
}

export interface StepFootProps {
  /** The words of the button that sends the step. */
  send?: string;
  /** Which keys do what; shown where there is a keyboard. */
  keys?: string;
  /** How far one is, read aloud when it changes. */
  note?: string | undefined;
}

/** The button at the end of a step, and whether the answer is on its way. */
export function StepFoot({ send = t("Continue"), keys, note }: StepFootProps) {
  const { pending, waiting, unready } = useStep();
  const sending = pending && waiting === null;
  return (
    <div className={`cluster ${styles.foot}`} data-foot>
      <Button type="submit" unready={unready} disabled={pending}>
        {sending ? t("Sending…") : send}
      </Button>
      {waiting !== null && (
        <span className={`soft ${styles.coming}`}>
          <Dots />
          {waiting}
        </span>
      )}
      {!unready && !pending && <Guide at="send" />}
      {keys !== undefined && !pending && <span className={`soft ${styles.keys}`}>{keys}</span>}
      {note !== undefined && (
        <p role="status" className={`soft ${styles.note}`}>
          {note}
        </p>
      )}
      <div role="status">{sending && <Still />}</div>
    </div>
  );
}

export const STILL_SENDING_MS = 4_000;

/** Says that an answer is kept and sent again when its confirmation takes long. */
function Still() {
  return useAfter(STILL_SENDING_MS) && <p className={`soft ${styles.hint}`}>{t("Still sending. Your answer is kept, and will be sent again.")}</p>;
}

/** What is missing; said as soon as it appears. */
export function Problem({ id, children }: { id?: string; children: ReactNode }) {
  return (
    <p role="alert" id={id} className={`wrong ${styles.problem}`}>
      {children}
    </p>
  );
}

/** The looks of something to choose (see blocks.css). */
export function picking(looks: string | undefined, picked: boolean, locked: boolean) {
  return { className: `pick ${looks ?? ""}`, "data-picked": picked ? "" : undefined, "data-locked": locked ? "" : undefined };
}

/** Leads on to a field that a press has called for, once it is on the page. A keyboard on the screen is not called up. */
export function useLeadOn(): (find: () => HTMLTextAreaElement | null) => void {
  const [wanted, setWanted] = useState<{ find: () => HTMLTextAreaElement | null } | null>(null);
  useEffect(() => {
    if (wanted !== null && hasKeyboard()) {
      leadTo(wanted.find());
    }
  }, [wanted]);
  return (find) => setWanted({ find });
}

const PARTS = "[data-question], [data-card], [data-scale]";

function parts(list: HTMLElement | null): HTMLElement[] {
  return Array.from(list?.querySelectorAll<HTMLElement>(PARTS) ?? []);
}

/** Which of the parts in a step has the focus, in shown order; -1: none. */
export function focusedPart(list: HTMLElement | null): number {
  return parts(list).findIndex((part) => part.contains(document.activeElement));
}

/** The inputs of one of the parts. */
export function inputsOf(list: HTMLElement | null, part: number): HTMLInputElement[] {
  return Array.from(parts(list)[part]?.querySelectorAll("input") ?? []);
}
