/** Mephisto's final agent statuses in a rater's words. */

const CLOSED: Readonly<Record<string, string>> = {
  timeout: "The time for this task ran out, so it was closed. What you wrote and chose until then is saved.",
  expired: "This task was closed by its owner. What you wrote and chose until then is saved.",
  returned: "You have returned this task, so it is closed here. What you wrote and chose until then is saved.",
  disconnect:
    "The server did not hear from this page for a while and closed the task. What you wrote and chose until then is saved. Reload the page to see whether you can go on.",
  "partner disconnect": "Your partner has left, so the task was closed. What you wrote and chose until then is saved.",
};

/** Null for a status under which the task goes on. */
export function closedSentence(status: string): string | null {
  return CLOSED[status] ?? null;
}
