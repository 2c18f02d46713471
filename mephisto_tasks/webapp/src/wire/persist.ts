/** Tries something until it succeeds, is refused for good, or is no longer wanted. */
import { HttpError } from "./http";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

/**
 * Resolves with the result; rejects with the first failure that trying again cannot mend.
 * After an abort it never settles: nobody waits for it any more.
 */
export async function persist<T>(
  attempt: () => Promise<T>,
  onFailure: (error: HttpError) => void,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      const result = await attempt();
      return signal.aborted ? await never<T>() : result;
    } catch (error) {
      if (signal.aborted) {
        return never<T>();
      }
      if (!(error instanceof HttpError) || !error.worthRetrying) {
        throw error;
      }
      onFailure(error);
      await pause(Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS), signal);
    }
  }
}

/** Waits, or less when the browser says that it is online again. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    window.addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
