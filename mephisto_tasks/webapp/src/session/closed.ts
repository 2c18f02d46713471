/** Mephisto's final agent statuses in a rater's words. */
import { t } from "../language";

const SENTENCES: Readonly<Record<string, () => string>> = {
  timeout: () => t("The time for this task ran out, so it was closed. Your work so far is saved."),
  expired: () => t("This task was closed by its owner. Your work so far is saved."),
  returned: () => t("You have returned this task, so it is closed here. Your work so far is saved."),
  disconnect: () =>
    t(
      "The server did not hear from this page for a while and closed the task. Your work so far is saved. Reload the page to see whether you can continue.",
    ),
  "partner disconnect": () => t("Your partner has left, so the task was closed. Your work so far is saved."),
};

/** Null for a status under which the task goes on. */
export function closedSentence(status: string): string | null {
  return SENTENCES[status]?.() ?? null;
}
