/** The rules of a choice among cards or options: how a selection changes, and what it still lacks. Pure. */
import type { Draft } from "../../wire/drafts";
import { t } from "../../language";
import type { ChooseStep, Option, Said, TickStep } from "../../wire/state";
import { reasonProblem } from "./Reason";

export type SelectStep = ChooseStep | TickStep;

export type Choice = Pick<Draft, "selected" | "none">;

/** Something to choose, whatever the step calls it. */
export interface Item extends Said {
  id: string;
}

export interface Missing {
  where: "items" | "reason";
  text: string;
}

export function itemsOf(step: SelectStep): Item[] {
  return step.kind === "choose"
    ? step.cards.map(({ candidate_id: id, ...said }) => ({ id, ...said }))
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
  return step.min_choices > 0 ? null : (step.none_label ?? t("None of these"));
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

/** Questions that say by themselves that something is to be chosen. */
const SAYS_SO = /\b(?:select|choose|tick|check|mark|pick)\b|[选選勾]/i;

/** How many may be chosen, in words; null where the question says it, or one is to be chosen. */
export function howMany(step: SelectStep): string | null {
  if (isSingle(step)) {
    return null;
  }
  const { question, min_choices: least, max_choices: most } = step;
  const all = most >= itemsOf(step).length;
  if (least <= 1) {
    return !all ? t("Choose up to {most}.", { most }) : SAYS_SO.test(question) ? null : t("Choose all that apply.");
  }
  return all ? t("Choose at least {least}.", { least }) : t("Choose {least} to {most}.", { least, most });
}

/** The first thing that keeps the answer from being sent; null when it may go. */
export function missing(step: SelectStep, draft: Draft): Missing | null {
  const { selected, none } = draft;
  const chosen = noneLabel(step) !== null && none;
  if (!chosen && selected.length < Math.max(1, step.min_choices)) {
    return { where: "items", text: chooseFirst(step) };
  }
  const text = reasonProblem(step.reason, draft.text);
  return text === null ? null : { where: "reason", text };
}

function chooseFirst(step: SelectStep): string {
  const none = noneLabel(step);
  const replies = step.kind === "choose";
  if (none !== null) {
    return replies
      ? t("Choose a reply, or “{none}”, before you continue.", { none })
      : t("Choose an answer, or “{none}”, before you continue.", { none });
  }
  const { min_choices: least } = step;
  if (least > 1) {
    return replies
      ? t("Choose at least {least} replies before you continue.", { least })
      : t("Choose at least {least} answers before you continue.", { least });
  }
  return replies ? t("Choose a reply before you continue.") : t("Choose an answer before you continue.");
}

/** Texts of so many characters are long: they want a wider page, and can be compared word by word. */
const LONG = 280;

export function areLong(replies: readonly Said[]): boolean {
  return replies.some(({ text }) => text.length > LONG);
}
