import { useMemo, useRef, useState } from "react";
import { t } from "../../language";
import { MAX_TEXT } from "../../wire/answers";
import type { RankStep } from "../../wire/state";
import { differences } from "../differences";
import { Dock, leadTo } from "../Dock";
import { Reply } from "../Reply";
import { replyPlaces } from "../JumpBar";
import { useDraft } from "../useDraft";
import { areLong } from "./choice";
import { Differences } from "./Differences";
import { Fold } from "./Fold";
import { wordsWanted } from "./form";
import { OptionRow } from "./OptionRow";
import { Question } from "./Question";
import { give, knownPlaces, letter, nameOf, order, type Places, unplaced } from "./ranking";
import type { StepProps } from "./step";
import { StepFoot, StepForm } from "./StepForm";
import { TextField, textProblem } from "./TextField";
import { keyRange, useEnterKey, useNumberKeys } from "./keys";
import { useComplaint } from "./useComplaint";
import styles from "./Rank.module.css";
import stepStyles from "./Steps.module.css";

/** Give every reply a place. A place that another reply has is taken from it, unless several may share one. */
export function RankStepView({ step, keptUnder, pending, onAnswer }: StepProps<RankStep>) {
  const list = useRef<HTMLUListElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const [draft, change] = useDraft(keptUnder, step.step_id);
  const [complaint, complain] = useComplaint();
  const [told, setTold] = useState<string | null>(null);
  const [comparing, setComparing] = useState(false);
  const long = areLong(step.cards);
  const marks = useMemo(() => (comparing ? differences(step.cards) : null), [comparing, step]);

  const places = knownPlaces(step, draft.values);
  const open = unplaced(step, places);
  const [firstOpen] = open;
  const words = step.reason === null ? 0 : wordsWanted(step.reason, draft.text);
  const reasonLack = step.reason === null ? null : textProblem(draft.text, t("Your reason"), words, MAX_TEXT);
  const put = (id: string, place: number) => {
    if (!pending) {
      const next = give(step, places, id, place);
      change({ values: next.places });
      setTold(next.told);
    }
  };
  useNumberKeys((number) => {
    const focused = focusedCard(list.current);
    const index = focused ?? (firstOpen === undefined ? -1 : step.cards.indexOf(firstOpen));
    const card = step.cards[index];
    if (card === undefined || number < 1 || number > step.cards.length || pending) {
      return;
    }
    const id = card.candidate_id;
    put(id, number);
    // A first place leads on to the next reply without one, also if that gets the last one by itself; a changed one does not.
    const after = give(step, places, id, number).places;
    const others = [...unplaced(step, after), ...open.filter((other) => other !== card)];
    const next = (open.includes(card) ? others[0] : undefined) ?? card;
    radios(list.current, step.cards.indexOf(next))[(after[next.candidate_id] ?? 1) - 1]?.focus();
  }, { field, begun: draft.text !== "" });
  const send = () => {
    if (pending) {
      return;
    }
    if (firstOpen !== undefined || reasonLack !== null) {
      complain(firstOpen === undefined ? "reason" : "items", draft.text === "");
      if (firstOpen === undefined) {
        leadTo(field.current);
      } else {
        radios(list.current, step.cards.indexOf(firstOpen))[0]?.focus();
      }
      return;
    }
    onAnswer({ kind: "rank", step_id: step.step_id, ranks: places, reason: step.reason === null ? "" : draft.text });
  };
  useEnterKey(send);

  const options = step.cards.map((_, index) => ({ id: String(index + 1), label: String(index + 1) }));
  return (
    <>
      <Question
        text={step.question}
        detail={howTo(step)}
        long={long}
        many={step.cards.length > 3}
        parts={long ? replyPlaces(step.cards.map((card) => nameOf(step, card.candidate_id)), rankId) : []}
      />
      <StepForm labelledBy="question" look="through" onSend={send}>
        {long && <Differences shown={comparing} marks={marks} onShow={setComparing} />}
        <ul ref={list} className={styles.cards}>
          {step.cards.map((card, index) => {
            const id = card.candidate_id;
            const missing = complaint === "items" && !Object.hasOwn(places, id);
            const name = t("Reply {letter}", { letter: letter(index) });
            return (
              <li key={id} id={rankId(index)} className={styles.card} data-card={index} data-missing={missing ? "" : undefined}>
                <div className={styles.reply}>
                  <p className={styles.name}>{name}</p>
                  <Fold
                    name={name}
                    open={draft.open.includes(id)}
                    onOpen={(open) => change({ open: open ? [...draft.open, id] : draft.open.filter((other) => other !== id) })}
                  >
                    <Reply said={card} marks={marks?.[index] ?? null} />
                  </Fold>
                </div>
                <div className={styles.place}>
                  <span className={styles.caption} aria-hidden="true">
                    {t("Place")}
                  </span>
                  <span id={`place-${index}`} hidden>
                    {t("Place of reply {letter}", { letter: letter(index) })}
                  </span>
                  <OptionRow
                    labelledBy={`place-${index}`}
                    describedBy={missing ? `place-${index}-missing` : null}
                    options={options}
                    value={Object.hasOwn(places, id) ? String(places[id]) : null}
                    locked={pending}
                    look="numbers"
                    onPick={(place) => put(id, Number(place))}
                    onSend={send}
                  />
                  {missing && (
                    <span id={`place-${index}-missing`} className={styles.missing}>
                      {t("No place yet")}
                    </span>
                  )}
                </div>
              </li>
            );
          })}
        </ul>
        <Dock>
          <Summary step={step} places={places} told={told} />
          {complaint === "items" && open.length > 0 && (
            <p role="alert" className={stepStyles.problem}>
              {t("Still without a place: {replies}.", { replies: open.map((card) => nameOf(step, card.candidate_id)).join(", ") })}
            </p>
          )}
          {step.reason !== null && (
            <TextField
              id="reason"
              label={step.reason.required ? step.reason.label : t("{label} (optional)", { label: step.reason.label })}
              value={draft.text}
              onChange={(text) => change({ text })}
              minWords={words}
              maxChars={MAX_TEXT}
              problem={complaint === "reason" && open.length === 0 ? reasonLack : null}
              readOnly={pending}
              fieldRef={field}
              onSend={send}
            />
          )}
          <StepFoot
            send={t("Continue")}
            unready={open.length > 0 || reasonLack !== null}
            pending={pending}
            keys={t("Keys: {keys} to place one reply after the other, Enter to continue.", { keys: keyRange(step.cards.length) })}
          />
        </Dock>
      </StepForm>
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
        <p>{t("No reply has a place yet.")}</p>
      ) : (
        <ol aria-labelledby="order">
          {placed.map(({ place, names }) => (
            <li key={place}>
              <b>{place}</b> {names.join(", ")}
            </li>
          ))}
        </ol>
      )}
      <p role="status">{told}</p>
    </div>
  );
}

function howTo({ ties }: RankStep): string {
  return ties ? t("1 is the best. Several replies may share a place.") : t("1 is the best. Every place is given once.");
}

/** Where a bar leads to. */
function rankId(index: number): string {
  return `rank-${index}`;
}

/** Which card has the focus, by its place in the list; null when none has. */
function focusedCard(list: HTMLElement | null): number | null {
  const card = document.activeElement?.closest<HTMLElement>("[data-card]");
  return card && list?.contains(card) ? Number(card.dataset.card) : null;
}

function radios(list: HTMLElement | null, index: number): HTMLInputElement[] {
  return Array.from(list?.querySelectorAll<HTMLInputElement>(`[data-card="${index}"] input`) ?? []);
}
