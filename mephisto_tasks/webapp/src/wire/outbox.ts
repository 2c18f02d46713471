/** Answers that the world has not confirmed yet, kept across reloads under the same `update_id`. */
import * as v from "valibot";
import { type Answer, AnswerSchema } from "./state";
import { read } from "./read";
import { store } from "./storage";

const AnswersSchema = v.array(AnswerSchema);

export class Outbox {
  private readonly key: string;
  private waiting: Answer[];

  /** `unit`: whose answers these are, the same for all visits to it. */
  constructor(readonly unit: string) {
    this.key = `outbox:${unit}`;
    this.waiting = read(AnswersSchema, store.read(this.key)) ?? [];
  }

  get answers(): readonly Answer[] {
    return this.waiting;
  }

  forStep(stepId: string): Answer | null {
    return this.waiting.find((answer) => answer.step_id === stepId) ?? null;
  }

  add(answer: Answer): void {
    this.keep([...this.waiting, answer]);
  }

  /**
   * Takes out what a new state settles, and returns it: the confirmed answers, and those whose step has given way to
   * another that awaits an answer (their confirmation was in a state that this page never saw).
   */
  settle(confirmed: readonly string[], openStepId: string | null): Answer[] {
    const settled = this.waiting.filter(
      (answer) =>
        confirmed.includes(answer.update_id) || (openStepId !== null && answer.step_id !== openStepId),
    );
    if (settled.length > 0) {
      this.keep(this.waiting.filter((answer) => !settled.includes(answer)));
    }
    return settled;
  }

  private keep(answers: Answer[]): void {
    this.waiting = answers;
    if (answers.length === 0) {
      store.remove(this.key);
    } else {
      store.write(this.key, answers);
    }
  }
}
