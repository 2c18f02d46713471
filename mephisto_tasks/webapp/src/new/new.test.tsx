import { render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { axeViolations } from "../test/axe";
import { NewStudy } from "./NewStudy";
import type { Choices, Draft, FieldInfo } from "./wire";

const field = (name: string, more: Partial<FieldInfo> = {}): FieldInfo => ({
  name,
  topic: "The study",
  default: "",
  description: `About ${name}.`,
  choices: [],
  suggestions: [],
  ...more,
});

const DRAFT: Draft = {
  estimate: {
    planned: 40,
    raters: 40,
    hours: 7.25,
    cost: 90,
    power: 0.8,
    reward: 2.23,
  },
  remark: "",
  problems: [],
  missing: ["public_url"],
  text: "technique: pw_turn\n",
  fee: 0.2,
  bars: [
    { technique: "sata", hours: 3, cost: 45 },
    { technique: "pw_turn", hours: 7, cost: 90 },
  ],
  question: "Which do you prefer?",
  amount: "dialogues_per_group",
  fields: [field("models", { default: "[eliza, retrieval]" }), field("question"), field("dialogues_per_group")],
  others: [field("seed"), field("stop", { choices: ["collected", "decided"], default: "collected" })],
};
const WRITTEN = { files: ["study.yaml"], command: "parlai-humaneval launch study.yaml" };
const TECHNIQUES = ["pw_turn", "sata"].map((name) => ({ name, title: name, summary: "rated", source: "2022" }));
const CHOICES: Choices = { technique: "pw_turn", settings: {}, gap: 0.1, power: 0.8, wage: 15 };

/** What was asked, and answers by what is asked: an object, or a sentence with which it is refused. */
let asked: { what: string; body: { choices: Choices; replace?: boolean } }[] = [];
let answers: Record<string, object | string> = {};
/** Until this is over, nothing is answered. */
let busy: Promise<unknown> = Promise.resolve();

beforeEach(() => {
  asked = [];
  busy = Promise.resolve();
  answers = {
    start: { choices: CHOICES, path: "study.yaml", folder: "/home/me", techniques: TECHNIQUES },
    draft: DRAFT,
    preview: { url: "about:blank" },
    write: WRITTEN,
    reply: { model: "eliza", reply: "Hello.", why: "" },
  };
  vi.stubGlobal("fetch", (what: string, options?: { body: string }) => {
    asked.push({ what, body: JSON.parse(options?.body ?? "{}") as { choices: Choices } });
    const answer = answers[what] ?? "no answer";
    const body = typeof answer === "string" ? { problem: answer } : answer;
    return busy.then(() => new Response(JSON.stringify(body), { status: typeof answer === "string" ? 409 : 200 }));
  });
});
afterEach(() => vi.unstubAllGlobals());

const last = () => asked.filter(({ what }) => what === "draft").at(-1)?.body.choices;

describe("a new study", () => {
  it("shows what it costs and finds, with nothing that axe finds", async () => {
    render(<NewStudy />);
    expect(await screen.findByText("$90")).toBeInTheDocument();
    expect(screen.getByText("80 %")).toBeInTheDocument();
    expect(screen.getByText("Add at the launch: public_url")).toBeInTheDocument();
    expect(screen.getByPlaceholderText("Which do you prefer?")).toBeInTheDocument();
    expect(screen.getAllByRole("radio").map((one) => one.parentElement?.textContent)[0]).toContain("sata $45, 3 hours");
    expect(await axeViolations()).toEqual([]);
  });

  it("asks again when a field is left, and keeps what all techniques have", async () => {
    const user = userEvent.setup();
    const settings = { zoo_files: ["mine.yaml"] };
    answers.start = { ...(answers.start as object), choices: { ...CHOICES, settings } };
    render(<NewStudy />);
    const gap = await screen.findByLabelText("Gap");
    await user.clear(gap);
    await user.type(gap, "20");
    const before = asked.length;
    await user.tab();
    await waitFor(() => expect(last()?.gap).toBe(0.2));
    expect(asked).toHaveLength(before + 1);
    await user.type(screen.getByLabelText("Your own question"), "Why?{Enter}");
    await waitFor(() => expect(last()?.settings).toEqual({ ...settings, question: "Why?" }));
    await user.type(screen.getByLabelText("Model 2"), "_x{Enter}");
    await waitFor(() => expect(last()?.settings.models).toEqual(["eliza", "retrieval_x"]));
    await user.click(screen.getByRole("radio", { name: /sata/ }));
    await waitFor(() => expect(last()?.technique).toBe("sata"));
    expect(last()?.settings).toEqual({ models: ["eliza", "retrieval_x"], zoo_files: ["mine.yaml"] });
  });

  it("never shows figures of other choices as if they were current", async () => {
    const user = userEvent.setup();
    render(<NewStudy />);
    const figures = () => screen.getByText("$90").closest("dl");
    const gap = await screen.findByLabelText("Gap");
    expect(figures()).toHaveAttribute("aria-busy", "false");
    await user.type(gap, "5");
    expect(figures()).toHaveAttribute("aria-busy", "true");
    expect(screen.getByText("Press Enter to update these numbers.")).toBeVisible();
    let end: (value: unknown) => void = () => undefined;
    busy = new Promise((resolve) => (end = resolve));
    await user.keyboard("{Enter}");
    expect(await screen.findByText("Updating…")).toBeVisible();
    expect(figures()).toHaveAttribute("aria-busy", "true");
    expect(screen.getByRole("group", { name: "Technique" })).toHaveAttribute("aria-busy", "true");
    end(null);
    await waitFor(() => expect(figures()).toHaveAttribute("aria-busy", "false"));
    answers.draft = "it has ended";
    await user.type(gap, "5{Enter}");
    expect(await screen.findByText("These numbers could not be updated.")).toBeVisible();
    expect(figures()).toHaveAttribute("aria-busy", "true");
  });

  it("says how a model of one's own is added", async () => {
    render(<NewStudy />);
    await userEvent.setup().click(await screen.findByText("Add your own model"));
    expect(screen.getByText("/home/me")).toBeVisible();
    expect(screen.getByText(/def reply\(history\)/)).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("offers every other setting", async () => {
    const user = userEvent.setup();
    render(<NewStudy />);
    await user.selectOptions(await screen.findByLabelText("Add a setting"), "stop");
    await user.selectOptions(screen.getByLabelText("Stop"), "decided");
    await waitFor(() => expect(last()?.settings).toEqual({ stop: "decided" }));
  });

  it("shows first replies, and why a model has none", async () => {
    const user = userEvent.setup();
    render(<NewStudy />);
    await user.click(await screen.findByRole("button", { name: "Try each model" }));
    expect(await screen.findAllByText("“Hello.”")).toHaveLength(2);
    answers.reply = "no such model";
    await user.click(screen.getByRole("button", { name: "Try each model" }));
    expect(await screen.findAllByText("no such model")).toHaveLength(2);
  });

  it("writes once nothing is wrong, and replaces only on demand", async () => {
    const user = userEvent.setup();
    answers.write = "study.yaml: already exists";
    render(<NewStudy />);
    await user.click(await screen.findByRole("button", { name: "Write study.yaml" }));
    answers.write = WRITTEN;
    await user.click(await screen.findByRole("button", { name: "Replace study.yaml" }));
    expect(await screen.findByText(WRITTEN.command)).toBeInTheDocument();
    expect(asked.filter(({ what }) => what === "write").map(({ body }) => body.replace)).toEqual([false, true]);
  });

  it("says what is wrong, and writes nothing then", async () => {
    answers.draft = { ...DRAFT, problems: ["there is no language 'xx'"] };
    render(<NewStudy />);
    expect(await screen.findByRole("alert")).toHaveTextContent("there is no language 'xx'");
    expect(screen.getByRole("button", { name: "Write study.yaml" })).toHaveAttribute("aria-disabled", "true");
  });
});
