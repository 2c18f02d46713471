import { Checkbox } from "@ariakit/react/checkbox";
import { Radio, RadioGroup, RadioProvider } from "@ariakit/react/radio";
import type { KeyboardEvent, ReactNode, Ref } from "react";
import { Check } from "../../ui/icons";
import type { Choice, Item } from "./choice";
import styles from "./Choices.module.css";

/** The radio value of “none”; no item's id can be it, because the server's ids hold no space. */
const NONE = " none ";

export interface ChoicesProps {
  /** Id of the element that asks the question, and the stem of other ids. */
  labelledBy: string;
  items: readonly Item[];
  /** The explicit “none”; null where it is not allowed. */
  none: string | null;
  /** One may be chosen: radios. Else checkboxes. */
  single: boolean;
  /** `cards` hold a whole reply each; `lines` a few words. */
  look: "cards" | "lines";
  choice: Choice;
  /** The answer is on its way: it is shown and takes no change. */
  locked: boolean;
  problem: string | null;
  groupRef: Ref<HTMLDivElement>;
  onItem: (id: string) => void;
  onNone: () => void;
  /** Enter on an item. */
  onEnter: () => void;
}

/** Things to choose, equal in size and numbered: a radio group where one may be chosen, checkboxes where several may. */
export function Choices(props: ChoicesProps) {
  const { labelledBy, items, none, single, look, choice, locked, problem, groupRef, onItem, onNone, onEnter } = props;
  const entry = (id: string, text: string, badge: number | null, chosen: boolean, onChange: () => void) => (
    <ChoiceLabel key={id} chosen={chosen} locked={locked} badge={badge} look={look} text={text} box={!single}>
      {single ? (
        <Radio value={id} className={styles.input} />
      ) : (
        <Checkbox checked={chosen} onChange={onChange} className={styles.input} />
      )}
    </ChoiceLabel>
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      onEnter();
    }
  };
  const problemId = `${labelledBy}-problem`;
  const named = { "aria-labelledby": labelledBy, ...(problem === null ? {} : { "aria-describedby": problemId }) };
  const content = (
    <div className={styles[look]}>
      <div className={styles.grid} data-count={items.length}>
        {items.map((item, index) =>
          entry(item.id, item.text, index + 1, choice.selected.includes(item.id), () => onItem(item.id)),
        )}
      </div>
      {none !== null && <div className={styles.none}>{entry(NONE, none, null, choice.none, onNone)}</div>}
    </div>
  );
  return (
    <>
      {single ? (
        <RadioProvider
          value={choice.none ? NONE : (choice.selected[0] ?? null)}
          setValue={(value) => (value === NONE ? onNone() : onItem(String(value)))}
        >
          <RadioGroup ref={groupRef} onKeyDown={onKeyDown} aria-required {...named}>
            {content}
          </RadioGroup>
        </RadioProvider>
      ) : (
        // The handler serves the checkboxes inside, which are what takes the focus.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
        <div ref={groupRef} role="group" onKeyDown={onKeyDown} {...named}>
          {content}
        </div>
      )}
      {problem !== null && (
        <p role="alert" id={problemId} className={styles.problem}>
          {problem}
        </p>
      )}
    </>
  );
}

interface ChoiceLabelProps {
  chosen: boolean;
  locked: boolean;
  badge: number | null;
  look: ChoicesProps["look"];
  text: string;
  /** A box that awaits its tick says that several may be chosen. */
  box: boolean;
  /** The radio or the checkbox. */
  children: ReactNode;
}

function ChoiceLabel({ chosen, locked, badge, look, text, box, children }: ChoiceLabelProps) {
  const looks = [styles.choice, chosen ? styles.chosen : "", locked ? styles.locked : ""].join(" ");
  return (
    <label className={looks}>
      {children}
      {badge !== null && (
        // A reply is known by its number; of an option the number is but a key to press.
        <span className={styles.badge} aria-hidden={look === "lines"}>
          {look === "cards" && <span className="visually-hidden">Reply </span>}
          {badge}
        </span>
      )}
      <span className={styles.text}>{text}</span>
      <span className={`${styles.mark} ${box ? styles.box : ""}`}>{chosen && <Check />}</span>
    </label>
  );
}

/** The inputs in shown order, “none” last. */
export function choiceInputs(group: HTMLElement | null): HTMLInputElement[] {
  return Array.from(group?.querySelectorAll("input") ?? []);
}
