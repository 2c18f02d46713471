import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { App } from "../App";
import { Session } from "../session/session";
import { axeViolations } from "../test/axe";
import { agent, CHOOSE, CONFIG, entry, fakeCrowd, fakeHttp, FakeSockets, MESSAGE, pageState, RATE, update } from "../test/fakes";
import { pendingAnswer, renderTask } from "../test/renderTask";
import { pass, press } from "../test/time";
import type { Delivery } from "../session/view";
import type { Context, EndStep, PageState } from "../wire/state";
import { PATIENCE_MS } from "./Banner";
import { Instructions } from "./Instructions";

const FIRST = { unit: "turn", current: 1, total: 6, minimum: null } as const;
const CONTEXT: Context = { title: "Your character", lines: ["I restore boats.", " "] };
const AT_FIRST = { context: CONTEXT, progress: FIRST };
type Show = ReturnType<typeof renderTask>["show"];

describe("the header", () => {
  it.each([
    [{ unit: "turn", current: 3, total: 6, minimum: null }, "Turn 3 of 6"],
    [{ unit: "practice", current: 2, total: 4, minimum: null }, "Practice 2 of 4"],
    [{ unit: "conversation", current: 5, total: null, minimum: null }, "Conversation 5"],
    [{ unit: "turn", current: 3, total: null, minimum: 10 }, "Turn 3 of at least 10"],
    [{ unit: "turn", current: 10, total: null, minimum: 10 }, "Turn 10 of at least 10"],
    [{ unit: "turn", current: 11, total: null, minimum: 10 }, "Turn 11"],
  ] as const)("says how far one is: %o", (progress, words) => {
    renderTask(pageState(1, MESSAGE, { progress }));
    expect(screen.getByText(words)).toBeVisible();
  });

  it("names the turn inside a conversation, and says from when on one may end it", async () => {
    renderTask(
      pageState(1, MESSAGE, {
        progress: { unit: "conversation", current: 2, total: 6, minimum: null },
        within: { unit: "turn", current: 3, total: null, minimum: 10 },
      }),
    );
    expect(screen.getByRole("banner")).toHaveTextContent("Conversation 2 of 6 · Turn 3 of at least 10");
    expect(await axeViolations()).toEqual([]);
  });

  it("says to the end how far one came", () => {
    const progress = { unit: "turn", current: 6, total: 6, minimum: null } as const;
    const { show } = renderTask(pageState(1, MESSAGE, { progress }));
    const open = () => document.querySelectorAll("header [aria-hidden] > :not(.past)").length;
    expect(open()).toBe(1);
    show(pageState(2, { kind: "feedback", step_id: "f", label: "?", max_chars: 20 }, { progress }));
    expect(screen.getByText("Turn 6 of 6")).toBeVisible();
    expect(open()).toBe(0);
    show(pageState(3, { kind: "end", title: "Done", text: "Thanks.", next: "stay", redirect: null, resumes: false }, { progress }));
    expect(screen.getByText("Turn 6 of 6")).toBeVisible();
  });

  it("keeps the topic in sight below it, as text, until the end", () => {
    const topic = "<b>Boats</b>";
    const { show } = renderTask(pageState(1, MESSAGE, { topic }));
    expect(screen.getByRole("region", { name: "Topic" })).toHaveTextContent("Topic: <b>Boats</b>");
    show(pageState(2, { kind: "end", title: "Done", text: "Thanks.", next: "stay", redirect: null, resumes: false }, { topic }));
    expect(screen.queryByRole("region", { name: "Topic" })).toBeNull();
  });

  it("opens the instructions again, and Escape gives the focus back", async () => {
    renderTask(pageState(1, MESSAGE));
    const button = screen.getByRole("button", { name: "Instructions" });
    await userEvent.click(button);
    const dialog = await screen.findByRole("dialog", { name: "Instructions" });
    expect(within(dialog).getByText("Read both replies.")).toBeVisible();
    expect(within(dialog).getAllByText(CONFIG.pay)).toHaveLength(1);
    expect(await axeViolations()).toEqual([]);
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(button).toHaveFocus();
  });
});

describe("the instructions at the first arrival", () => {
  it("say the pay once, where their own sections say it", async () => {
    const config = { ...CONFIG, instructions: { sections: [{ heading: "Pay", lines: [CONFIG.pay, "We are fair."] }] } };
    render(<Instructions config={config} open onClose={vi.fn()} onGiveBack={null} />);
    expect(await screen.findAllByText(CONFIG.pay)).toHaveLength(1);
    expect(screen.getByText(CONFIG.consent)).toBeVisible();
  });

  it("hold a way to return the task, which asks whether that is meant", async () => {
    const onGiveBack = vi.fn();
    const { rerender } = render(<Instructions config={CONFIG} open onClose={vi.fn()} onGiveBack={onGiveBack} />);
    await userEvent.click(screen.getByRole("button", { name: "Return the task" }));
    const dialog = await screen.findByRole("dialog", { name: "Return the task?" });
    expect(await axeViolations()).toEqual([]);
    await userEvent.click(within(dialog).getByRole("button", { name: "Continue the task" }));
    expect(onGiveBack).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole("button", { name: "Return the task" }));
    const again = await screen.findByRole("dialog", { name: "Return the task?" });
    await userEvent.click(within(again).getByRole("button", { name: "Return the task" }));
    expect(onGiveBack).toHaveBeenCalledTimes(1);
    rerender(<Instructions config={CONFIG} open onClose={vi.fn()} onGiveBack={null} />);
    expect(screen.queryByRole("button", { name: "Return the task" })).toBeNull();
  });

  it("lie over no task by themselves", async () => {
    renderTask(pageState(1, CHOOSE));
    await waitFor(() => expect(screen.getByRole("heading", { name: CHOOSE.question })).toHaveFocus());
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("open by themselves, once, where no start screen told what to do; number keys choose nothing behind them", async () => {
    const http = fakeHttp();
    http.taskConfig.mockResolvedValue({ ...CONFIG, instructions_first: true });
    http.requestAgent.mockResolvedValue(agent("agent", [update(pageState(1, CHOOSE))]));
    const sockets = new FakeSockets();
    const session = new Session({ http, crowd: () => fakeCrowd(), openSocket: sockets.open, goTo: vi.fn(), reads: ["en"] });
    const { unmount } = render(<App session={session} />);
    act(() => session.start());
    const dialog = await screen.findByRole("dialog", { name: "Instructions" });
    await waitFor(() => expect(within(dialog).getByRole("heading", { name: "Instructions" })).toHaveFocus());
    await userEvent.keyboard("1");
    await userEvent.click(within(dialog).getByRole("button", { name: "Got it" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(screen.queryByRole("radio", { checked: true })).toBeNull();
    await waitFor(() => expect(screen.getByRole("heading", { name: CHOOSE.question })).toHaveFocus());

    unmount();
    render(<App session={session} />);
    expect(screen.getByRole("radiogroup")).toBeVisible();
    expect(screen.queryByRole("dialog")).toBeNull();
    session.stop();
  });
});

describe("the context card", () => {
  it("shows sentences, never an empty bullet", () => {
    renderTask(pageState(1, MESSAGE, { context: CONTEXT, progress: FIRST }));
    expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual(["I restore boats."]);
  });

  it("does not appear without a sentence", () => {
    renderTask(pageState(1, MESSAGE, { context: { title: "Your character", lines: ["", "  "] } }));
    expect(screen.queryByText("Your character")).toBeNull();
  });

  it("folds to one line after the first turn, and unfolds when it is wanted", async () => {
    const { show } = renderTask(pageState(1, MESSAGE, { context: CONTEXT, progress: FIRST }));
    expect(screen.getByRole("listitem")).toBeVisible();
    show(pageState(2, MESSAGE, { context: CONTEXT }));
    await waitFor(() => expect(screen.queryByRole("listitem")).toBeNull());
    const button = screen.getByRole("button", { name: "Your character", expanded: false });
    expect(button).toHaveTextContent("I restore boats.");
    await userEvent.click(button);
    expect(screen.getByRole("listitem")).toBeVisible();
    expect(await axeViolations()).toEqual([]);
    show(pageState(3, { ...MESSAGE, step_id: "m2" }, { context: CONTEXT }));
    expect(screen.getByRole("listitem")).toBeVisible();
  });

  it.each([
    ["the first answer is on its way", (show: Show) => show(pageState(1, MESSAGE, AT_FIRST), { pending: pendingAnswer("m1") })],
    ["one begins to scroll", () => fireEvent.wheel(document.body)],
  ])("was read when %s, and does not open again, at the end least of all", async (_, act) => {
    const { show, unmount } = renderTask(pageState(1, MESSAGE, AT_FIRST));
    expect(screen.getByRole("listitem")).toBeVisible();
    act(show);
    await waitFor(() => expect(screen.queryByRole("listitem")).toBeNull());
    unmount();
    const again = renderTask(pageState(1, MESSAGE, AT_FIRST));
    expect(screen.queryByRole("listitem")).toBeNull();
    again.show(pageState(2, RATE, { context: CONTEXT, progress: null }));
    expect(screen.queryByRole("listitem")).toBeNull();
    again.show(pageState(3, { kind: "feedback", step_id: "f", label: "?", max_chars: 20 }, { context: CONTEXT, progress: null }));
    expect(screen.queryByText("Your character")).toBeNull();
  });

  it("is open again for another character", () => {
    const { unmount } = renderTask(pageState(1, MESSAGE, AT_FIRST));
    fireEvent.wheel(document.body);
    unmount();
    renderTask(pageState(1, MESSAGE, { ...AT_FIRST, context: { title: "Your character", lines: ["I bake bread."] } }));
    expect(screen.getByText("I bake bread.", { selector: "li" })).toBeVisible();
  });

  it("folds, and stays folded after a reload", async () => {
    const { unmount } = renderTask(pageState(1, MESSAGE, { context: CONTEXT, progress: FIRST }));
    await userEvent.click(screen.getByRole("button", { name: "Your character", expanded: true }));
    await waitFor(() => expect(screen.queryByRole("listitem")).toBeNull());
    unmount();
    renderTask(pageState(1, MESSAGE, { context: CONTEXT, progress: FIRST }));
    expect(screen.getByRole("button", { name: "Your character", expanded: false })).toBeVisible();
  });
});

describe("the transcript", () => {
  const said = [entry("1", "you", "Hi!"), entry("2", "partner", "Hello <i>you</i>", { note: "Well chosen." })];

  it("is a log of who said what, with remarks, as plain text", async () => {
    renderTask(pageState(1, MESSAGE, { transcript: said, context: CONTEXT }));
    const log = screen.getByRole("log", { name: "Conversation so far" });
    expect(within(log).getAllByRole("listitem").map((item) => item.textContent)).toEqual([
      "YouHi!",
      "PartnerHello <i>you</i>Well chosen.",
    ]);
    expect(await axeViolations()).toEqual([]);
  });

  it("announces each new reply of the partner once, and nothing that was there before", () => {
    const { show } = renderTask(pageState(1, CHOOSE, { transcript: said }));
    const announcer = screen.getByTestId("announcer");
    expect(announcer).toBeEmptyDOMElement();
    show(pageState(2, MESSAGE, { transcript: [...said, entry("3", "partner", "How are you?")] }));
    expect(announcer).toHaveTextContent("Partner: How are you?");
    const announced = announcer.firstChild;
    show(pageState(3, MESSAGE, { transcript: [...said, entry("3", "partner", "How are you?"), entry("4", "you", "Fine!")] }));
    expect(announcer.firstChild).toBe(announced);
    expect(announcer).toHaveTextContent(/^Partner: How are you\?$/);
  });
});

describe("the connection", () => {
  it("is not mentioned while it is good, nor when it comes back at once", () => {
    vi.useFakeTimers();
    const { show } = renderTask(pageState(1, MESSAGE), { link: "lost" });
    pass(PATIENCE_MS - 1);
    show(pageState(1, MESSAGE), { link: "open" });
    pass(PATIENCE_MS);
    expect(screen.queryByText(/Connection lost/)).toBeNull();
  });

  it("is put into words while it is lost, and the words go when it is back", () => {
    vi.useFakeTimers();
    const { show, onReconnect } = renderTask(pageState(1, MESSAGE), { link: "lost" });
    pass(PATIENCE_MS);
    expect(screen.getByText("Connection lost. Your work is safe; trying again…")).toBeVisible();
    press(screen.getByRole("button", { name: "Try now" }));
    expect(onReconnect).toHaveBeenCalledTimes(1);
    show(pageState(1, MESSAGE), { link: "open" });
    expect(screen.queryByText(/Connection lost/)).toBeNull();
  });

  it.each<[string, EndStep["next"], PageState["phase"], Delivery]>([
    ["phase ended", "submit", "ended", { kind: "sending" }],
    ["a goodbye", "stay", "task", { kind: "none" }],
    ["handed in", "submit", "task", { kind: "done" }],
  ])("is of no concern once nothing more is needed: %s", (_, next, phase, delivery) => {
    vi.useFakeTimers();
    renderTask(pageState(1, { kind: "end", title: "Done", text: "Thanks.", next, redirect: null, resumes: false }, { phase }), { link: "lost", delivery });
    pass(10 * PATIENCE_MS);
    expect(screen.queryByText(/Connection lost/)).toBeNull();
  });

  it("passes on what the router complains about", () => {
    renderTask(pageState(1, MESSAGE), { linkProblem: "Your message was too large." });
    expect(screen.getByText("Your message was too large.")).toBeVisible();
  });
});

describe("a unit that the server has closed", () => {
  it("takes no more answers and says what happened", () => {
    renderTask(pageState(1, MESSAGE), { closed: "The time ran out. What you wrote is saved." });
    expect(screen.getByRole("alert")).toHaveTextContent("The time ran out.");
    expect(screen.queryByRole("textbox")).toBeNull();
  });

  it("does not trouble about the connection any more", () => {
    vi.useFakeTimers();
    renderTask(pageState(1, MESSAGE), { closed: "The time ran out.", link: "lost" });
    pass(10 * PATIENCE_MS);
    expect(screen.queryByText(/Connection lost/)).toBeNull();
  });
});

describe("notices", () => {
  it.each(["info", "success", "error"] as const)("are read at once: %s", async (level) => {
    renderTask(pageState(1, CHOOSE, { notice: { level, text: "Two were wrong.", points: ["After “Hi”: it ignores you.", "After “So?”: it repeats."] } }));
    expect(screen.getByRole("alert")).toHaveTextContent("Two were wrong.");
    expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual(
      expect.arrayContaining(["After “Hi”: it ignores you.", "After “So?”: it repeats."]),
    );
    expect(await axeViolations()).toEqual([]);
  });

  it("are said again when the same refusal comes twice", () => {
    const refused = (version: number) => pageState(version, MESSAGE, { notice: { level: "error", text: "No.", points: [] } });
    const { show } = renderTask(refused(1));
    const before = screen.getByRole("alert");
    show(refused(2));
    expect(screen.getByRole("alert")).not.toBe(before);
  });
});
