/** One rater's dialogue of the mock server: sends states, checks answers loosely, keeps an outbox as our router does. */
import { context, practice, QUESTION, replies } from "./mock-content.mjs";
import { scene } from "./mock-scenes.mjs";

const TURNS = 3;

export class MockWorld {
  constructor(agentId, worker, phase) {
    this.agentId = agentId;
    this.worker = worker;
    this.phase = phase;
    this.updates = [];
    this.outbox = [];
    this.seq = 0;
    this.version = 0;
    this.turn = 1;
    this.transcript = phase === "task" ? [entry("you", "Hi!")] : [];
    this.confirmed = [];
    this.socket = null;
    this.scene = scene(worker);
    if (this.scene) {
      this.nextOfScene();
    } else if (!worker.startsWith("stuck")) {
      setTimeout(() => (phase === "task" ? this.partnerTypes() : this.showPractice()), 300);
    }
  }

  attach(socket, lastSeq) {
    this.socket = socket;
    this.outbox.filter((packet) => packet.router_seq > lastSeq).forEach((packet) => socket.send(JSON.stringify(packet)));
    if (this.worker.startsWith("cut")) {
      setTimeout(() => socket.close(), 7000);
    }
  }

  acknowledged(seq) {
    this.outbox = this.outbox.filter((packet) => packet.router_seq > seq);
  }

  answer(answer) {
    if (this.confirmed.includes(answer.update_id) || answer.step_id !== this.state.step.step_id) {
      return;
    }
    this.confirmed = [...this.confirmed.slice(-9), answer.update_id];
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    if (this.scene) {
      this.answeredScene(answer);
    } else if (answer.kind === "message") {
      this.transcript.push(entry("you", answer.text));
      this.partnerTypes();
    } else if (answer.kind === "choose") {
      this.chosen(answer);
    } else {
      this.show({ kind: "end", title: "Thank you!", text: "Your conversation is complete. You will be paid in full.", next: "submit" });
    }
  }

  /** Like a server: text with “refuse me” is refused, a new topic leaves the step open, all else leads on. */
  answeredScene(answer) {
    const { step } = this.state;
    const written = [answer.text, answer.reason, ...Object.values(answer.reasons ?? {})].join(" ");
    if (/refuse me/i.test(written)) {
      this.show(step, { level: "error", text: "Please say it in other words." });
    } else if (answer.action_id === "topic") {
      this.shown = { ...this.shown, topic: answer.text };
      this.show(step, { level: "success", text: "The new topic is noted." });
    } else {
      this.nextOfScene();
    }
  }

  nextOfScene() {
    const next = this.scene.shift();
    if (next) {
      this.shown = next;
      this.show(next.step, next.notice ?? null);
    } else if (this.state?.step.kind === "feedback") {
      this.show({ kind: "end", title: "Thank you!", text: "You will be paid in full.", next: "submit" });
    } else {
      this.show({ kind: "feedback", step_id: "feedback", label: "Is there anything that you would like to tell us? (optional)" });
    }
  }

  chosen(answer) {
    const { cards } = this.state.step;
    if (/refuse me/i.test(answer.reason)) {
      this.show(this.state.step, { level: "error", text: "Your reason repeats the reply. Please say in your own words why you chose it." });
      return;
    }
    const card = cards.find((one) => one.candidate_id === answer.selected[0]) ?? cards[0];
    if (this.phase === "practice") {
      this.practised(card);
      return;
    }
    this.transcript.push(entry("partner", card.text));
    this.turn += 1;
    if (this.turn > TURNS) {
      this.show({ kind: "feedback", step_id: "feedback", label: "Is there anything that you would like to tell us? (optional)" });
    } else {
      this.show({ kind: "message", step_id: `message-${this.turn}`, label: "Your message", min_words: 2, max_chars: 400 });
    }
  }

  practised(card) {
    const right = card.candidate_id === "better";
    const notice = right
      ? { level: "success", text: "Right: that reply takes up what was said." }
      : { level: "info", text: "The other reply was better: it takes up what was said." };
    this.turn += 1;
    if (this.turn > practice.length) {
      this.show({ kind: "end", title: "Practice complete", text: "Well done.", next: "submit_onboarding" }, notice);
    } else {
      this.showPractice(notice);
    }
  }

  showPractice(notice = null) {
    const item = practice[this.turn - 1];
    this.transcript = [entry("you", item.said)];
    this.show(
      this.choose(`practice-${this.turn}`, [
        { candidate_id: "worse", text: item.worse },
        { candidate_id: "better", text: item.better },
      ]),
      notice,
    );
  }

  partnerTypes() {
    this.show({ kind: "wait", text: "Partner is typing…" });
    const slow = this.worker.startsWith("slow");
    if (slow) {
      setTimeout(() => this.show({ kind: "wait", text: "Your partner needs longer than usual. Please wait.", slow: true }), 1500);
    }
    const texts = replies[(this.turn - 1) % replies.length];
    const cards = texts.map((text, index) => ({ candidate_id: `c${this.turn}-${index}`, text }));
    if (this.worker.startsWith("many")) {
      cards.push({ candidate_id: "third", text: "What a day! Tell me more." }, { candidate_id: "fourth", text: "Hm." });
    }
    setTimeout(() => this.show(this.choose(`choose-${this.turn}`, cards)), slow ? 60_000 : 900);
  }

  choose(stepId, cards) {
    const many = this.worker.startsWith("many");
    return {
      kind: "choose",
      step_id: stepId,
      question: QUESTION,
      cards,
      min_choices: many ? 0 : 1,
      max_choices: many ? cards.length : 1,
      none_label: many ? "None of these" : null,
      reason: { label: "Why did you choose this?", required: true, min_words: 3 },
    };
  }

  show(step, notice = null) {
    this.version += 1;
    this.state = {
      version: this.version,
      phase: this.phase,
      progress: { unit: this.phase === "task" ? "turn" : "practice", current: Math.min(this.turn, TURNS), total: this.phase === "task" ? TURNS : practice.length },
      context: this.phase === "task" ? context : null,
      transcript: [...this.transcript],
      ...this.shown,
      step,
      notice,
      confirmed: this.confirmed,
    };
    const update = { update_id: `u${this.version}`, kind: "state", state: this.state };
    this.updates.push(update);
    this.seq += 1;
    const packet = { packet_type: "client_bound_live_update", subject_id: this.agentId, data: update, router_seq: this.seq };
    this.outbox.push(packet);
    if (this.socket?.readyState === 1) {
      this.socket.send(JSON.stringify(packet));
    }
  }
}

let entries = 0;
function entry(speaker, text) {
  entries += 1;
  return { entry_id: `e${entries}`, speaker, text, note: null };
}
