/** Stand-ins for the router: a socket that is steered by hand, and states as the world sends them. */
import { vi } from "vitest";
import type { ConsentForm, TaskConfig } from "../wire/config";
import type { Socket } from "../wire/connection";
import type { Crowd } from "../wire/crowd";
import type { Http } from "../wire/http";
import type { AgentDetails } from "../wire/packets";
import type {
  Action,
  ChooseStep,
  EndStep,
  Entry,
  FormStep,
  MessageStep,
  PageState,
  Panel,
  RankStep,
  RateStep,
  Scale,
  Step,
  TickStep,
  TopicStep,
  WriteStep,
} from "../wire/state";

export const CONSENT: ConsentForm = {
  version: "1.0",
  digest: "d1",
  title: "Before you begin",
  text: [{ heading: "", lines: ["You chat with programs."] }],
  privacy: [{ heading: "What is stored", lines: ["What you write.", "Your worker id."] }],
  agree: "I agree",
  decline: "I do not want to take part",
  contact: "lab@example.org",
  changes: "",
  agreed_before: null,
};

export interface SentPacket {
  packet_type: string;
  subject_id: string;
  data: Record<string, unknown>;
}

export class FakeSocket {
  readyState = 0;
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  readonly sent: SentPacket[] = [];

  send(text: string): void {
    this.sent.push(JSON.parse(text) as SentPacket);
  }

  close(): void {
    this.readyState = 3;
  }

  /** The server accepts the connection. */
  accept(): void {
    this.readyState = 1;
    this.onopen?.call(this.asSocket(), new Event("open"));
  }

  /** The line breaks. */
  cut(): void {
    this.readyState = 3;
    this.onclose?.call(this.asSocket(), new Event("close") as CloseEvent);
  }

  receive(packet: object): void {
    this.onmessage?.call(this.asSocket(), new MessageEvent("message", { data: JSON.stringify(packet) }));
  }

  receiveState(state: PageState, seq?: number): void {
    this.receive({
      packet_type: "client_bound_live_update",
      subject_id: "agent",
      data: update(state),
      ...(seq === undefined ? {} : { router_seq: seq }),
    });
  }

  ofType(packetType: string): SentPacket[] {
    return this.sent.filter((packet) => packet.packet_type === packetType);
  }

  asSocket(): WebSocket {
    return this as unknown as WebSocket;
  }
}

/** Collects the sockets that are opened; `last` is the newest. */
export class FakeSockets {
  readonly all: FakeSocket[] = [];

  readonly open = (): Socket => {
    const socket = new FakeSocket();
    this.all.push(socket);
    return socket.asSocket();
  };

  get last(): FakeSocket {
    const socket = this.all.at(-1);
    if (!socket) {
      throw new Error("no socket was opened");
    }
    return socket;
  }
}

export function update(state: PageState): object {
  return { update_id: `u${state.version}`, kind: "state", state };
}

export const CONFIG: TaskConfig = {
  study: "this",
  title: "Chat and choose",
  tagline: "A short conversation.",
  preview: { sections: [{ heading: "What you will do", lines: ["Chat.", "Choose."] }] },
  instructions: { sections: [{ heading: "How to choose", lines: ["Read both replies."] }] },
  consent: "Your answers are stored without your name.",
  pay: "You are paid in full.",
  start_label: "Start the practice",
  languages: {},
  minutes: 10,
  instructions_first: false,
  guide: null,
  entry: "start",
  unit: null,
  panel: null,
  consent_form: null,
};

export const MESSAGE: MessageStep = { kind: "message", step_id: "m1", label: "Your message", min_words: 2, max_chars: 60, suggestions: [], actions: [] };

export const CHOOSE: ChooseStep = {
  kind: "choose",
  step_id: "c1",
  question: "Which reply is better?",
  cards: [
    { candidate_id: "a", text: "First reply" },
    { candidate_id: "b", text: "Second reply" },
  ],
  min_choices: 1,
  max_choices: 1,
  none_label: null,
  reason: { label: "Why?", required: true, min_words: 2 },
};

export const TICK: TickStep = {
  kind: "tick",
  step_id: "t1",
  question: "Which of these is true?",
  reply: { candidate_id: "r", text: "Do you sail, too?" },
  options: [
    { option_id: "engaging", label: "Engaging" },
    { option_id: "human", label: "Human-like" },
    { option_id: "interesting", label: "Interesting" },
  ],
  min_choices: 0,
  max_choices: 3,
  none_label: "None of these",
  reason: null,
};

export const SCALE: Scale = {
  scale_id: "s1",
  statement: "It was interesting.",
  style: "slider",
  minimum: 0,
  maximum: 100,
  left: "Not at all",
  right: "Very much",
  labels: [],
  hints: [],
};

export const RATE: RateStep = {
  kind: "rate",
  step_id: "r1",
  question: "How was it?",
  scales: [
    SCALE,
    { ...SCALE, scale_id: "s2", statement: "It made sense." },
    { ...SCALE, scale_id: "p1", statement: "It was human.", style: "points", minimum: 1, maximum: 5 },
  ],
};

export const TOPIC: TopicStep = {
  kind: "topic",
  step_id: "o1",
  label: "What about?",
  opinion_label: "What do you think of it?",
  opinions: [
    { option_id: "liked", label: "I like it" },
    { option_id: "disliked", label: "I dislike it" },
  ],
  max_chars: 20,
};

export const WRITE: WriteStep = {
  kind: "write",
  step_id: "w1",
  label: "A better reply",
  cards: CHOOSE.cards,
  min_words: 2,
  max_chars: 60,
};

const WHO = [
  { option_id: "first", label: "Speaker 1" },
  { option_id: "second", label: "Speaker 2" },
];

/** One question about two dialogues, with a reason. */
export const PAIR: FormStep = {
  kind: "form",
  step_id: "f1",
  questions: [
    {
      question_id: "preference",
      text: "Who is nicer?",
      options: WHO,
      group: null,
      reason: { label: "Why?", required: true, min_words: 2 },
    },
  ],
};

const question = (id: string, text: string, group: string, labels: string[]) => ({
  question_id: id,
  text,
  group,
  reason: null,
  options: labels.map((label) => ({ option_id: label.toLowerCase(), label })),
});

/** Several short questions in two groups. */
export const SPOT: FormStep = {
  kind: "form",
  step_id: "f2",
  questions: [
    question("label_0", "What is Speaker A?", "Human or bot?", ["Human", "Unsure", "Bot"]),
    question("label_1", "What is Speaker B?", "Human or bot?", ["Human", "Unsure", "Bot"]),
    question("fluent", "Who is more fluent?", "Who is better?", ["A", "Same", "B"]),
  ],
};

export const RANK: RankStep = {
  kind: "rank",
  step_id: "k1",
  question: "Rank the replies.",
  cards: ["One", "Two", "Three"].map((text) => ({ candidate_id: text.toLowerCase(), text })),
  ties: false,
  reason: null,
};

/** A dialogue in which the second speaker is marked; `texts` are said in turn. */
export function panel(title: string, texts: string[], rest: Partial<Panel> = {}): Panel {
  const judged = rest.judged_label === undefined ? "Speaker 1" : rest.judged_label;
  const lines = texts.map((text, index) => {
    const marked = index % 2 === 1 && judged !== null;
    return { line_id: `${title}-${index}`, speaker: marked ? judged : "Partner", judged: marked, text };
  });
  return { title, context: [], judged_label: judged, lines, ...rest };
}

export function action(actionId: string, label: string, rest: Partial<Action> = {}): Action {
  return { action_id: actionId, label, group: null, enabled: true, hint: null, text_label: null, confirm: null, ...rest };
}

export function entry(id: string, speaker: Entry["speaker"], text: string, rest: Partial<Entry> = {}): Entry {
  return { entry_id: id, speaker, text, note: null, column: null, growing: false, ...rest };
}

export function pageState(version: number, step: Step, rest: Partial<PageState> = {}): PageState {
  return {
    version,
    unit: "",
    language: null,
    phase: "task",
    guided: false,
    progress: { unit: "turn", current: 3, total: 6, minimum: null },
    within: null,
    context: null,
    topic: null,
    columns: [],
    transcript: [],
    panels: [],
    step,
    notice: null,
    confirmed: [],
    ...rest,
  };
}

export function agent(id: string, updates: unknown[] = []): AgentDetails {
  return {
    agent_id: id,
    agent_token: `token-${id}`,
    failure_reason: null,
    title: null,
    redirect: null,
    preview: false,
    screen: null,
    consent: null,
    try_again_s: null,
    init_task_data: { past_live_updates: updates },
  };
}

export function refusal(reason: string | null, rest: Partial<AgentDetails> = {}): AgentDetails {
  return { ...agent("none"), agent_id: null, agent_token: null, failure_reason: reason, ...rest };
}

export function fakeHttp() {
  return {
    taskConfig: vi.fn<Http["taskConfig"]>(() => Promise.resolve(CONFIG)),
    freshIds: vi.fn<Http["freshIds"]>(() => Promise.resolve({ worker_id: "rater-1f", assignment_id: "try-2e", sig: "s_-3" })),
    requestAgent: vi.fn<Http["requestAgent"]>(() => Promise.resolve(agent("agent"))),
    submitOnboarding: vi.fn<Http["submitOnboarding"]>(() => Promise.resolve(agent("task-agent"))),
    submitTask: vi.fn<Http["submitTask"]>(() => Promise.resolve()),
    logError: vi.fn<Http["logError"]>(),
    uploadImage: vi.fn<Http["uploadImage"]>(),
  };
}

export function fakeCrowd(workerName: string | null = "w", assignmentId: string | null = "a") {
  return {
    workerName,
    assignmentId,
    registration: () => ({ worker_name: workerName, agent_registration_id: "a-w" }),
    submitToProvider: vi.fn<Crowd["submitToProvider"]>(),
  };
}

/** The last step of a task, or of its practice. */
export const end = (next: EndStep["next"], redirect: EndStep["redirect"] = null): EndStep => ({
  kind: "end",
  title: "Done",
  text: "Thanks.",
  next,
  redirect,
  resumes: false,
});
