/**
 * A stand-in for router and world, to look at the built page: `npm run dev:mock`, then the address that it prints.
 *
 * The worker's name chooses what happens: `refused…` is turned away, `full…` waits for a place, `copied…` belongs to another browser, `stuck…` never gets a state, `slow…` waits long,
 * `many…` may choose any number of cards, `practice…` practises first, `cut…` loses the line every 7 s, and a name of
 * mock-scenes.mjs (`rate`, `arena`, `tick-2`…) shows that step at once. What the page answers is printed.
 */
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";
import { config } from "./mock-content.mjs";
import { MockWorld } from "./mock-world.mjs";

const DIST = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const CROWD = `
function param(name) { return new URLSearchParams(location.search).get(name); }
function getWorkerName() { return param("worker_id"); }
function getAssignmentId() { return param("assignment_id"); }
function getAgentRegistration() {
  return { worker_name: getWorkerName(), agent_registration_id: getAssignmentId() + "-" + getWorkerName(),
    assignment_id: getAssignmentId(), provider_type: "mock" };
}
function handleSubmitToProvider() { return true; }
`;

const port = Number(process.env.PORT ?? 3010);
const worlds = new Map();
const practised = new Map();

const server = createServer((request, response) => {
  const path = new URL(request.url, "http://local").pathname;
  if (request.method === "POST") {
    readJson(request).then((body) => answerPost(path, body, response));
  } else if (path === "/task_config.json") {
    json(response, config);
  } else if (path === "/wrap_crowd_source.js") {
    response.writeHead(200, { "Content-Type": TYPES[".js"] }).end(CROWD);
  } else {
    sendFile(path === "/" ? "/index.html" : path, response);
  }
});

const sockets = new WebSocketServer({ server });
sockets.on("connection", (socket) => {
  socket.on("message", (text) => {
    const packet = JSON.parse(text.toString());
    const world = worlds.get(packet.subject_id);
    if (!world) {
      socket.send(JSON.stringify({ packet_type: "error", subject_id: "", data: { error: "Unknown agent.", fatal: true } }));
    } else if (packet.packet_type === "alive") {
      world.attach(socket, packet.data.last_seq);
    } else if (packet.packet_type === "ack") {
      world.acknowledged(packet.data.last_seq);
    } else if (packet.packet_type === "heartbeat") {
      socket.send(JSON.stringify({ ...packet, data: { status: "in task", last_mephisto_ping: Date.now() } }));
    } else if (packet.packet_type === "mephisto_bound_live_update") {
      world.answer(packet.data);
    }
  });
});

server.listen(port, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${port}/\n`);
});

function answerPost(path, body, response) {
  if (path === "/request_agent") {
    json(response, admit(body.provider_data));
  } else if (path === "/submit_onboarding") {
    practised.set(body.provider_data.agent_registration_id, true);
    json(response, admit(body.provider_data));
  } else if (path === "/fresh_ids") {
    json(response, { worker_id: `rater-${Date.now()}`, assignment_id: "try", sig: "mock" });
  } else {
    json(response, { status: "Submitted!" });
  }
}

function admit({ worker_name: worker, agent_registration_id: registration }) {
  if (worker.startsWith("refused")) {
    return details(null, "You have already done every conversation that we may give to one person. Thank you!", []);
  }
  if (worker.startsWith("full")) {
    const outside = details(null, "As many people are taking part as can at once. This page tries again by itself.", []);
    return { ...outside, data: { ...outside.data, title: "The study is full just now", screen: "full", try_again_s: 7 } };
  }
  if (worker.startsWith("copied")) {
    const elsewhere = details(null, "Please go on in the browser, and on the device, in which you began.", []);
    return { ...elsewhere, data: { ...elsewhere.data, title: "This task is open in another browser", screen: "other_browser" } };
  }
  const phase = practised.has(registration) || !worker.startsWith("practice") ? "task" : "practice";
  const agentId = `${phase}-${registration}`;
  if (!worlds.has(agentId)) {
    worlds.set(agentId, new MockWorld(agentId, worker, phase));
  }
  const world = worlds.get(agentId);
  return details(agentId, null, world.updates);
}

function details(agentId, reason, updates) {
  return {
    packet_type: "agent_details",
    data: {
      agent_id: agentId,
      agent_token: agentId === null ? undefined : "mock-token",
      failure_reason: reason,
      init_task_data: { task_data: {}, past_live_updates: updates },
    },
  };
}

function sendFile(path, response) {
  const file = join(DIST, normalize(path));
  if (!file.startsWith(DIST) || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
}

async function readJson(request) {
  let text = "";
  for await (const part of request) {
    text += part;
  }
  return JSON.parse(text);
}

function json(response, body) {
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
