import { afterEach, describe, expect, it, vi } from "vitest";
import { createHttp, HttpError } from "./http";

const BASE = "http://host/folder/";
const AGENT = { agentId: "7", agentToken: "secret" };
const DETAILS = { packet_type: "agent_details", data: { agent_id: "7", agent_token: "secret", failure_reason: null, init_task_data: null } };

function answerWith(body: unknown, status = 200) {
  const fetched = vi.fn<(url: string, init: RequestInit) => Promise<Response>>(() =>
    Promise.resolve(new Response(JSON.stringify(body), { status })),
  );
  vi.stubGlobal("fetch", fetched);
  return {
    url: () => fetched.mock.calls[0]?.[0],
    body: () => JSON.parse(fetched.mock.calls[0]?.[1].body as string) as Record<string, unknown>,
  };
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("requests", () => {
  it("shows with a registration what the browser is known by, and beside nothing else", async () => {
    const sent = answerWith(DETAILS);
    await createHttp(BASE).requestAgent({ worker_name: "w" });
    const secret = expect.stringMatching(/^[\w-]{43}$/) as string;
    expect(sent.body().provider_data).toEqual({ worker_name: "w", browser_secrets: [secret] });
    const later = answerWith(DETAILS);
    await createHttp(BASE).submitOnboarding({ worker_name: "w" }, AGENT);
    expect(later.body().provider_data).not.toHaveProperty("browser_secrets");
  });

  it("asks for fresh ids; a server that makes none is told apart from one that is not there", async () => {
    const ids = { worker_id: "rater-1", assignment_id: "try-1", sig: "x" };
    answerWith(ids);
    expect(await createHttp(BASE).freshIds()).toEqual(ids);
    answerWith({ error: "no such page" }, 404);
    expect(await createHttp(BASE).freshIds()).toBeNull();
    answerWith({ error: "later" }, 503);
    await expect(createHttp(BASE).freshIds()).rejects.toBeInstanceOf(HttpError);
  });

  it("registers beside the page, with the provider's data", async () => {
    const sent = answerWith(DETAILS);
    const details = await createHttp(BASE).requestAgent({ worker_name: "w" });
    expect(sent.url()).toBe("http://host/folder/request_agent");
    expect(sent.body()).toMatchObject({ provider_data: { worker_name: "w" }, client_timestamp: expect.any(Number) as number });
    const nothing = { failure_reason: null, title: null, redirect: null, preview: false, screen: null, consent: null, try_again_s: null };
    expect(details).toEqual({ ...nothing, agent_id: "7", agent_token: "secret", init_task_data: null });
  });

  it("shows the address' parameters for the task's description, which who comes by a link needs", async () => {
    window.history.replaceState(null, "", "/?invitation=abc.def&visitor=1");
    const sent = answerWith({});
    await createHttp(BASE).taskConfig().catch(() => undefined);
    window.history.replaceState(null, "", "/");
    expect(sent.url()).toBe("http://host/folder/task_config.json?invitation=abc.def&visitor=1");
  });

  it("takes the visitor's name out of the visible address only where a cookie keeps it", async () => {
    for (const [headers, left] of [
      [{}, "?invitation=abc.def&visitor=1"],
      [{ "Visitor-Remembered": "yes" }, "?invitation=abc.def"],
    ] as const) {
      window.history.replaceState(null, "", "/?invitation=abc.def&visitor=1");
      const fetched = vi.fn<(url: string) => Promise<Response>>(() => Promise.resolve(new Response("{}", { headers })));
      vi.stubGlobal("fetch", fetched);
      const http = createHttp(BASE);
      await http.taskConfig().catch(() => undefined);
      expect(window.location.search).toBe(left);
      await http.taskConfig().catch(() => undefined);
      expect(fetched.mock.calls[1]?.[0]).toBe("http://host/folder/task_config.json?invitation=abc.def&visitor=1");
    }
    window.history.replaceState(null, "", "/");
  });

  it("hands the practice in as Mephisto's client does", async () => {
    const sent = answerWith(DETAILS);
    await createHttp(BASE).submitOnboarding({ worker_name: "w" }, AGENT);
    expect(sent.body()).toMatchObject({
      provider_data: { worker_name: "w", USED_AGENT_ID: "7", onboarding_data: {} },
      agent_token: "secret",
    });
  });

  it("hands the unit in without a token where the router gave none", async () => {
    const sent = answerWith({ status: "Submitted!" });
    await createHttp(BASE).submitTask({ agentId: "7", agentToken: null });
    expect(sent.body()).toMatchObject({ USED_AGENT_ID: "7", final_data: {} });
    expect(sent.body()).not.toHaveProperty("agent_token");
  });
});

describe("failures", () => {
  it("carry the server's own sentence, and are final in the 4xx range", async () => {
    answerWith({ error: "Wrong token." }, 403);
    const error = await createHttp(BASE).submitTask(AGENT).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ message: "Wrong token.", worthRetrying: false });
  });

  it("are worth another try when the operator is silent or nobody answers", async () => {
    answerWith("no json object", 503);
    expect(await createHttp(BASE).submitTask(AGENT).catch((caught: unknown) => caught)).toMatchObject({ worthRetrying: true });
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
    const offline = await createHttp(BASE).submitTask(AGENT).catch((caught: unknown) => caught);
    expect(offline).toBeInstanceOf(HttpError);
    expect(offline).toMatchObject({ message: "The server could not be reached.", worthRetrying: true });
  });

  it("include an answer that is no agent_details", async () => {
    answerWith({ data: 3 });
    await expect(createHttp(BASE).requestAgent({})).rejects.toThrow("does not understand");
  });

  it("of the error report are nobody's concern", async () => {
    const offline = vi.fn(() => Promise.reject(new TypeError("offline")));
    const unhandled = vi.fn();
    vi.stubGlobal("fetch", offline);
    process.on("unhandledRejection", unhandled);
    createHttp(BASE).logError({ agentId: "7", agentToken: "t" }, "x".repeat(5000));
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", unhandled);
    expect(offline).toHaveBeenCalledTimes(1);
    const [, sent] = offline.mock.calls[0] as unknown as [string, RequestInit];
    expect(JSON.parse(sent.body as string)).toMatchObject({ USED_AGENT_ID: "7", agent_token: "t" });
    expect((sent.body as string).length).toBeLessThan(2500);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
