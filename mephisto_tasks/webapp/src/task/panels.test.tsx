import { act, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { axeViolations } from "../test/axe";
import { CHOOSE, entry, MESSAGE, PAIR, pageState, panel, RANK, RATE, SPOT } from "../test/fakes";
import { renderTask } from "../test/renderTask";
import type { Notice, PageState, Panel, Progress, Step } from "../wire/state";

const TWO = [
  panel("Conversation 1", ["Hi!", "Hello <i>you</i>", "And?"], { context: ["I like tea."] }),
  panel("Conversation 2", ["Hey.", "Good day"], { judged_label: "Speaker 2" }),
];
const at = (current: number): Progress => ({ unit: "pair", current, total: 5, minimum: null });
const state = (version: number, step: Step, panels: Panel[], rest: Partial<PageState> = {}) =>
  pageState(version, step, { panels, progress: at(1), ...rest });
const lines = (name: string) => within(screen.getByRole("region", { name })).getAllByRole("listitem");
const before = (one: Element, other: Element) =>
  (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;

const scrollTo = vi.fn();
beforeEach(() => {
  scrollTo.mockClear();
  vi.stubGlobal("scrollTo", scrollTo);
});

describe("finished dialogues", () => {
  it("are regions under their names, with lists of who said what as plain text", async () => {
    renderTask(state(1, PAIR, TWO));
    expect(screen.getAllByRole("heading", { level: 2 }).map((one) => one.textContent)).toEqual([
      "Conversation 1",
      "Conversation 2",
      "Who is nicer?",
    ]);
    expect(lines("Conversation 2").map((one) => one.textContent)).toEqual(["Partner: Hey.", "Speaker 2 (marked): Good day"]);
    expect(lines("Conversation 1").map((one) => one.textContent)).toContain("Speaker 1 (marked): Hello <i>you</i>");
    expect(screen.getByText("Pair 1 of 5")).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("mark the judged speaker alike in both, whatever they are called, and name them above", () => {
    renderTask(state(1, PAIR, TWO));
    const judged = screen.getAllByRole("listitem").filter((one) => one.dataset.judged === "true");
    expect(judged.map((one) => one.dataset.speaker)).toEqual(["Speaker 1", "Speaker 2"]);
    expect(judged.map((one) => one.querySelector("bdi")?.textContent)).toEqual(["Speaker 1", "Speaker 2"]);
    expect(new Set(judged.map((one) => one.className)).size).toBe(1);
    expect(screen.getAllByText(/^Marked:/).map((one) => one.textContent)).toEqual(["Marked: Speaker 1", "Marked: Speaker 2"]);
  });

  it("have a card with what led them, and none where nothing did", () => {
    renderTask(state(1, PAIR, TWO));
    const cards = screen.getAllByRole("note", { name: "Background" });
    expect(cards).toHaveLength(1);
    expect(cards[0]).toHaveTextContent("I like tea.");
    expect(within(screen.getByRole("note")).getByRole("list")).toHaveAttribute("dir", "auto");
  });

  it("set two speakers apart where none is marked", () => {
    const said = ["A", "B"].map((speaker) => ({ line_id: speaker, speaker, judged: false, text: "Hi!" }));
    renderTask(state(1, SPOT, [panel("Conversation", [], { judged_label: null, lines: said })]));
    const [first, second] = lines("Conversation");
    expect(first?.className).not.toBe(second?.className);
    expect(screen.queryByText(/^Marked:/)).toBeNull();
  });

  it("keep the other speaker's side also before the marked one has said anything", () => {
    renderTask(state(1, PAIR, [panel("Conversation", ["Hi!"])]));
    const [alone] = lines("Conversation").map((one) => one.className);
    expect(alone).toContain("far");
  });

  it("name nobody as marked while no line of the marked speaker is shown", () => {
    const { show } = renderTask(state(1, CHOOSE, [panel("Conversation", ["Hi!"])]));
    expect(screen.queryByText(/^Marked:/)).toBeNull();
    show(state(2, { ...CHOOSE, step_id: "c2" }, [panel("Conversation", ["Hi!", "Hello."])]));
    expect(screen.getByText(/^Marked:/)).toHaveTextContent("Marked: Speaker 1");
  });

  it("have the one question of a form above them, for who scrolls through them to it", () => {
    const { show } = renderTask(state(1, PAIR, TWO));
    const ahead = screen.getByText("You will be asked: Who is nicer?");
    expect(before(ahead, screen.getByRole("region", { name: "Conversation 1" }))).toBe(true);
    show(state(2, SPOT, TWO));
    expect(screen.queryByText(/^You will be asked/)).toBeNull();
  });

  it("say so when nothing was said yet", () => {
    renderTask(state(1, CHOOSE, [panel("Conversation", [])]));
    expect(screen.getByText("Nothing has been said yet.")).toBeVisible();
  });
});

describe("a new item", () => {
  it("is read from its beginning: the page is at the top, and the first name has the focus", () => {
    const { show } = renderTask(state(1, PAIR, TWO));
    expect(scrollTo.mock.calls).toEqual([[{ top: 0, behavior: "smooth" }]]);
    expect(screen.getByRole("heading", { name: "Conversation 1" })).toHaveFocus();
    screen.getByRole("radio", { name: "Speaker 1" }).focus();
    show(state(2, { ...PAIR, step_id: "f9" }, TWO, { progress: at(2) }));
    expect(scrollTo).toHaveBeenCalledTimes(2);
    expect(screen.getByRole("heading", { name: "Conversation 1" })).toHaveFocus();
  });

  it("is a new one also where the header counts turns and only the lines differ", () => {
    const turn: Partial<PageState> = { progress: { unit: "turn", current: 1, total: 2, minimum: null } };
    const { show } = renderTask(state(1, PAIR, TWO, turn));
    show(state(2, { ...PAIR, step_id: "f9" }, [...TWO].reverse(), turn));
    expect(scrollTo).toHaveBeenCalledTimes(2);
  });

  it("does not move the page, and takes no focus, when its answer is refused", () => {
    const { show } = renderTask(state(1, PAIR, TWO));
    const radio = screen.getByRole("radio", { name: "Speaker 1" });
    radio.focus();
    show(state(2, PAIR, TWO, { notice: { level: "error", text: "In other words, please.", points: [] } }));
    expect(scrollTo).toHaveBeenCalledTimes(1);
    expect(radio).toHaveFocus();
    expect(before(screen.getByRole("region", { name: "Conversation 2" }), screen.getByRole("alert"))).toBe(true);
  });

  it("has what is said of the answer before above it", () => {
    const notice: Notice = { level: "info", text: "Speaker 2 was better.", points: ["Speaker 1 repeats."] };
    const { show } = renderTask(state(1, PAIR, TWO, { phase: "practice" }));
    show(state(2, { ...PAIR, step_id: "f9" }, TWO, { phase: "practice", progress: at(2), notice }));
    expect(before(screen.getByRole("alert"), screen.getByRole("region", { name: "Conversation 1" }))).toBe(true);
  });
});

describe("a replay", () => {
  it("leads on to the next question, and reads aloud what was said, also when the ids of lines are new", () => {
    const renamed = (version: number, texts: string[]) => [
      panel("Conversation", texts, {
        lines: panel("Conversation", texts).lines.map((line, index) => ({ ...line, line_id: `v${version}-${index}` })),
      }),
    ];
    const { show } = renderTask(state(1, CHOOSE, renamed(1, ["Hi!"])));
    expect(screen.getByTestId("announcer")).toBeEmptyDOMElement();
    scrollTo.mockClear();
    show(state(2, { ...CHOOSE, step_id: "c2" }, renamed(2, ["Hi!", "Hello.", "And you?"])));
    expect([...screen.getByTestId("announcer").children].map((one) => one.textContent)).toEqual([
      "Speaker 1: Hello.",
      "Partner: And you?",
    ]);
    expect(scrollTo).not.toHaveBeenCalledWith({ top: 0, behavior: "smooth" });
    expect(screen.getByRole("heading", { name: CHOOSE.question })).toHaveFocus();
  });

  it.each([["choose", CHOOSE], ["rate", RATE], ["rank", RANK]] as const)("has room for any step below it: %s", async (_, step) => {
    renderTask(state(1, step, TWO.slice(0, 1)));
    expect(before(screen.getByRole("region", { name: "Conversation 1" }), screen.getByRole("form"))).toBe(true);
    expect(await axeViolations()).toEqual([]);
  });
});

describe("the bar below the dialogues", () => {
  const bar = () => screen.getByRole("navigation", { name: "Parts of this page" });
  const link = (name: string) => within(bar()).getByRole("link", { name });

  it("leads to each of them and to the step", async () => {
    let stepTop = 5000;
    vi.spyOn(Element.prototype, "getBoundingClientRect").mockImplementation(function (this: Element) {
      return { top: this.matches("#step") ? stepTop : 0, bottom: 0 } as DOMRect;
    });
    renderTask(state(1, PAIR, TWO));
    await userEvent.click(link("2nd conversation"));
    expect(screen.getByRole("heading", { name: "Conversation 2" })).toHaveFocus();
    await userEvent.click(link("Your answer"));
    expect(screen.getByRole("heading", { name: "Who is nicer?" })).toHaveFocus();
    expect(link("2nd conversation")).toHaveAttribute("aria-current", "location");
    stepTop = 100;
    act(() => void window.dispatchEvent(new Event("scroll")));
    expect(link("Your answer")).toHaveAttribute("aria-current", "location");
    expect(within(bar()).getAllByRole("link").filter((one) => one.hasAttribute("aria-current"))).toHaveLength(1);
  });

  it("cannot be taken for the answers: it asks nothing, and no link has the name of an option or of a dialogue", () => {
    renderTask(state(1, PAIR, TWO));
    expect(bar()).toHaveTextContent(/^Go to1st conversation2nd conversationYour answer$/);
    expect(within(bar()).queryByRole("button")).toBeNull();
  });

  it("leads back from scales, which are long", async () => {
    renderTask(state(1, RATE, TWO.slice(0, 1)));
    expect(bar()).toHaveTextContent(/^Go toConversation 1Your answer$/);
    await userEvent.click(link("Conversation 1"));
    expect(screen.getByRole("heading", { name: "Conversation 1" })).toHaveFocus();
    await userEvent.click(link("Your answer"));
    expect(screen.getByRole("heading", { name: RATE.question })).toHaveFocus();
    expect(await axeViolations()).toEqual([]);
  });

  it("is not there for a step that is short enough to keep its question in sight, nor in a live chat", () => {
    const { show } = renderTask(state(1, CHOOSE, TWO.slice(0, 1)));
    expect(screen.queryByRole("navigation")).toBeNull();
    show(pageState(2, MESSAGE));
    expect(screen.queryByRole("navigation")).toBeNull();
    show(pageState(3, RATE));
    expect(screen.queryByRole("navigation")).toBeNull();
  });
});

describe("the names of two conversations", () => {
  const tab = (name: string) => within(screen.getByRole("navigation", { name: "What to compare" })).getByRole("link", { name });

  it("lead from one to the other, and back to where one left it", async () => {
    let scrolled = 0;
    vi.spyOn(Element.prototype, "getBoundingClientRect").mockImplementation(function (this: Element) {
      const tops: Record<string, number> = { "0": 200, "1": 5000 };
      return { top: (tops[(this as HTMLElement).dataset.tab ?? ""] ?? 0) - scrolled, bottom: 0 } as DOMRect;
    });
    const by = vi.fn();
    window.scrollBy = by as typeof window.scrollBy;
    const to = (place: number) => {
      scrolled = place;
      act(() => void window.dispatchEvent(new Event("scroll")));
    };
    renderTask(state(1, PAIR, TWO));
    to(900);
    expect(tab("1st conversation")).toHaveAttribute("aria-current", "location");
    await userEvent.click(tab("2nd conversation"));
    expect(screen.getByRole("heading", { name: "Conversation 2" })).toHaveFocus();
    to(5000);
    expect(tab("2nd conversation")).toHaveAttribute("aria-current", "location");
    await userEvent.click(tab("1st conversation"));
    expect(by.mock.calls).toEqual([[{ top: 0 }], [{ top: 700 }]]);
  });

  it("are those of two partners where one chats with both, once they have answered", async () => {
    const said = [entry("1", "you", "Hi!"), entry("2", "partner", "Hello", { column: 0 }), entry("3", "partner", "Good day", { column: 1 })];
    const { show } = renderTask(pageState(1, MESSAGE, { columns: ["A", "B"], transcript: said.slice(0, 1) }));
    expect(screen.queryByRole("navigation")).toBeNull();
    show(pageState(2, MESSAGE, { columns: ["A", "B"], transcript: said }));
    await userEvent.click(tab("B"));
    expect(screen.getByText("Good day").closest("li")).toHaveFocus();
    expect(await axeViolations()).toEqual([]);
  });
});

describe("the dock", () => {
  const height = (pixels: number) => vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(pixels);
  const docked = () => document.querySelector("[data-docked]") !== null;

  it("keeps a form in sight that leaves room to read, and lets a taller one stand at the end", () => {
    vi.stubGlobal("innerHeight", 800);
    vi.stubGlobal("innerWidth", 1280);
    height(350);
    const { unmount } = renderTask(state(1, PAIR, TWO));
    expect(docked()).toBe(true);
    unmount();
    height(370);
    renderTask(state(1, PAIR, TWO));
    expect(docked()).toBe(false);
  });

  it("is measured in a page that is no lower meanwhile: Firefox would scroll up, and the end of a form were out of reach", () => {
    const lowest = new Set<string>();
    vi.spyOn(document.documentElement, "scrollHeight", "get").mockReturnValue(1400);
    vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (this: HTMLElement) {
      lowest.add(document.body.style.minHeight);
      return 600;
    });
    renderTask(state(1, PAIR, TWO));
    expect([...lowest]).toEqual(["1400px"]);
    expect(document.body.style.minHeight).toBe("");
  });

  it("has the page keys scroll by what it leaves in sight, except where a key has another use", async () => {
    const scrollBy = vi.fn();
    vi.stubGlobal("scrollBy", scrollBy);
    vi.stubGlobal("innerHeight", 800);
    vi.stubGlobal("innerWidth", 1280);
    height(300);
    renderTask(state(1, PAIR, TWO));
    await userEvent.keyboard("{PageDown}{PageUp} ");
    expect(scrollBy.mock.calls.map(([to]) => (to as ScrollToOptions).top)).toEqual([425, -425, 425]);
    await userEvent.keyboard("1");
    await userEvent.type(screen.getByLabelText("Why?"), "a b{PageDown}");
    expect(scrollBy).toHaveBeenCalledTimes(3);
    expect(screen.getByLabelText("Why?")).toHaveValue("a b");
  });

  it("goes by what a keyboard on the screen leaves of the window, stands above it, and says its own height", () => {
    const said = () => document.documentElement.style.getPropertyValue("--dock-height");
    vi.stubGlobal("innerHeight", 844);
    const leaves = (pixels: number) =>
      vi.stubGlobal("visualViewport", Object.assign(new EventTarget(), { height: pixels, offsetTop: 64, scale: 1 }));
    leaves(600);
    height(260);
    const { unmount } = renderTask(state(1, PAIR, TWO));
    const dock = document.querySelector<HTMLElement>("[data-docked]");
    expect(dock?.style.getPropertyValue("--keyboard-height")).toBe("180px");
    expect(said()).toBe("260px");
    unmount();
    expect(said()).toBe("");
    height(280);
    const taller = renderTask(state(1, PAIR, TWO));
    expect(docked()).toBe(false);
    expect(said()).toBe("0px");
    taller.unmount();
    leaves(480);
    height(100);
    renderTask(state(1, PAIR, TWO));
    expect(docked()).toBe(false);
  });
});
