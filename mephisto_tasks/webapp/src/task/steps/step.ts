import type { AnswerBody } from "../../wire/answers";

/** What every component of a step that awaits an answer gets. */
export interface StepProps<S> {
  step: S;
  keptUnder: string;
  /** The answer is on its way: nothing may be changed or sent twice. */
  pending: boolean;
  onAnswer: (body: AnswerBody) => void;
}
