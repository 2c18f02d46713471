/** The router's HTTP routes. Every failure is one `HttpError` that says whether trying again can help. */
import * as v from "valibot";
import { t } from "../language";
import { browserSecret } from "./browser";
import { type AgentDetails, parseAgentDetails } from "./packets";
import { parseTaskConfig, type TaskConfig } from "./config";
import { hideVisitor } from "./visitor";

/** Longer than the 30 s after which the router itself gives up on the operator. */
const TIMEOUT_MS = 40_000;

/** Of an error's text; the server cuts what is longer. */
const LONGEST_REPORT = 2000;

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

/** Parameters of an address for somebody whom no crowd's site names. */
export type FreshIds = Record<string, string>;

export interface Http {
  taskConfig: (signal?: AbortSignal) => Promise<TaskConfig>;
  /** Ids that the server makes up and signs; null where it is one that does not, such as Mephisto's own. */
  freshIds: (signal?: AbortSignal) => Promise<FreshIds | null>;
  requestAgent: (registration: Record<string, unknown>, signal?: AbortSignal) => Promise<AgentDetails>;
  submitOnboarding: (registration: Record<string, unknown>, agent: AgentRef) => Promise<AgentDetails>;
  submitTask: (agent: AgentRef) => Promise<void>;
  logError: (agent: AgentRef, text: string) => void;
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
      return must(parseTaskConfig(body), t("The server sent the task's description in a form that this page does not understand."));
    },
    freshIds: async (signal) => {
      try {
        const body = await post("fresh_ids", {}, signal);
        return must(v.is(FreshIdsSchema, body) ? body : null, NOT_UNDERSTOOD());
      } catch (error) {
        if (error instanceof HttpError && (error.status === 404 || error.status === 405)) {
          return null;
        }
        throw error;
      }
    },
    requestAgent: async (registration, signal) => {
      const provider_data = { ...registration, browser_secrets: [browserSecret()] };
      return must(parseAgentDetails(await post("request_agent", { provider_data }, signal)), NOT_UNDERSTOOD());
    },
    submitOnboarding: async (registration, agent) =>
      must(
        parseAgentDetails(
          await post("submit_onboarding", {
            provider_data: { ...registration, USED_AGENT_ID: agent.agentId, onboarding_data: {} },
            ...token(agent),
          }),
        ),
        NOT_UNDERSTOOD(),
      ),
    submitTask: async (agent) => {
      await post("submit_task", { USED_AGENT_ID: agent.agentId, final_data: {}, ...token(agent) });
    },
    logError: (agent, text) => {
      // The report is a courtesy to the researcher: its own failure must not disturb the rater.
      post("log_error", {
        USED_AGENT_ID: agent.agentId,
        error_data: { error_type: "page", text: text.slice(0, LONGEST_REPORT) },
        ...token(agent),
      }).catch(() => undefined);
    },
  };
}

const FreshIdsSchema = v.record(v.string(), v.string());

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
    throw new HttpError(t("The server could not be reached."), 0);
  } finally {
    clearTimeout(timer);
    init.signal?.removeEventListener("abort", abort);
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    throw new HttpError(errorSentence(body) ?? t("The server answered with error {status}.", { status: response.status }), response.status);
  }
  return { body, headers: response.headers };
}

function errorSentence(body: unknown): string | null {
  if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") {
    return body.error;
  }
  return null;
}

const NOT_UNDERSTOOD = () => t("The server sent its answer in a form that this page does not understand.");

function must<T>(value: T | null, otherwise: string): T {
  if (value === null) {
    throw new HttpError(otherwise, 422);
  }
  return value;
}
