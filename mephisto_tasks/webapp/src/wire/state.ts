/**
 * What the server tells the page to show, and what the page answers: the models of `parlai_humaneval/schema`, checked on
 * arrival.
 *
 * Unknown extra fields are let through, so that a newer server can still speak to a page that was loaded earlier.
 */
import * as v from "valibot";
import { read } from "./read";
import { type Answer, type Card, type PageState, PageStateSchema, type Scale, type Step } from "./schema.gen";

export type * from "./schema.gen";
export { AnswerSchema, MAX_TEXT } from "./schema.gen";

/** An answer as a step makes it; the session adds its `update_id`. */
export type AnswerBody = Answer extends infer A ? (A extends Answer ? Omit<A, "update_id"> : never) : never;

/** Something that was said: `text` is what is recorded, `markup` how it is drawn, where it is more than its words. */
export type Said = Pick<Card, "text" | "markup" | "images">;

const UpdateSchema = v.object({ kind: v.literal("state"), state: v.unknown() });
const VersionedSchema = v.object({ kind: v.literal("state"), state: v.object({ version: v.number() }) });

export type Parsed = { ok: true; state: PageState } | { ok: false; error: string };

/** The state inside an update; null for an update of another kind (Mephisto also replays what the worker sent). */
export function parseUpdate(update: unknown): Parsed | null {
  const outer = read(UpdateSchema, update);
  if (outer === null) {
    return null;
  }
  const { success, output, issues } = v.safeParse(PageStateSchema, outer.state);
  const wrong = success ? faults(output) : issues.map((issue) => `${v.getDotPath(issue) ?? "state"}: ${issue.message}`);
  return success && wrong.length === 0 ? { ok: true, state: output } : { ok: false, error: wrong.join("; ") };
}

/** The state update with the greatest version among those replayed; null when there is none. */
export function newestUpdate(updates: readonly unknown[]): unknown {
  const versions = updates.map((update) => read(VersionedSchema, update)?.state.version ?? -Infinity);
  const greatest = Math.max(...versions);
  return greatest === -Infinity ? null : updates[versions.indexOf(greatest)];
}

/** What the page keeps under for a unit of work: its own key, the same after a relaunch; or its agent, where it has none. */
export function keptUnder(state: PageState, agentId: string): string {
  return state.unit || agentId;
}

/** The id of the step that awaits an answer; null for the two kinds that await none. */
export function answerableStepId(step: Step): string | null {
  return step.kind === "wait" || step.kind === "end" ? null : step.step_id;
}

/** The step whose parts are in view: while replies grow, the one that is coming. */
export function stepInView(step: Step): Step {
  return (step.kind === "wait" ? step.coming : null) ?? step;
}

/** True for an end that only says goodbye: nothing is sent, and nothing more will come. */
export function staysAtEnd(step: Step): boolean {
  return step.kind === "end" && step.next === "stay";
}

/** More radio buttons than this fit in no row and are surely a mistake. */
const MOST_POINTS = 21;
/** As many places as a server takes (`RankAnswer` of panels.py). */
const MOST_PLACES = 50;

/** What the models do not say: states that could not be shown, or not be answered. */
function faults({ columns, transcript, panels, step: shown }: PageState): string[] {
  const step = stepInView(shown);
  const offered = idsIn(step);
  const found: [boolean, string][] = [
    [transcript.some(({ column }) => column !== null && columns[column] === undefined), "An entry of the transcript is in a column that does not exist."],
    [panels.length > 2, "There are more than two panels."],
    [offered.some((ids) => ids.length === 0), "There is nothing to choose, to rate or to answer."],
    [offered.some((ids) => new Set(ids).size < ids.length), "Two things to answer have the same id."],
    [step.kind === "tick" && step.max_choices < 1, "Nothing may be ticked."],
    [step.kind === "rank" && step.cards.length > MOST_PLACES, `There are more than ${MOST_PLACES} replies to rank.`],
    [step.kind === "rate" && !step.scales.every(isSound), `A scale needs a minimum below its maximum. A scale of points needs whole numbers, at most ${MOST_POINTS}, with a label and a hint for each or for none.`],
  ];
  return found.flatMap(([wrong, sentence]) => (wrong ? [sentence] : []));
}

function idsIn(step: Step): string[][] {
  switch (step.kind) {
    case "choose":
    case "rank":
      return [step.cards.map((card) => card.candidate_id)];
    case "tick":
      return [step.options.map((option) => option.option_id)];
    case "rate":
      return [step.scales.map((scale) => scale.scale_id)];
    case "form":
      return [step.questions.map((question) => question.question_id), ...step.questions.map(({ options }) => options.map((option) => option.option_id))];
    default:
      return [];
  }
}

function isSound({ style, minimum, maximum, labels, hints }: Scale): boolean {
  const count = maximum - minimum + 1;
  const pointed = Number.isInteger(minimum) && Number.isInteger(maximum) && count <= MOST_POINTS;
  return minimum < maximum && (style === "slider" || (pointed && [labels, hints].every(({ length }) => length === 0 || length === count)));
}
