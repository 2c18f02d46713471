/** The router's HTTP routes. Every failure is one `HttpError` that says whether trying again can help. */
import * as v from "valibot";
import { t } from "../language";
import { browserSecret } from "./browser";
import { type AgentDetails, AgentSchema } from "./packets";
import { read } from "./read";
import { type TaskConfig, TaskConfigSchema } from "./config";

/** Longer than the 30 s after which the router itself gives up on the operator. */
const TIMEOUT_MS = 40_000;

/** Over a slow connection. */
const UPLOAD_MS = 120_000;

/** Of an error's text; the server cuts what is longer. */
const LONGEST_REPORT = 2000;

/** Header of the task's description, where the browser has kept the cookie that says which visitor this is. */
const REMEMBERED = "Visitor-Remembered";

export class HttpError extends Error {
  /** `status`: of HTTP; 0 when no answer came. */
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }

  /** False for answers in the 4xx range: the same request would be refused again. */
  get worthRetrying(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 429;
  }
}

/**
 * Takes the name of a class link's visitor out of the visible address. Who copies that address for others would make all of
 * them one worker; the link that is left is the one that was given out, and the cookie makes a reload the same visitor.
 */
function hideVisitor(): void {
  const address = new URL(window.location.href);
  address.searchParams.delete("visitor");
  window.history.replaceState(window.history.state, "", address);
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
  /** Sends a picture ahead of the message that it goes with; its digest. */
  uploadImage: (agent: AgentRef, file: Blob) => Promise<string>;
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
      return understood(TaskConfigSchema, body, t("The server sent the task's description in a form that this page does not understand."));
    },
    freshIds: async (signal) => {
      try {
        return understood(FreshIdsSchema, await post("fresh_ids", {}, signal));
      } catch (error) {
        if (error instanceof HttpError && (error.status === 404 || error.status === 405)) {
          return null;
        }
        throw error;
      }
    },
    requestAgent: async (registration, signal) => {
      const provider_data = { ...registration, browser_secrets: [browserSecret()] };
      return understood(DetailsSchema, await post("request_agent", { provider_data }, signal)).data;
    },
    submitOnboarding: async (registration, agent) => {
      const provider_data = { ...registration, USED_AGENT_ID: agent.agentId, onboarding_data: {} };
      return understood(DetailsSchema, await post("submit_onboarding", { provider_data, ...token(agent) })).data;
    },
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
    uploadImage: async (agent, file) => {
      const headers = { "X-Agent-Id": agent.agentId, "X-Agent-Token": agent.agentToken ?? "" };
      const { body } = await answerTo(url("upload_image"), { method: "POST", headers, body: file }, UPLOAD_MS);
      return understood(UploadedSchema, body).digest;
    },
  };
}

const UploadedSchema = v.object({ digest: v.string() });
const FreshIdsSchema = v.record(v.string(), v.string());
const RefusalSchema = v.object({ error: v.string() });
const DetailsSchema = v.object({ data: AgentSchema });

async function ask(url: string, init: RequestInit): Promise<unknown> {
  return (await answerTo(url, init)).body;
}

async function answerTo(url: string, init: RequestInit, patience = TIMEOUT_MS): Promise<{ body: unknown; headers: Headers }> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, patience);
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
    throw new HttpError(read(RefusalSchema, body)?.error ?? t("The server answered with error {status}.", { status: response.status }), response.status);
  }
  return { body, headers: response.headers };
}

/** The body in the form that is agreed; any other is refused for good. */
function understood<T>(schema: v.GenericSchema<unknown, T>, body: unknown, otherwise?: string): T {
  const value = read(schema, body);
  if (value === null) {
    throw new HttpError(otherwise ?? t("The server sent its answer in a form that this page does not understand."), 422);
  }
  return value;
}
