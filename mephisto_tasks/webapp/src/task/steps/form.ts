/** The rules of a form: what counts as answered, what it still lacks, and what it answers. Pure. */
import type { Draft } from "../../wire/drafts";
import type { FormQuestion, FormStep } from "../../wire/state";
import { t, tn } from "../../language";

export type Picks = Readonly<Record<string, string>>;

/** The options chosen of this step's questions; what a draft holds beyond them is left out. */
export function picked(step: FormStep, picks: Picks): Record<string, string> {
  const kept = step.questions.flatMap(({ question_id: id, options }) => {
    const option = Object.hasOwn(picks, id) ? picks[id] : undefined;
    return option !== undefined && options.some((one) => one.option_id === option) ? [[id, option] as const] : [];
  });
  return Object.fromEntries(kept);
}

/** Questions without an answer, in shown order. */
export function unanswered(step: FormStep, picks: Picks): FormQuestion[] {
  return step.questions.filter(({ question_id: id }) => !Object.hasOwn(picks, id));
}

/** The question that a number key answers: the one that has the focus, else the first open one, else the last. */
export function keyQuestion(step: FormStep, picks: Picks, focused: FormQuestion | undefined): FormQuestion | undefined {
  return focused ?? unanswered(step, picks)[0] ?? step.questions.at(-1);
}

export function reasonOf(question: FormQuestion, reasons: Draft["reasons"]): string {
  return Object.hasOwn(reasons, question.question_id) ? (reasons[question.question_id] ?? "") : "";
}

/** The reasons that this step asks for, also those that were left empty. */
export function askedReasons(step: FormStep, reasons: Draft["reasons"]): Record<string, string> {
  const asked = step.questions.filter(({ reason }) => reason !== null);
  return Object.fromEntries(asked.map((question) => [question.question_id, reasonOf(question, reasons)]));
}

/** Names what is not answered: all of it where it is little, else how much and where it begins. */
export function missingWords({ questions }: FormStep, missing: readonly FormQuestion[]): string {
  const [first] = missing;
  if (first === undefined || questions.length === 1) {
    return first === undefined ? "" : t("Choose an answer before you continue.");
  }
  return missing.length === 1
    ? t("Not answered yet: “{question}”", { question: first.text })
    : tn("{n} question still needs an answer. The first: “{question}”", "{n} questions still need an answer. The first: “{question}”", missing.length, {
        question: first.text,
      });
}

export interface Group {
  name: string | null;
  questions: FormQuestion[];
}

/** The questions under the names of their groups, each where its first question stands. */
export function groups(questions: readonly FormQuestion[]): Group[] {
  const names = [...new Set(questions.map(({ group }) => group))];
  return names.map((name) => ({ name, questions: questions.filter(({ group }) => group === name) }));
}
