import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../test/axe";
import { CHOOSE, pageState, update } from "../test/fakes";
import { renderTask } from "../test/renderTask";
import { type ChooseStep, type Markup, type Part, parseUpdate } from "../wire/state";
import { areAlike, differences } from "./differences";
import { Reply, spoken } from "./Reply";

const MARKUP: Markup = [
  { tag: "title", parts: ["Tea"] },
  { tag: "p", parts: ["It is ", { tag: "b", parts: ["hot"] }, ".", { tag: "br", parts: [] }, "<i>So</i>."] },
  { tag: "ol", start: 3, parts: [{ tag: "li", parts: ["Pour"] }] },
  { tag: "table", parts: [{ tag: "tr", parts: [{ tag: "th", parts: ["Cup"] }] }] },
  { tag: "pre", parts: ["a  b"] },
];
const SAID = { text: "# Tea…", markup: MARKUP };
const LONG = "The wood of an old boat is soft. ".repeat(12);
const long = (...endings: string[]): ChooseStep => ({
  ...CHOOSE,
  cards: endings.map((ending, index) => ({ candidate_id: `c${index}`, text: `${LONG}${ending}` })),
});

function markupOf(markup: unknown) {
  const parsed = parseUpdate(update(pageState(1, { ...CHOOSE, cards: [{ candidate_id: "a", text: "Hi", markup }] } as ChooseStep)));
  return parsed?.ok === true && parsed.state.step.kind === "choose" ? parsed.state.step.cards[0]?.markup : "refused";
}

describe("markup from the server", () => {
  it("is taken where it has nothing but parts that the page knows", () => {
    expect(markupOf(MARKUP)).toEqual(MARKUP);
  });

  const nested = Array.from({ length: 40 }).reduce<Markup>((inner) => [{ tag: "quote", parts: inner }], ["deep"]);
  it.each([["script", [{ tag: "script", parts: ["alert(1)"] }]], ["too deep", nested], ["too large", Array(6000).fill("a")], ["no list", "x"]])(
    "that is %s leaves the text as it was said",
    (_, markup) => expect(markupOf(markup)).toBeNull(),
  );
});

describe("a reply", () => {
  it("is drawn by its markup: headings are none of the page's, and HTML is words", () => {
    const { container } = render(<Reply said={SAID} />);
    expect(screen.queryByRole("heading")).toBeNull();
    expect(screen.getByText("hot").tagName).toBe("B");
    expect(container).toHaveTextContent("<i>So</i>.");
    expect(screen.getByRole("list")).toHaveAttribute("start", "3");
    expect(within(screen.getByRole("group", { name: "Table" })).getByRole("columnheader", { name: "Cup" })).toBeVisible();
    expect(screen.getByRole("group", { name: "Code" })).toHaveAttribute("tabindex", "0");
    expect(container.firstElementChild).toHaveAttribute("dir", "auto");
  });

  it("lets each part run as its language does, and code to the right, which says nothing of the text around it", () => {
    const item: Part = { tag: "li", parts: ["אחת", { tag: "code", parts: ["f(x);"] }] };
    const parts = (["p", "quote", "ul"] as const).map((tag): Part => ({ tag, parts: [item] }));
    const { container } = render(<Reply said={{ text: "", markup: [...parts, ...MARKUP] }} />);
    const directions = (some: string) => [...container.querySelectorAll(some)].map((one) => one.getAttribute("dir"));
    expect(directions("blockquote, ul, ol, [aria-label='Table']")).toEqual(["auto", "auto", "auto", "auto"]);
    expect(directions("code, [aria-label='Code']")).toEqual(["ltr", "ltr", "ltr", "ltr"]);
  });

  it("is heard as its words", () => {
    expect(spoken(SAID)).toBe("Tea\nIt is hot.\n<i>So</i>.\nPour\nCup\na  b");
  });
});

describe("long replies", () => {
  it("are known by their beginning, and asked about once there is a choice", async () => {
    renderTask(pageState(1, long("One.", "Two.")));
    const [first] = screen.getAllByRole("radio");
    expect(first?.getAttribute("aria-label")).toMatch(/^Reply 1 The wood .{100,200}…$/);
    expect(screen.queryByLabelText("Why?")).toBeNull();
    await userEvent.keyboard("1");
    expect(screen.getByLabelText("Why?")).toBeVisible();
  });

  it("show on demand the words in which they differ, underlined, and nothing of it is sent", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...long("Paint it.", "Sand it.", "Paint it red."), reason: null }));
    const button = screen.getByRole("button", { name: "Show differences" });
    await userEvent.click(button);
    expect(button).toHaveAttribute("aria-pressed", "true");
    expect(Array.from(document.querySelectorAll("mark"), (mark) => mark.textContent)).toEqual(["Sand", "red"]);
    await userEvent.keyboard("2");
    await userEvent.click(screen.getByRole("button", { name: "Continue" }));
    expect(onAnswer.mock.calls).toEqual([[{ kind: "choose", step_id: "c1", selected: ["c1"], none: false, reason: "" }]]);
  });

  it("are not compared where they have hardly a run of words in common", () => {
    const other = Array.from({ length: 80 }, (_, index) => `word${index}`).join(" ");
    renderTask(pageState(1, { ...long("One."), cards: [...long("One.").cards, { candidate_id: "o", text: other }] }));
    expect(screen.queryByRole("button", { name: "Show differences" })).toBeNull();
    expect(areAlike([{ text: "Boats are nice." }, { text: "Boats are nice." }])).toBe(false);
  });

  it("have the choice once more beside the button, for pointers alone", async () => {
    renderTask(pageState(1, long("One.", "Two.")));
    const mirror = screen.getByText("Your choice").parentElement ?? document.body;
    await userEvent.click(within(mirror).getByText("2"));
    expect(screen.getAllByRole("radio")[1]).toBeChecked();
    expect(mirror).toHaveAttribute("aria-hidden", "true");
  });

  it("have no violation", async () => {
    renderTask(pageState(1, { ...long("One.", "Two."), cards: [...long("One.").cards, { candidate_id: "m", ...SAID }] }));
    expect(await axeViolations()).toEqual([]);
  });
});

describe("differences", () => {
  it("are words that stand nowhere else in their place, in markup as in text", () => {
    const bold: Markup = [{ tag: "p", parts: ["one ", { tag: "b", parts: ["two"] }, " three"] }];
    expect(differences([{ text: "", markup: bold }, { text: "one three" }, { text: "three four" }])).toEqual([
      [false, true, false],
      [false, false],
      [false, true],
    ]);
  });

  it("of texts that have nothing in common are all of their words, soon", () => {
    const words = (stem: string) => Array.from({ length: 3000 }, (_, index) => `${stem}${index}`).join(" ");
    expect(differences([{ text: words("a") }, { text: words("b") }]).flat().every(Boolean)).toBe(true);
  });
});
