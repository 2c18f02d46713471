/**
 * One rater's visit: from the task's description to the submitted unit.
 *
 * Holds the view, talks to the router, and tells React when the view has changed. Practice and task are two agents
 * one after the other, each with a connection and an outbox of its own.
 */
import { nanoid } from "nanoid";
import { best, t, turnTo } from "../language";
import { inLanguage, type TaskConfig } from "../wire/config";
import { Connection, type Socket } from "../wire/connection";
import type { Crowd, Purpose } from "../wire/crowd";
import { actionDraft, clearDraft } from "../wire/drafts";
import { type AgentRef, type Http, HttpError } from "../wire/http";
import { Outbox } from "../wire/outbox";
import { type AgentDetails, OTHER_BROWSER, OTHER_STUDY, OTHER_WINDOW, type RouterError, UNKNOWN } from "../wire/packets";
import { persist } from "../wire/persist";
import {
  type Answer,
  type AnswerBody,
  answerableStepId,
  type EndStep,
  keptUnder,
  newestUpdate,
  type PageState,
  parseUpdate,
  type Redirect,
} from "../wire/state";
import { closedSentence } from "./closed";
import { askingAgain, begun, INITIAL_VIEW, isNewer, keptOutside, linked, type Screen, troubled, type View, waitingFor } from "./view";

export interface SessionOptions {
  http: Http;
  crowd: () => Crowd | null;
  openSocket: () => Socket;
  /** Goes to this page with another query, as the preview's start button does, or to the site that sent the rater. */
  goTo: (address: string) => void;
  /** Which study the page's address is of; null: it does not say. */
  study?: string | null;
  /** The languages that the browser's owner reads, the best first. */
  reads: readonly string[];
}

interface Live extends AgentRef {
  connection: Connection;
  outbox: Outbox;
}

/** How long the last words can be read before the page goes back to the site that sent the rater. */
export const LEAVE_AFTER_MS = 3_000;

/** However often somebody presses the button, and whatever the server says: no more than a request in this time. */
export const SOONEST_AGAIN_MS = 4_000;

export class Session {
  private view: View = INITIAL_VIEW;
  private readonly listeners = new Set<() => void>();
  private live: Live | null = null;
  private language: string | null = null;
  /** Which study this page is of, however long it stays open; empty: it is not known. */
  private study = "";
  private run = new AbortController();
  private askedAgainFor: string | null = null;
  /** The text that the worker agreed to. */
  private agreed: { version: string; digest: string } | null = null;
  private outside: { timer: ReturnType<typeof setTimeout>; notBefore: number; ask: () => void } | null = null;

  constructor(private readonly options: SessionOptions) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly getView = (): View => this.view;

  /** Begins, or begins anew after a failure: everything that was said so far is with the server. */
  readonly start = (): void => {
    this.stop();
    this.run = new AbortController();
    this.show(waitingFor("config"));
    void this.guard(this.open());
  };

  stop(): void {
    this.run.abort();
    this.leave();
    clearTimeout(this.outside?.timer);
    this.outside = null;
  }

  /** The preview's start button: the server is asked for work, or for ids with which this page is loaded again. */
  readonly begin = (): void => {
    if (this.view.config?.entry === "address") {
      this.ask("begin");
      return;
    }
    void this.guard(this.beginAsSomebodyNew());
  };

  /** Who waits outside presses the button: asks as soon as that may be. */
  readonly askAgain = (): void => {
    if (this.outside !== null) {
      clearTimeout(this.outside.timer);
      this.set(askingAgain(this.view));
      this.outside.timer = setTimeout(this.outside.ask, Math.max(0, this.outside.notBefore - Date.now()));
    }
  };

  /** The worker agrees to the text in view: the server is asked again for what it was asked for. */
  readonly agree = (): void => {
    const { screen } = this.view;
    if (screen.kind === "consent") {
      this.agreed = { version: screen.form.version, digest: screen.form.digest };
      this.ask(screen.purpose);
    }
  };

  /** Somebody does not want to take part. The server is told only where it knows a way back for them. */
  readonly decline = (): void => {
    if (this.view.config?.entry === "address") {
      this.ask("decline");
    } else {
      this.show({ kind: "refused", title: t("You are not taking part"), reason: t("That is fine: nothing about you was stored here. Thank you for your time!"), redirect: null });
    }
  };

  /** Somebody who came by a link gives back what they began. */
  readonly giveBack = (): void => this.ask("give_back");

  private ask(purpose: Purpose | undefined): void {
    const crowd = this.options.crowd();
    if (crowd !== null) {
      void this.guard(this.askForAgent(crowd, purpose));
    }
  }

  /** Sends the answer to the step in view. A second one for the same step is not taken while the first is on its way. */
  /** Sends a picture ahead of the message that it goes with; its digest. */
  readonly upload = (file: Blob): Promise<string> =>
    this.live === null ? Promise.reject(new Error("no agent")) : this.options.http.uploadImage(this.live, file);

  readonly answer = (body: AnswerBody): void => {
    const { live, view } = this;
    const open = view.state && answerableStepId(view.state.step);
    if (!live || open !== body.step_id || view.pending) {
      return;
    }
    const answer: Answer = { ...body, update_id: nanoid() };
    live.outbox.add(answer);
    this.set({ pending: answer });
    live.connection.send(answer);
  };

  readonly reconnect = (): void => {
    this.live?.connection.reconnectNow();
  };

  /** Sends the unit in again after a failure. */
  readonly deliverAgain = (): void => {
    const step = this.view.state?.step;
    if (step?.kind === "end") {
      this.deliver(step);
    }
  };

  private async open(): Promise<void> {
    const { http } = this.options;
    const signal = this.run.signal;
    const config = await persist(() => http.taskConfig(signal), this.troubled, signal);
    this.study ||= this.options.study ?? config.study;
    this.speak(config, best(Object.keys(config.languages), this.options.reads));

    const crowd = this.options.crowd();
    if (crowd === null) {
      this.show({ kind: "problem", text: noProviderScript() });
      return;
    }
    if (config.entry === "address") {
      await this.askForAgent(crowd, "look");
      return;
    }
    if (crowd.workerName && crowd.assignmentId) {
      await this.askForAgent(crowd);
    } else {
      this.show({ kind: "preview", start: config.entry === "start" ? "fresh" : "accept_first" });
    }
  }

  /** The page is in a language from now on; where its words were not sent, it stays as it is. */
  private speak(config: TaskConfig, tag: string | null | undefined): void {
    const language = tag ? config.languages[tag] : undefined;
    if (tag && language) {
      this.language = tag;
      turnTo({ tag, ...language });
      this.set({ config: inLanguage(config, language) });
    } else if (this.view.config === null) {
      this.set({ config });
    }
  }

  private async beginAsSomebodyNew(): Promise<void> {
    const signal = this.run.signal;
    const trouble = (error: HttpError) => this.show(waitingFor("agent", error.message));
    const ids = await persist(() => this.options.http.freshIds(signal), trouble, signal);
    if (ids?.study !== undefined && this.study !== "" && ids.study !== this.study) {
      this.show(studyOver());
      return;
    }
    const query = new URLSearchParams(ids ?? { worker_id: `rater-${nanoid(8)}`, assignment_id: `try-${nanoid(8)}` });
    this.options.goTo(`?${query.toString()}`);
  }

  private async askForAgent(crowd: Crowd, purpose?: Purpose): Promise<void> {
    const signal = this.run.signal;
    if (this.view.screen.kind !== "outside") {
      this.show(waitingFor("agent"));
    }
    const details = await persist(
      () => this.options.http.requestAgent(this.registration(crowd, purpose), signal),
      this.troubled,
      signal,
    );
    this.outside = null;
    if (details.try_again_s !== null) {
      this.waitOutside(details, details.try_again_s, () => void this.guard(this.askForAgent(crowd, purpose)));
      return;
    }
    if (details.consent !== null) {
      this.show({ kind: "consent", form: details.consent, purpose });
      return;
    }
    this.enter(details);
    if (purpose === "decline") {
      this.leaveFor(details.redirect);
    }
  }

  private registration(crowd: Crowd, purpose?: Purpose): Record<string, unknown> {
    const consent = this.agreed === null ? {} : { consent: this.agreed };
    const language = this.language === null ? {} : { language: this.language };
    const study = this.study === "" ? {} : { study: this.study };
    return { ...crowd.registration(), ...study, ...language, ...consent, ...(purpose ? { here_to: purpose } : {}) };
  }

  private waitOutside({ title, failure_reason: reason }: AgentDetails, seconds: number, askAgain: () => void): void {
    const wait = Math.max(seconds * 1_000, SOONEST_AGAIN_MS);
    const ask = () => {
      this.set(askingAgain(this.view));
      askAgain();
    };
    this.outside = { timer: setTimeout(ask, wait), notBefore: Date.now() + SOONEST_AGAIN_MS, ask };
    this.set(keptOutside(this.view, { title: title ?? t("The study is full right now"), reason: reason ?? "" }, Date.now() + wait));
  }

  /** Goes back to the site that sent the rater, after a moment to read why. */
  private leaveFor(redirect: Redirect | null | undefined): void {
    const url = redirect?.url;
    if (url) {
      setTimeout(() => this.options.goTo(url), LEAVE_AFTER_MS);
    }
  }

  private enter(details: AgentDetails): void {
    const { agent_id: agentId, agent_token: agentToken, failure_reason: failed, title, redirect } = details;
    if (details.preview) {
      this.show(failed === null ? { kind: "preview", start: "ask" } : { kind: "preview", start: "only_look", why: failed });
      return;
    }
    this.leave();
    if (failed !== null || agentId === null) {
      const over = details.screen === OTHER_STUDY && this.view.config?.entry === "start" ? { over: true } : {};
      const reason = failed ?? t("The server has no conversation available.");
      this.show(
        details.screen === OTHER_BROWSER
          ? { kind: "other_browser", title: title ?? t("This task is open in another browser"), text: reason }
          : { kind: "refused", title, reason, redirect, ...over },
      );
      return;
    }
    const connection = new Connection({
      agentId,
      agentToken,
      openSocket: this.options.openSocket,
      unconfirmed: () => this.live?.outbox.answers ?? [],
      onUpdate: (data) => this.update(data),
      onStatus: (status) => this.set({ closed: closedSentence(status) }),
      onLink: (link) => this.set(linked(this.view, link)),
      onError: (problem) => this.routerError(problem),
    });
    this.live = { agentId, agentToken, connection, outbox: new Outbox(agentId) };
    this.set(begun(this.view, agentId));
    // Only the newest: an older one would take an answer that waits for its confirmation to be settled.
    const newest = newestUpdate(details.init_task_data?.past_live_updates ?? []);
    if (newest !== null) {
      this.update(newest);
    }
    connection.start();
  }

  /** Takes an update in; true when it is a state newer than the one in view. */
  private update(data: unknown): boolean {
    const parsed = parseUpdate(data);
    if (parsed === null || this.live === null) {
      return false;
    }
    if (!parsed.ok) {
      this.options.http.logError(this.live, `Invalid state: ${parsed.error}`);
      this.fail(notUnderstood());
      return false;
    }
    const { state } = parsed;
    if (!isNewer(this.view, state)) {
      return false;
    }
    const kept = keptUnder(state, this.live.agentId);
    if (this.live.outbox.unit !== kept) {
      this.live.outbox = new Outbox(kept);
    }
    if (this.view.config && state.language !== this.language) {
      this.speak(this.view.config, state.language);
    }
    this.settle(this.live, state);
    const open = answerableStepId(state.step);
    const pending = open === null ? null : this.live.outbox.forStep(open);
    this.set({ screen: { kind: "live" }, state, pending, linkProblem: null });
    if (state.step.kind === "end") {
      this.atEnd(this.live, state.step);
    }
    return true;
  }

  /**
   * A refused answer keeps its draft, because its step is still the one in view. So does a half-written message while an
   * action is taken that leaves its step open; the text of that action has done its work.
   */
  private settle(live: Live, state: PageState): void {
    const open = answerableStepId(state.step);
    for (const answer of live.outbox.settle(state.confirmed, open)) {
      const over = answer.step_id !== open;
      if (over) {
        clearDraft(live.outbox.unit, answer.step_id);
      }
      if (answer.kind === "action" && (over || state.notice?.level !== "error")) {
        clearDraft(live.outbox.unit, actionDraft(answer.step_id, answer.action_id));
      }
    }
  }

  /** A line that is kept hears it when the study goes on: the next launch does not know this page, which then comes back. */
  private atEnd(live: Live, step: EndStep): void {
    if (step.next !== "stay") {
      this.deliver(step);
    } else if (!step.resumes) {
      live.connection.stop();
    }
  }

  private deliver(step: EndStep): void {
    const { delivery } = this.view;
    const underWay = delivery.kind === "sending" || delivery.kind === "done" || (delivery.kind === "failed" && delivery.retrying);
    if (step.next === "stay" || underWay || this.live === null) {
      return;
    }
    this.set({ delivery: { kind: "sending" } });
    const work = step.next === "submit" ? this.submitTask(this.live, step) : this.submitOnboarding(this.live);
    work.catch((error: unknown) => {
      this.set({ delivery: { kind: "failed", text: sentence(error), retrying: false } });
    });
  }

  private async submitTask(live: Live, step: EndStep): Promise<void> {
    await persist(() => this.options.http.submitTask(live), this.deliveryFailed, this.run.signal);
    live.connection.stop();
    this.set({ delivery: { kind: "done" } });
    // Whoever pressed Start came from nowhere: there is no site to send to.
    if (this.view.config?.entry !== "start") {
      this.options.crowd()?.submitToProvider({});
    }
    this.leaveFor(step.redirect);
  }

  private async submitOnboarding(live: Live): Promise<void> {
    const crowd = this.options.crowd();
    if (crowd === null) {
      return;
    }
    const post = () => this.options.http.submitOnboarding(crowd.registration(), live);
    try {
      this.enter(await persist(post, this.deliveryFailed, this.run.signal));
    } catch (error) {
      // Refused for good, as after a lost answer to a first try that arrived: the server knows who we are by now.
      if (this.askedAgainFor === live.agentId) {
        throw error;
      }
      this.askedAgainFor = live.agentId;
      await this.askForAgent(crowd);
    }
  }

  private readonly deliveryFailed = (error: HttpError): void => {
    this.set({ delivery: { kind: "failed", text: error.message, retrying: true } });
  };

  private routerError({ error: text, fatal, reason }: RouterError): void {
    if (!fatal) {
      this.set({ linkProblem: text });
    } else if (reason === OTHER_WINDOW) {
      this.live?.connection.stop();
      this.show({ kind: "other_window", text });
    } else if (reason === UNKNOWN) {
      this.goOn();
    } else {
      this.fail(text);
    }
  }

  /** The study was launched again while this page stayed open: it registers as it did before, and goes on where it was. */
  readonly goOn = (): void => {
    this.leave();
    this.ask(this.view.config?.entry === "address" ? "begin" : undefined);
  };

  private fail(text: string): void {
    this.live?.connection.stop();
    this.show({ kind: "problem", text });
  }

  private async guard(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.fail(sentence(error));
    }
  }

  private readonly troubled = ({ message }: HttpError): void => this.set(troubled(this.view, message));

  private leave(): void {
    this.live?.connection.stop();
    this.live = null;
  }

  private show(screen: Screen): void {
    this.set({ screen });
  }

  private set(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    this.listeners.forEach((listener) => listener());
  }
}

function sentence(error: unknown): string {
  return error instanceof HttpError ? error.message : t("Something went wrong on this page.");
}

export function notUnderstood(): string {
  return t(
    "The server sent something that this page does not understand. Your work so far is saved. Reload the page. If this happens again, tell the task's owner.",
  );
}

function studyOver(): Screen {
  const reason = t("Your work is saved. Another study is open at this address now.");
  return { kind: "refused", title: t("This study has ended"), reason, redirect: null, over: true };
}

function noProviderScript(): string {
  return t(
    "A part of this page (wrap_crowd_source.js) did not load, so the page cannot tell the server who you are. Reload the page. If this happens again, tell the task's owner.",
  );
}

/** What a task may ask of its session. */
export type TaskSession = Pick<Session, "answer" | "upload" | "reconnect" | "deliverAgain" | "giveBack" | "goOn">;
