/** The functions that the provider's `wrap_crowd_source.js` puts on the window. */

/** What somebody whose address says who they are wants from the server. */
export type Purpose = "look" | "begin" | "decline" | "give_back";

export interface Crowd {
  workerName: string | null;
  assignmentId: string | null;
  registration: () => Record<string, unknown>;
  submitToProvider: (data: Record<string, unknown>) => void;
}

interface CrowdWindow {
  getWorkerName?: () => string | null;
  getAssignmentId?: () => string | null;
  getAgentRegistration?: () => Record<string, unknown>;
  handleSubmitToProvider?: (data: Record<string, unknown>) => unknown;
}

/** Null when the script did not load. */
export function readCrowd(): Crowd | null {
  const source = window as unknown as CrowdWindow;
  const { getWorkerName, getAssignmentId, getAgentRegistration, handleSubmitToProvider } = source;
  if (!getWorkerName || !getAssignmentId || !getAgentRegistration || !handleSubmitToProvider) {
    return null;
  }
  return {
    workerName: getWorkerName(),
    assignmentId: getAssignmentId(),
    registration: getAgentRegistration,
    submitToProvider: (data) => void handleSubmitToProvider(data),
  };
}
