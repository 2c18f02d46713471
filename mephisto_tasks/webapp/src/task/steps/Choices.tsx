import { Checkbox } from "@ariakit/react/checkbox";
import { Radio, RadioGroup, RadioProvider } from "@ariakit/react/radio";
import type { KeyboardEvent, MouseEvent, ReactNode, Ref } from "react";
import { t } from "../../language";
import { Check } from "../../ui/icons";
import { Reply, spoken } from "../Reply";
import { LACK } from "../scroll";
import type { Choice, Item } from "./choice";
import { Fold, type folds } from "./Fold";
import { onEnter } from "./keys";
import { picking, Problem, useStep } from "./StepShell";
import styles from "./Choices.module.css";

/** The radio value of “none”; no item's id can be it, because the server's ids hold no space. */
const NONE = " none ";
/** A longer reply is known to who listens by its beginning, so that moving among replies does not read all of them out. */
const LONGEST_NAME = 200;

/** So few letters fit beside one another on a phone. */
const SHORT = 20;

/** What goes with replies, and not with a few words. */
export interface Cards {
  /** The replies are long: each has the whole width of its card. */
  long: boolean;
  foldOf: ReturnType<typeof folds>;
  /** Which words of each reply are marked; null: none. */
  marks: readonly (readonly boolean[])[] | null;
}

/** What may be chosen, what is, and what a press does. */
export interface Choosing {
  items: readonly Item[];
  /** The explicit “none”; null where it is not allowed. */
  none?: string | null;
  choice: Choice;
  onItem: (id: string) => void;
  onNone?: () => void;
  /** A pointer has pressed an item, which is chosen by now, or not any more. */
  onPressed?: () => void;
}

export interface ChoicesProps extends Choosing {
  /** Id of the element that asks the question, and the stem of other ids. */
  labelledBy: string;
  /** One may be chosen: radios. Else checkboxes. */
  single: boolean;
  /** The items are whole replies; null: a few words each. */
  cards?: Cards | null;
  /** What is missing; beneath replies it would be out of sight, and stands in the dock (see {@link problemId}). */
  problem: string | null;
  groupRef: Ref<HTMLDivElement>;
}

const NOTHING = () => undefined;

/** Things to choose, equal in size and numbered: a radio group where one may be chosen, checkboxes where several may. */
export function Choices(props: ChoicesProps) {
  const { labelledBy, items, none = null, single, cards = null, choice, problem, groupRef, onPressed = NOTHING } = props;
  const { pending, waiting, send } = useStep();
  const [onItem, onNone] = pending ? [NOTHING, NOTHING] : [props.onItem, props.onNone ?? NOTHING];
  const looks = (chosen: boolean) => picking(styles.choice, chosen, pending && waiting === null);
  const input = (value: string, chosen: boolean, onChange: () => void, name?: string) =>
    single ? (
      <Radio value={value} disabled={waiting !== null} aria-label={name} />
    ) : (
      <Checkbox checked={chosen} disabled={waiting !== null} onChange={onChange} aria-label={name} />
    );
  const mark = (chosen: boolean) => <span className={`${styles.mark} ${single ? "" : styles.box}`}>{chosen && <Check />}</span>;
  const entry = (item: Item, index: number) => {
    const number = index + 1;
    const chosen = choice.selected.includes(item.id);
    const onChange = () => onItem(item.id);
    const name = t("Reply {number}", { number });
    return (
      <label key={item.id} id={cards === null ? undefined : cardId(index)} {...looks(chosen)}>
        {input(item.id, chosen, onChange, cards === null ? undefined : `${name} ${shortened(spoken(item))}`)}
        {/* A reply is known by its number; of an option the number is but a key to press. */}
        {cards !== null && <span className="visually-hidden">{name}</span>}
        <span className={`strong ${styles.badge}`} aria-hidden="true" data-number>
          {number}
        </span>
        {cards === null ? (
          <Reply said={item} className={styles.text} />
        ) : (
          <div className={styles.text}>
            <Fold name={name} {...cards.foldOf(item.id)} judged>
              <Reply said={item} marks={cards.marks?.[index] ?? null} />
            </Fold>
          </div>
        )}
        {mark(chosen)}
      </label>
    );
  };
  const handlers = {
    onKeyDown: (event: KeyboardEvent) => {
      // A button among the replies has a use for the key.
      if (event.target instanceof HTMLInputElement) {
        onEnter(event, send);
      }
    },
    onClick: ({ target, detail }: MouseEvent) => {
      if (detail === 0) {
        return; // a key has made it of itself
      }
      if (target instanceof HTMLInputElement) {
        onPressed();
      } else if (target instanceof Element && target.closest("label, button, [role='group']")?.tagName === "LABEL") {
        setTimeout(onPressed); // once the label has chosen what it is the label of
      }
    },
  };
  const describedBy = problem === null ? {} : { "aria-describedby": problemId(labelledBy) };
  const growing = waiting === null ? {} : { "aria-busy": true, "aria-disabled": true };
  const named = { "aria-labelledby": labelledBy, ...describedBy, ...growing };
  const content: ReactNode = (
    <div
      className={cards === null ? styles.lines : cards.long ? `${styles.cards} ${styles.long}` : styles.cards}
      data-short={items.every(({ text }) => text.length <= SHORT) && (none ?? "").length <= SHORT ? "" : undefined}
    >
      {problem !== null && cards !== null && (
        // For eyes, where the dock that says it stands at the end of the page.
        <p className={`wrong ${styles.lack}`} aria-hidden="true" {...{ [LACK]: "" }}>
          {problem}
        </p>
      )}
      <div className={styles.grid} data-count={items.length}>
        {items.map(entry)}
      </div>
      {none !== null && (
        <div className={styles.none}>
          <label {...looks(choice.none)}>
            {input(NONE, choice.none, onNone)}
            {cards === null && (
              <span className={`strong ${styles.badge}`} aria-hidden="true">
                {0}
              </span>
            )}
            <bdi className={styles.text}>{none}</bdi>
            {mark(choice.none)}
          </label>
        </div>
      )}
    </div>
  );
  return (
    <>
      {single ? (
        <RadioProvider
          value={choice.none ? NONE : (choice.selected[0] ?? null)}
          setValue={(value) => (value === NONE ? onNone() : onItem(String(value)))}
        >
          <RadioGroup ref={groupRef} {...handlers} aria-required {...named}>
            {content}
          </RadioGroup>
        </RadioProvider>
      ) : (
        // The handler serves the checkboxes inside, which are what takes the focus.
        <div ref={groupRef} role="group" {...handlers} {...named}>
          {content}
        </div>
      )}
      {problem !== null && cards === null && <Problem id={problemId(labelledBy)}>{problem}</Problem>}
    </>
  );
}

/** Of the element that says what is missing. */
export function problemId(labelledBy: string): string {
  return `${labelledBy}-problem`;
}

/** Where a bar leads to. */
export function cardId(index: number): string {
  return `card-${index}`;
}

function shortened(text: string): string {
  return text.length <= LONGEST_NAME ? text : `${text.slice(0, LONGEST_NAME).trimEnd()}…`;
}

/** The inputs in shown order, “none” last. */
export function choiceInputs(group: HTMLElement | null): HTMLInputElement[] {
  return Array.from(group?.querySelectorAll("input") ?? []);
}
