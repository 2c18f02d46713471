/** The router's HTTP routes. Every failure is one `HttpError` that says whether trying again can help. */
import { type AgentDetails, parseAgentDetails } from "./packets";
import { parseTaskConfig, type TaskConfig } from "./config";
import { hideVisitor } from "./visitor";

/** Longer than the 30 s after which the router itself gives up on the operator. */
const TIMEOUT_MS = 40_000;

/** Header of the task's description, where the browser has kept the cookie that says which visitor this is. */
const REMEMBERED = "Visitor-Remembered";

export class HttpError extends Error {
  /** HTTP status; 0 when no answer came. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }

  /** False for answers in the 4xx range: the same request would be refused again. */
  get worthRetrying(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 429;
  }
}

export interface Http {
  taskConfig: (signal?: AbortSignal) => Promise<TaskConfig>;
  requestAgent: (registration: Record<string, unknown>, signal?: AbortSignal) => Promise<AgentDetails>;
  submitOnboarding: (registration: Record<string, unknown>, agent: AgentRef) => Promise<AgentDetails>;
  submitTask: (agent: AgentRef) => Promise<void>;
  logError: (agentId: string | null, text: string) => void;
}

export interface AgentRef {
  agentId: string;
  agentToken: string | null;
}

/** `parameters`: of the page's address as it was opened; the visitor's name is taken out of it later. */
export function createHttp(base: string, parameters: string = window.location.search): Http {
  const url = (path: string) => new URL(path, base).toString();
  const stamp = () => ({ client_timestamp: Date.now() / 1000 });
  const token = (agent: AgentRef) => (agent.agentToken === null ? {} : { agent_token: agent.agentToken });
  const post = (path: string, body: object, signal?: AbortSignal) =>
    ask(url(path), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...body, ...stamp() }),
      ...(signal ? { signal } : {}),
    });

  return {
    // With the address' parameters: who comes by a link shows it for each thing that is of the study.
    taskConfig: async (signal) => {
      const { body, headers } = await answerTo(url(`task_config.json${parameters}`), signal ? { signal } : {});
      if (headers.has(REMEMBERED)) {
        hideVisitor();
      }
      return must(parseTaskConfig(body), "the task's description");
    },
    requestAgent: async (registration, signal) =>
      must(parseAgentDetails(await post("request_agent", { provider_data: registration }, signal)), "its answer"),
    submitOnboarding: async (registration, agent) =>
      must(
        parseAgentDetails(
          await post("submit_onboarding", {
            provider_data: { ...registration, USED_AGENT_ID: agent.agentId, onboarding_data: {} },
            ...token(agent),
          }),
        ),
        "its answer",
      ),
    submitTask: async (agent) => {
      await post("submit_task", { USED_AGENT_ID: agent.agentId, final_data: {}, ...token(agent) });
    },
    logError: (agentId, text) => {
      // The report is a courtesy to the researcher: its own failure must not disturb the rater.
      post("log_error", { USED_AGENT_ID: agentId, error_data: { error_type: "page", text } }).catch(() => undefined);
    },
  };
}

async function ask(url: string, init: RequestInit): Promise<unknown> {
  return (await answerTo(url, init)).body;
}

async function answerTo(url: string, init: RequestInit): Promise<{ body: unknown; headers: Headers }> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, TIMEOUT_MS);
  init.signal?.addEventListener("abort", abort);
  let response: Response;
  try {
    response = await fetch(url, { ...init, signal: controller.signal });
  } catch {
    throw new HttpError("The server could not be reached.", 0);
  } finally {
    clearTimeout(timer);
    init.signal?.removeEventListener("abort", abort);
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    throw new HttpError(errorSentence(body) ?? `The server answered with error ${response.status}.`, response.status);
  }
  return { body, headers: response.headers };
}

function errorSentence(body: unknown): string | null {
  if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") {
    return body.error;
  }
  return null;
}

function must<T>(value: T | null, what: string): T {
  if (value === null) {
    throw new HttpError(`The server sent ${what} in a form that this page does not understand.`, 422);
  }
  return value;
}
