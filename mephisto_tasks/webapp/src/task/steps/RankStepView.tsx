import { useRef, useState } from "react";
import { t } from "../../language";
import type { RankStep } from "../../wire/state";
import { Dock, leadTo } from "../Dock";
import { Reply } from "../Reply";
import { replyPlaces } from "../JumpBar";
import { useDraft } from "../useDraft";
import { areLong } from "./choice";
import { useDifferences } from "./Differences";
import { Fold, folds } from "./Fold";
import { keyRange } from "./keys";
import { OptionRow } from "./OptionRow";
import { Question } from "./Question";
import { give, knownPlaces, letter, nameOf, order, type Places, unplaced } from "./ranking";
import { Reason, reasonProblem } from "./Reason";
import { focusedPart, inputsOf, Problem, StepFoot, type StepProps, StepShell, useShell } from "./StepShell";
import styles from "./Rank.module.css";

/** Give every reply a place. A place that another reply has is taken from it, unless several may share one. */
export function RankStepView({ step, keptUnder, pending, onAnswer }: StepProps<RankStep>) {
  const list = useRef<HTMLUListElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);
  const [told, setTold] = useState<string | null>(null);
  const { cards, reason } = step;
  const long = areLong(cards);
  const { marks, button, note } = useDifferences(cards);
  const foldOf = folds(draft.open, (open) => change({ open }));

  const places = knownPlaces(step, draft.values);
  const open = unplaced(step, places);
  const [firstOpen] = open;
  const put = (id: string, place: number) => {
    const next = give(step, places, id, place);
    change({ values: next.places });
    setTold(next.told);
  };
  const shell = useShell({
    pending,
    lack: firstOpen
      ? { where: "items", lead: () => inputsOf(list.current, cards.indexOf(firstOpen))[0]?.focus() }
      : reasonProblem(reason, draft.text) === null
        ? null
        : { where: "reason", untouched: draft.text === "", lead: () => leadTo(field.current) },
    answer: () => onAnswer({ kind: "rank", step_id: step.step_id, ranks: places, reason: reason === null ? "" : draft.text }),
    onNumber: (number) => {
      const card = cards[focusedPart(list.current)] ?? firstOpen;
      if (card === undefined || number < 1 || number > cards.length) {
        return;
      }
      const id = card.candidate_id;
      put(id, number);
      // A first place leads on to the next reply without one, also if that gets the last one by itself; a changed one does not.
      const after = give(step, places, id, number).places;
      const others = [...unplaced(step, after), ...open.filter((other) => other !== card)];
      const next = (open.includes(card) ? others[0] : undefined) ?? card;
      inputsOf(list.current, cards.indexOf(next))[(after[next.candidate_id] ?? 1) - 1]?.focus();
    },
    writing: { field, begun: draft.text !== "" },
  });

  const options = cards.map((_, index) => ({ id: String(index + 1), label: String(index + 1) }));
  return (
    <>
      <Question
        text={step.question}
        detail={howTo(step)}
        long={long}
        parts={long ? replyPlaces(cards.map((card) => nameOf(step, card.candidate_id)), rankId) : []}
        tool={button}
      />
      <StepShell shell={shell} labelledBy="question" look="through">
        {note}
        <ul ref={list} className={styles.cards}>
          {cards.map((card, index) => {
            const id = card.candidate_id;
            const missing = shell.said === "items" && !Object.hasOwn(places, id);
            const name = nameOf(step, id);
            return (
              <li key={id} id={rankId(index)} className={`card cluster ${styles.card}`} data-card={index} data-missing={missing ? "" : undefined}>
                <div className={styles.reply}>
                  <p className="soft strong">{name}</p>
                  <Fold name={name} {...foldOf(id)} judged>
                    <Reply said={card} as="p" marks={marks?.[index] ?? null} />
                  </Fold>
                </div>
                <div className={`cluster ${styles.place}`}>
                  <span className="soft" aria-hidden="true">
                    {t("Rank")}
                  </span>
                  <span id={`place-${index}`} hidden>
                    {t("Rank of reply {letter}", { letter: letter(index) })}
                  </span>
                  <OptionRow
                    labelledBy={`place-${index}`}
                    describedBy={missing ? `place-${index}-missing` : undefined}
                    options={options}
                    value={Object.hasOwn(places, id) ? String(places[id]) : null}
                    look="numbers"
                    onPick={(place) => put(id, Number(place))}
                  />
                  {missing && (
                    <span id={`place-${index}-missing`} className="wrong">
                      {t("No rank yet")}
                    </span>
                  )}
                </div>
              </li>
            );
          })}
        </ul>
        <Dock>
          <Summary step={step} places={places} told={told} />
          {shell.said === "items" && (
            <Problem>{t("Not ranked yet: {replies}.", { replies: open.map((card) => nameOf(step, card.candidate_id)).join(", ") })}</Problem>
          )}
          {reason !== null && (
            <Reason asked={reason} text={draft.text} said={shell.said === "reason"} fieldRef={field} onText={(text) => change({ text })} />
          )}
          <StepFoot keys={t("Keys: {keys} to rank one reply after the other, Enter to continue.", { keys: keyRange(cards.length) })} />
        </Dock>
      </StepShell>
    </>
  );
}

/** The order so far, and what became of a reply that had to give way. */
function Summary({ step, places, told }: { step: RankStep; places: Places; told: string | null }) {
  const placed = order(step, places);
  return (
    <div className={styles.summary}>
      <h3 id="order">{t("Your order")}</h3>
      {placed.length === 0 ? (
        <p className="soft">{t("You have not ranked any reply yet.")}</p>
      ) : (
        <ol className="cluster" aria-labelledby="order">
          {placed.map(({ place, names }) => (
            <li key={place}>
              <b>{place}</b> {names.join(", ")}
            </li>
          ))}
        </ol>
      )}
      <p role="status" className="soft">
        {told}
      </p>
    </div>
  );
}

function howTo({ ties }: RankStep): string {
  return ties ? t("1 is the best. Several replies may share a rank.") : t("1 is the best. Use every rank once.");
}

/** Where a bar leads to. */
function rankId(index: number): string {
  return `rank-${index}`;
}
