/** The rules of a choice: how a selection changes, and what it still lacks. Pure. */
import type { Draft } from "../../wire/drafts";
import type { ChooseStep } from "../../wire/state";
import { MAX_TEXT } from "../../wire/answers";
import { textProblem } from "./TextField";

export type Choice = Pick<Draft, "selected" | "none">;

export interface Missing {
  where: "cards" | "reason";
  text: string;
}

export function isSingle(step: ChooseStep): boolean {
  return step.max_choices <= 1;
}

/** The explicit “none”; only where choosing nothing is allowed. */
export function noneLabel(step: ChooseStep): string | null {
  return step.min_choices > 0 ? null : (step.none_label ?? "None of these");
}

/** Chooses a card, or takes it back where several may be chosen. A card beyond the limit changes nothing. */
export function toggleCard(step: ChooseStep, choice: Choice, cardId: string): Choice {
  if (isSingle(step)) {
    return { selected: [cardId], none: false };
  }
  if (choice.selected.includes(cardId)) {
    return { selected: choice.selected.filter((id) => id !== cardId), none: false };
  }
  if (choice.selected.length >= step.max_choices) {
    return choice;
  }
  const shown = step.cards.map((card) => card.candidate_id);
  const selected = [...choice.selected, cardId].sort((a, b) => shown.indexOf(a) - shown.indexOf(b));
  return { selected, none: false };
}

/** “None” empties the selection; where several may be chosen it can be taken back. */
export function toggleNone(step: ChooseStep, choice: Choice): Choice {
  return { selected: [], none: isSingle(step) || !choice.none };
}

/** How many may be chosen, in words; null where the question alone says it. */
export function howMany(step: ChooseStep): string | null {
  if (isSingle(step)) {
    return null;
  }
  const all = step.max_choices >= step.cards.length;
  if (step.min_choices <= 1) {
    return all ? "Choose all that apply." : `Choose up to ${step.max_choices}.`;
  }
  return all ? `Choose at least ${step.min_choices}.` : `Choose ${step.min_choices} to ${step.max_choices}.`;
}

/** The first thing that keeps the answer from being sent; null when it may go. */
export function missing(step: ChooseStep, draft: Draft): Missing | null {
  const { selected, none } = draft;
  if (!none && selected.length < Math.max(1, step.min_choices)) {
    return { where: "cards", text: chooseFirst(step) };
  }
  if (step.reason === null) {
    return null;
  }
  const written = draft.text.trim() !== "";
  const minWords = step.reason.required || written ? step.reason.min_words : 0;
  const text = textProblem(draft.text, "Your reason", step.reason.required ? Math.max(1, minWords) : minWords, MAX_TEXT);
  return text === null ? null : { where: "reason", text };
}

function chooseFirst(step: ChooseStep): string {
  const none = noneLabel(step);
  if (none !== null) {
    return `Choose a reply, or “${none}”, before you go on.`;
  }
  return step.min_choices > 1
    ? `Choose at least ${step.min_choices} replies before you go on.`
    : "Choose a reply before you go on.";
}
