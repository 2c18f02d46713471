import { act, render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { axeViolations } from "../test/axe";
import { DETAILS, filledStore, INDEX } from "./fakes";
import { chosen, counts, type Filters, NOTHING } from "./filter";
import { read, written } from "./route";
import { searchable, wanted } from "./search";
import { Viewer } from "./Viewer";

const TEXTS = INDEX.ids.map((id) => searchable(id, DETAILS[id] ?? {}));
const fits = (some: Partial<Filters>) =>
  chosen(INDEX, TEXTS, { ...NOTHING, ...some }).map((at) => INDEX.ids[at]);

describe("filter", () => {
  it("takes either value of one facet, and asks for all facets", () => {
    expect(fits({ facets: { model: ["ada", "bob"] } })).toHaveLength(6);
    expect(fits({ facets: { model: ["ada"], rater: ["r1"] } })).toEqual(["d1", "a|b:1"]);
    expect(fits({ facets: { check: ["too_fast"] } })).toEqual(["d2"]);
  });

  it("finds nothing for a value or a facet that the study lacks", () => {
    expect(fits({ facets: { model: ["nobody"] } })).toEqual([]);
    expect(fits({ facets: { planet: ["Mars"] } })).toEqual([]);
  });

  it("bounds the number of turns", () => {
    expect(fits({ least: 2, most: 3 })).toEqual(["d1", "d3", "d5", "d6"]);
  });

  it("searches all texts for all words and phrases, whatever their case", () => {
    expect(fits({ query: "ZEPPELIN" })).toEqual(["d2", "a|b:1"]);
    expect(fits({ query: "zeppelin what" })).toEqual(["d2"]);
    expect(fits({ query: '"is honest"' })).toEqual(["d1"]);
    expect(fits({ query: '"honest is"' })).toEqual([]);
    expect(fits({ query: "مرحبا" })).toEqual(["a|b:1"]);
    expect(wanted('  one "two three" “four five” "')).toEqual(["one", "two three", "four five"]);
  });

  it("finds reasons, the model's own words and what judges wrote", () => {
    for (const query of ["i am bob", "short", "which is better", "1 s"]) {
      expect(fits({ query })).toContain("d1");
    }
  });

  it("sorts, and keeps the order of the study among equals", () => {
    expect(fits({ sort: "disagreement" })).toEqual(["a|b:1", "d3", "d6", "d1", "d2", "d5"]);
    expect(fits({ sort: "longest" })).toEqual(["a|b:1", "d1", "d5", "d6", "d3", "d2"]);
    expect(fits({ sort: "shortest" })[0]).toBe("d2");
    expect(fits({ sort: "slowest" })[0]).toBe("a|b:1");
    expect(fits({ sort: "newest" }).slice(0, 3)).toEqual(["a|b:1", "d2", "d1"]);
  });

  it("counts the values among what is shown", () => {
    expect(counts(INDEX, "model", [0, 1, 2])).toEqual([2, 2]);
    expect(counts(INDEX, "planet", [0])).toEqual([]);
  });
});

describe("route", () => {
  it("comes back as it was written, with any id and any value", () => {
    for (const id of ["d1", "a|b:1", "a/b?c#d%", "مرحبا"]) {
      const facets = { model: ["ada & bob", "<b>=?#"], k: ["2"] };
      const route = { id, turn: 3, talk: 2, filters: { facets, query: "a b", sort: "newest" as const, least: null, most: 4 } };
      expect(read(written(route))).toEqual(route);
      expect(read(written({ ...route, talk: null }))).toEqual({ ...route, talk: null });
    }
  });

  it("reads the links of a report, and what somebody mistyped", () => {
    expect(read("#?technique=sata&model=ada%20lovelace").filters.facets).toEqual({ technique: ["sata"], model: ["ada lovelace"] });
    expect(read("#d1/x?sort=luck&turns=-")).toEqual({ id: "d1", turn: null, talk: null, filters: { ...NOTHING, facets: {} } });
    expect(read("#%zz").id).toBe("%zz");
    expect(read("")).toEqual({ id: null, turn: null, talk: null, filters: { ...NOTHING, facets: {} } });
  });
});

describe("page", () => {
  beforeEach(() => {
    window.location.hash = "";
    Range.prototype.getBoundingClientRect = () => ({ top: 0 }) as DOMRect; // jsdom has none
    HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
      this.open = true;
    };
  });

  async function shown(hash = "", broken: readonly number[] = []) {
    window.location.hash = hash;
    render(<Viewer store={filledStore(broken)} />);
    await act(async () => Promise.resolve());
  }
  const rows = () => within(screen.getByRole("region", { name: "Dialogues" })).getAllByRole("listitem");

  it("shows a turn with all replies, who chose what and why, and texts as they were written", async () => {
    await shown("#d1/1");
    const turn = await screen.findByRole("region", { name: "Turn 1" });
    expect(within(turn).getByText("Yes").tagName).toBe("B");
    expect(within(turn).getByText("I am <b>a bot</b>")).toBeInTheDocument();
    expect(within(turn).getByText("It is Honest")).toBeInTheDocument();
    expect(turn).toHaveTextContent("r1 chose bob · 12 s");
    expect(turn).toHaveTextContent("gpt (judge, order 2) chose ada");
    expect(within(turn).getByText("chosen")).toBeInTheDocument();
    expect(within(turn).getByText("chosen by judges 1 of 1")).toBeInTheDocument();
    expect(within(turn).getByText("masked")).toBeInTheDocument();
    expect(screen.getByText(/failed by r1: 1 s/)).toBeInTheDocument();
    expect(within(turn).getByRole("link", { name: "Copy link to turn 1" })).toHaveAttribute(
      "href",
      expect.stringMatching(/#d1\/1$/),
    );
    expect(turn).toHaveAttribute("data-here");
    expect(await axeViolations()).toEqual([]);
  });

  it("shows both dialogues of a pair, each text in its own direction", async () => {
    await shown(`#${encodeURIComponent("a|b:1")}`);
    expect(await screen.findByRole("region", { name: "Dialogue 1: ada" })).toBeInTheDocument();
    expect(screen.getAllByText("مرحبا").every((element) => element.closest("[dir=auto]"))).toBe(true);
    expect(screen.getByText("Of the two")).toBeInTheDocument();
    expect(screen.getByText("(no text)")).toBeInTheDocument();
  });

  it("links to a turn of one of two dialogues, and shows that one alone as the place", async () => {
    const id = encodeURIComponent("a|b:1").replaceAll("%3A", ":");
    await shown(`#${id}/1/2`);
    const both = await screen.findAllByRole("region", { name: /^Dialogue \d/ });
    const links = both.map((one) => within(one).getByRole("link", { name: /turn 1 of dialogue/ }).getAttribute("href"));
    expect(links.map((link) => link?.split("#")[1])).toEqual([`${id}/1/1`, `${id}/1/2`]);
    expect(both.map((one) => one.querySelector("[data-here]") !== null)).toEqual([false, true]);
  });

  it("puts no colon behind a question that ends with a mark", async () => {
    await shown(`#${encodeURIComponent("a|b:1")}`);
    expect(await screen.findByText("humanness")).toHaveAttribute("data-mark", ":");
    expect(screen.getByText("Sounds human.")).toHaveAttribute("data-mark", "");
  });

  it("names what was asked where no technique is known", async () => {
    await shown(`#${encodeURIComponent("a|b:1")}`);
    expect(await screen.findByText("Asked about")).toBeInTheDocument();
    expect(screen.queryByText("Technique")).toBeNull();
  });

  it("goes through the list with j and k, and closes with Escape", async () => {
    await shown("#?model=ada");
    const user = userEvent.setup();
    const heading = () => screen.queryByRole("heading", { level: 2 })?.textContent;
    await user.keyboard("j");
    await waitFor(() => expect(heading()).toBe("d1"));
    await user.keyboard("jjk");
    await waitFor(() => expect(heading()).toBe("d3"));
    expect(window.location.hash).toBe("#d3?model=ada");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(heading()).toBeUndefined());
  });

  it("searches with /, in which j and k are letters", async () => {
    await shown();
    const user = userEvent.setup();
    await user.keyboard("/zeppelin j");
    expect(screen.getByRole("searchbox")).toHaveValue("zeppelin j");
    await user.clear(screen.getByRole("searchbox"));
    await user.type(screen.getByRole("searchbox"), "zeppelin");
    await waitFor(() => expect(screen.getByRole("status")).toHaveTextContent("2 of 6 entries"));
    expect(rows()).toHaveLength(2);
  });

  it.each(["Enter", "Escape"])("leaves the search field with %s, so that j steps through the hits", async (key) => {
    await shown();
    const user = userEvent.setup();
    await user.keyboard("/zeppelin");
    await waitFor(() => expect(rows()).toHaveLength(2));
    const press = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    act(() => void screen.getByRole("searchbox").dispatchEvent(press));
    // Else the browser would clear the field.
    expect(press.defaultPrevented).toBe(true);
    await user.keyboard("j");
    await waitFor(() => expect(window.location.hash).toBe("#d2?q=zeppelin"));
    expect(screen.getByRole("searchbox")).toHaveValue("zeppelin");
  });

  it("says beside the list, which a phone shows alone, that nothing fits", async () => {
    await shown("#?model=nobody");
    const list = screen.getByRole("region", { name: "Dialogues" });
    expect(within(list).getByText(/No dialogue fits these filters/)).toBeInTheDocument();
  });

  it.each([
    ["#?q=unicorn", "No dialogue contains unicorn."],
    ["#?q=unicorn&model=ada", "No dialogue that fits these filters contains unicorn."],
  ])("says of %s that the search found nothing", async (hash, words) => {
    await shown(hash);
    expect(await screen.findByText(words)).toBeInTheDocument();
  });

  it("marks what was searched for in the opened dialogue, and scrolls to the first place", async () => {
    const set = vi.fn<(name: string, ranges: string[]) => void>();
    vi.stubGlobal("CSS", { highlights: { set, delete: vi.fn() } });
    vi.stubGlobal("Highlight", function (...ranges: Range[]) {
      return ranges.map(String);
    });
    Range.prototype.getBoundingClientRect = () => ({ top: 900 }) as DOMRect;
    await shown(`#${encodeURIComponent("a|b:1")}?q=ZEPPELIN`);
    await waitFor(() => expect(set).toHaveBeenLastCalledWith("found", ["zeppelin"]));
    expect(screen.getByRole("region", { name: "The open dialogue" }).scrollTop).toBe(900);
    vi.unstubAllGlobals();
  });

  it("unfolds a text that is searched for", async () => {
    await shown("#d1?q=short");
    await waitFor(() => expect(screen.getByText("A, as it is short").closest("details")).toHaveAttribute("open"));
  });

  it("lists the ratings, and of a tie the models and whether both were bad", async () => {
    const outcome = { values: ["tie"], of: [[0], [], [], [0], [], []] };
    const answer = { values: ["ada and bob alike", "ada and bob both bad"], of: [[1], [], [], [0, 1], [], []] };
    const model = { values: ["ada", "bob"], of: [[0, 1], [0], [0], [0, 1], [0], [1]] };
    const store = filledStore();
    store.receive("index", JSON.stringify({ ...INDEX, facets: { outcome, answer, model } }));
    render(<Viewer store={store} />);
    await act(async () => Promise.resolve());
    const texts = rows().map((row) => row.textContent);
    expect(texts[0]).toContain("ada and bob: both bad");
    expect(texts[3]).toContain("ada and bob: tie");
    expect(texts[5]).toContain("bob · fluent 4.5");
  });

  it("offers no filter whose values nobody can read or that are one entry each", async () => {
    const facet = (values: string[], of: number[][]) => ({ values, of });
    const places = [[0], [0], [1], [1], [], []];
    const facets = {
      start: facet(["s0123456789abcdef", "sfedcba9876543210"], places),
      topic: facet(["food", "art"], [[0], [1], [], [], [], []]),
      persona: facet(['["I hike.", "I <b>cook</b>."]', "[Bo"], places),
    };
    const store = filledStore();
    store.receive("index", JSON.stringify({ ...INDEX, facets }));
    render(<Viewer store={store} />);
    await act(async () => Promise.resolve());
    await userEvent.setup().click(screen.getByRole("button", { name: "Filter" }));
    expect(screen.queryByRole("combobox", { name: "Start" })).toBeNull();
    expect(screen.queryByRole("combobox", { name: "Topic" })).toBeNull();
    const personas = within(screen.getByRole("combobox", { name: "Persona" })).getAllByRole("option");
    expect(personas.map((option) => option.textContent)).toEqual(["any", "I hike. I <b>cook</b>. (2)", "[Bo (2)"]);
  });

  it("adds filters and takes them away", async () => {
    await shown();
    const user = userEvent.setup();
    await user.click(screen.getByRole("button", { name: "Filter" }));
    await user.selectOptions(screen.getByRole("combobox", { name: "Model" }), "ada (4)");
    await waitFor(() => expect(screen.getByRole("status")).toHaveTextContent("4 of 6 entries"));
    await user.type(screen.getByRole("spinbutton", { name: "from" }), "3");
    await waitFor(() => expect(screen.getByRole("status")).toHaveTextContent("3 of 6 entries"));
    await user.click(screen.getByRole("button", { name: "Clear all" }));
    await waitFor(() => expect(screen.getByRole("status")).toHaveTextContent(/^6 entries$/));
  });

  it("says so where a dialogue, or a part of the texts, is not there", async () => {
    await shown("#nobody", [1]);
    expect(await screen.findByText(/No dialogue of this name/)).toBeInTheDocument();
    await waitFor(() => expect(screen.getByRole("status")).toHaveTextContent("Some texts could not be read"));
  });

  it("says so where a link names a turn after the last", async () => {
    await shown("#d1/99");
    expect(await screen.findByText("This dialogue has no turn 99: its last one is 3.")).toBeInTheDocument();
  });

  it("has help with the keys", async () => {
    await shown();
    const user = userEvent.setup();
    await user.keyboard("?");
    expect(screen.getByRole("dialog", { name: "Help" })).toHaveTextContent("next / previous dialogue");
    await user.click(screen.getByRole("button", { name: "Close" }));
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("copies the link to a turn", async () => {
    await shown("#d1");
    const write = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText: write } });
    (await screen.findByRole("link", { name: "Copy link to turn 2" })).click();
    expect(write).toHaveBeenCalledWith(expect.stringMatching(/#d1\/2$/));
    vi.unstubAllGlobals();
  });
});
