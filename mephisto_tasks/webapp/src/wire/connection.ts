/**
 * The websocket of one agent: says `alive`, beats, confirms what came, reconnects, and resends what is unconfirmed.
 *
 * Works with our router (numbered packets, tokens) and with Mephisto's node router, which has neither.
 */
import { nanoid } from "nanoid";

import type { Answer } from "./state";
import { type Packet, parseError, parsePacket, parseStatus, type RouterError } from "./packets";

export const HEARTBEAT_MS = 5_000;
export const RESEND_MS = 5_000;
const TICK_MS = 1_000;
/** Three heartbeats without any echo: the line is dead even if the browser has not noticed. */
export const SILENCE_MS = 15_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8_000;

export type Link = "connecting" | "open" | "lost";

/** The part of WebSocket that is used here. */
export type Socket = Pick<WebSocket, "readyState" | "onopen" | "onmessage" | "onclose" | "send" | "close">;

export interface ConnectionOptions {
  agentId: string;
  agentToken: string | null;
  openSocket: () => Socket;
  /** Answers to send again; read at every reconnect and every few seconds. */
  unconfirmed: () => readonly Answer[];
  /** Returns true when the update brought a state newer than any before. */
  onUpdate: (data: unknown) => boolean;
  onStatus: (status: string) => void;
  onLink: (link: Link) => void;
  onError: (problem: RouterError) => void;
}

const OPEN = 1;

/** Tells the router that a second socket is this very page reconnecting, not the task in another window. */
const PAGE_ID = nanoid();

export class Connection {
  private socket: Socket | null = null;
  private lastSeq = 0;
  private heardAt = 0;
  private beatAt = 0;
  private sentAt = new Map<string, number>();
  private failures = 0;
  private stopped = false;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private beatTimer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly options: ConnectionOptions) {}

  /** Opens the line; does nothing once stopped, as when the page has failed meanwhile. */
  start(): void {
    if (this.stopped) {
      return;
    }
    this.options.onLink("connecting");
    window.addEventListener("online", this.reconnectNow);
    this.open();
  }

  stop(): void {
    this.stopped = true;
    window.removeEventListener("online", this.reconnectNow);
    clearTimeout(this.retryTimer);
    this.drop();
  }

  /** Sends an answer now if the line is open; in any case the next reconnect or tick sends it. */
  send(answer: Answer): void {
    this.sentAt.set(answer.update_id, Date.now());
    this.emit("mephisto_bound_live_update", answer);
  }

  /** Tries again at once, as the person asked or the browser came back online. */
  readonly reconnectNow = (): void => {
    if (this.stopped || this.socket?.readyState === OPEN) {
      return;
    }
    this.failures = 0;
    clearTimeout(this.retryTimer);
    this.drop();
    this.open();
  };

  private open(): void {
    const socket = this.options.openSocket();
    this.socket = socket;
    this.heardAt = Date.now();
    socket.onopen = () => this.opened();
    socket.onmessage = (event) => this.received(event.data);
    socket.onclose = () => this.lost();
    // The beat also watches a socket that never opens.
    clearInterval(this.beatTimer);
    this.beatTimer = setInterval(() => this.tick(), TICK_MS);
  }

  private opened(): void {
    this.failures = 0;
    this.heardAt = Date.now();
    this.emit("alive", { ...this.token(), last_seq: this.lastSeq, page_id: PAGE_ID });
    this.beat();
    this.options.unconfirmed().forEach((answer) => this.send(answer));
    this.options.onLink("open");
  }

  private lost(): void {
    this.drop();
    if (this.stopped) {
      return;
    }
    this.options.onLink("lost");
    const ceiling = Math.min(FIRST_RETRY_MS * 2 ** this.failures, LONGEST_RETRY_MS);
    this.failures += 1;
    // Half of it by chance, so that all raters of a restarted router do not return in one instant.
    this.retryTimer = setTimeout(() => this.open(), ceiling / 2 + (Math.random() * ceiling) / 2);
  }

  private drop(): void {
    clearInterval(this.beatTimer);
    const socket = this.socket;
    this.socket = null;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  private tick(): void {
    const now = Date.now();
    if (now - this.heardAt >= SILENCE_MS) {
      this.lost();
      return;
    }
    if (now - this.beatAt >= HEARTBEAT_MS) {
      this.beat();
    }
    for (const answer of this.options.unconfirmed()) {
      if (now - (this.sentAt.get(answer.update_id) ?? 0) >= RESEND_MS) {
        this.send(answer);
      }
    }
  }

  private beat(): void {
    this.beatAt = Date.now();
    this.emit("heartbeat", this.token());
  }

  private received(data: unknown): void {
    this.heardAt = Date.now();
    const packet = typeof data === "string" ? parsePacket(data) : null;
    if (packet === null) {
      return;
    }
    const seq = packet.router_seq;
    if (seq === undefined) {
      this.handle(packet);
      return;
    }
    if (seq > this.lastSeq) {
      this.lastSeq = seq;
      this.handle(packet);
    } else if (packet.packet_type === "client_bound_live_update" && this.options.onUpdate(packet.data)) {
      // A newer state under an old number is no repeat: the router was restarted and counts from 1 again.
      this.lastSeq = seq;
    }
    this.emit("ack", { last_seq: this.lastSeq });
  }

  private handle(packet: Packet): void {
    switch (packet.packet_type) {
      case "client_bound_live_update":
        this.options.onUpdate(packet.data);
        return;
      case "update_status":
      case "heartbeat": {
        const status = parseStatus(packet.data);
        if (status !== null) {
          this.options.onStatus(status);
        }
        return;
      }
      case "error": {
        const problem = parseError(packet.data);
        if (problem !== null) {
          this.options.onError(problem);
        }
      }
    }
  }

  private emit(packetType: string, data: object): void {
    if (this.socket?.readyState !== OPEN) {
      return;
    }
    this.socket.send(
      JSON.stringify({
        packet_type: packetType,
        subject_id: this.options.agentId,
        data,
        client_timestamp: Date.now() / 1000,
      }),
    );
  }

  private token(): { agent_token?: string } {
    return this.options.agentToken === null ? {} : { agent_token: this.options.agentToken };
  }
}
