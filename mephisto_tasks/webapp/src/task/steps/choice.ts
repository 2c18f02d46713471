/** The rules of a choice among cards or options: how a selection changes, and what it still lacks. Pure. */
import type { Draft } from "../../wire/drafts";
import type { ChooseStep, Option, TickStep } from "../../wire/state";
import { MAX_TEXT } from "../../wire/answers";
import { textProblem } from "./TextField";

export type SelectStep = ChooseStep | TickStep;

export type Choice = Pick<Draft, "selected" | "none">;

/** Something to choose, whatever the step calls it. */
export interface Item {
  id: string;
  text: string;
}

export interface Missing {
  where: "items" | "reason";
  text: string;
}

export function itemsOf(step: SelectStep): Item[] {
  return step.kind === "choose"
    ? step.cards.map((card) => ({ id: card.candidate_id, text: card.text }))
    : optionItems(step.options);
}

export function optionItems(options: readonly Option[]): Item[] {
  return options.map((option) => ({ id: option.option_id, text: option.label }));
}

/** The draft without ids that this step does not show: nobody could take such a choice back. */
export function shownDraft(step: SelectStep, draft: Draft): Draft {
  const shown = itemsOf(step).map((item) => item.id);
  return { ...draft, selected: draft.selected.filter((id) => shown.includes(id)) };
}

export function isSingle(step: SelectStep): boolean {
  return step.max_choices <= 1;
}

/** The explicit “none”; only where choosing nothing is allowed. */
export function noneLabel(step: SelectStep): string | null {
  return step.min_choices > 0 ? null : (step.none_label ?? "None of these");
}

/** Chooses an item, or takes it back where several may be chosen. One beyond the limit changes nothing. */
export function toggleItem(step: SelectStep, choice: Choice, id: string): Choice {
  if (isSingle(step)) {
    return { selected: [id], none: false };
  }
  if (choice.selected.includes(id)) {
    return { selected: choice.selected.filter((other) => other !== id), none: false };
  }
  if (choice.selected.length >= step.max_choices) {
    return choice;
  }
  const shown = itemsOf(step).map((item) => item.id);
  const selected = [...choice.selected, id].sort((a, b) => shown.indexOf(a) - shown.indexOf(b));
  return { selected, none: false };
}

/** “None” empties the selection; where several may be chosen it can be taken back. */
export function toggleNone(step: SelectStep, choice: Choice): Choice {
  return { selected: [], none: isSingle(step) || !choice.none };
}

/** How many may be chosen, in words; null where the question alone says it. */
export function howMany(step: SelectStep): string | null {
  if (isSingle(step)) {
    return null;
  }
  const all = step.max_choices >= itemsOf(step).length;
  if (step.min_choices <= 1) {
    return all ? "Choose all that apply." : `Choose up to ${step.max_choices}.`;
  }
  return all ? `Choose at least ${step.min_choices}.` : `Choose ${step.min_choices} to ${step.max_choices}.`;
}

/** The first thing that keeps the answer from being sent; null when it may go. */
export function missing(step: SelectStep, draft: Draft): Missing | null {
  const { selected, none } = draft;
  const chosen = noneLabel(step) !== null && none;
  if (!chosen && selected.length < Math.max(1, step.min_choices)) {
    return { where: "items", text: chooseFirst(step) };
  }
  if (step.reason === null) {
    return null;
  }
  const written = draft.text.trim() !== "";
  const minWords = step.reason.required || written ? step.reason.min_words : 0;
  const text = textProblem(draft.text, "Your reason", step.reason.required ? Math.max(1, minWords) : minWords, MAX_TEXT);
  return text === null ? null : { where: "reason", text };
}

function chooseFirst(step: SelectStep): string {
  const [one, several] = step.kind === "choose" ? ["a reply", "replies"] : ["an answer", "answers"];
  const none = noneLabel(step);
  if (none !== null) {
    return `Choose ${one}, or “${none}”, before you go on.`;
  }
  return step.min_choices > 1
    ? `Choose at least ${step.min_choices} ${several} before you go on.`
    : `Choose ${one} before you go on.`;
}
