import { Checkbox } from "@ariakit/react/checkbox";
import { Radio, RadioGroup, RadioProvider } from "@ariakit/react/radio";
import type { KeyboardEvent, ReactNode, Ref } from "react";
import type { ChooseStep } from "../../wire/state";
import { Check } from "../../ui/icons";
import { type Choice, isSingle, noneLabel } from "./choice";
import styles from "./Cards.module.css";

/** The radio value of “none”; no candidate id can be it, because the server's ids hold no space. */
const NONE = " none ";

export interface CardsProps {
  step: ChooseStep;
  choice: Choice;
  /** The answer is on its way: the cards show it and take no change. */
  locked: boolean;
  problem: string | null;
  groupRef: Ref<HTMLDivElement>;
  onCard: (candidateId: string) => void;
  onNone: () => void;
  /** Enter on a card. */
  onEnter: () => void;
}

/** Whole cards, equal in size: a radio group where one may be chosen, checkboxes where several may. */
export function Cards({ step, choice, locked, problem, groupRef, onCard, onNone, onEnter }: CardsProps) {
  const none = noneLabel(step);
  const single = isSingle(step);
  const cards = step.cards.map((card, index) => (
    <CardLabel
      key={card.candidate_id}
      chosen={choice.selected.includes(card.candidate_id)}
      locked={locked}
      badge={index + 1}
      text={card.text}
      input={
        single ? (
          <Radio value={card.candidate_id} className={styles.input} />
        ) : (
          <Checkbox
            checked={choice.selected.includes(card.candidate_id)}
            onChange={() => onCard(card.candidate_id)}
            className={styles.input}
          />
        )
      }
    />
  ));
  const noneCard = none !== null && (
    <CardLabel
      chosen={choice.none}
      locked={locked}
      badge={null}
      text={none}
      input={
        single ? (
          <Radio value={NONE} className={styles.input} />
        ) : (
          <Checkbox checked={choice.none} onChange={onNone} className={styles.input} />
        )
      }
    />
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      onEnter();
    }
  };
  const described = problem === null ? {} : { "aria-describedby": "cards-problem" };
  const content = (
    <>
      <div className={styles.grid} data-count={step.cards.length}>
        {cards}
      </div>
      {noneCard && <div className={styles.none}>{noneCard}</div>}
    </>
  );
  return (
    <>
      {single ? (
        <RadioProvider
          value={choice.none ? NONE : (choice.selected[0] ?? null)}
          setValue={(value) => (value === NONE ? onNone() : onCard(String(value)))}
        >
          <RadioGroup ref={groupRef} onKeyDown={onKeyDown} aria-labelledby="question" aria-required {...described}>
            {content}
          </RadioGroup>
        </RadioProvider>
      ) : (
        // The handler serves the checkboxes inside, which are what takes the focus.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
        <div ref={groupRef} role="group" aria-labelledby="question" onKeyDown={onKeyDown} {...described}>
          {content}
        </div>
      )}
      {problem !== null && (
        <p role="alert" id="cards-problem" className={styles.problem}>
          {problem}
        </p>
      )}
    </>
  );
}

interface CardLabelProps {
  chosen: boolean;
  locked: boolean;
  badge: number | null;
  text: string;
  input: ReactNode;
}

function CardLabel({ chosen, locked, badge, text, input }: CardLabelProps) {
  const looks = [styles.card, chosen ? styles.chosen : "", locked ? styles.locked : ""].join(" ");
  return (
    <label className={looks}>
      {input}
      {badge !== null && (
        <span className={styles.badge}>
          <span className="visually-hidden">Reply </span>
          {badge}
        </span>
      )}
      <span className={styles.text}>{text}</span>
      <span className={styles.mark}>{chosen && <Check />}</span>
    </label>
  );
}
