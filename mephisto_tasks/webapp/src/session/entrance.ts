import type { Crowd } from "../wire/crowd";

/** What MTurk says in place of an assignment while a worker only looks. */
const MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE";

/** Where a visitor stands: in the task, at a preview that may start by itself, or at one that needs the HIT accepted. */
export function entrance(crowd: Crowd, providerType: string): "task" | "fresh" | "accept_first" {
  const { workerName, assignmentId } = crowd;
  if (assignmentId === MTURK_PREVIEW) {
    return "accept_first";
  }
  if (workerName && assignmentId) {
    return "task";
  }
  return providerType === "mock" ? "fresh" : "accept_first";
}
