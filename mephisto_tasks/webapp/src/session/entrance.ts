import type { TaskConfig } from "../wire/config";
import type { Crowd } from "../wire/crowd";

/** Where a visitor stands: in the task, at a preview that may start by itself, or at one that needs a unit accepted. */
export function entrance({ workerName, assignmentId }: Crowd, entry: TaskConfig["entry"]): "task" | "fresh" | "accept_first" {
  if (workerName && assignmentId) {
    return "task";
  }
  return entry === "start" ? "fresh" : "accept_first";
}
