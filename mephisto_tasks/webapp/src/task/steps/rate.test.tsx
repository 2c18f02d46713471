import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { axeViolations } from "../../test/axe";
import { pageState, RATE } from "../../test/fakes";
import { pendingAnswer, renderTask } from "../../test/renderTask";

const slider = (name: string) => screen.getByRole("slider", { name });
const interesting = () => slider("It was interesting.");
const sense = () => slider("It made sense.");
const track = (id: string) => screen.getByTestId(`track-${id}`);
const go = () => userEvent.click(screen.getByRole("button", { name: "Continue" }));

/**
 * A pointer on a track that is 228 px wide and 28 px of which are the thumb's: 14 px is its left end, 114 px its middle.
 * Made from a mouse event, because jsdom has no pointer events here.
 */
function point(type: "down" | "move" | "up" | "cancel", id: string, x: number, pointerType = "touch", y = 0) {
  const event = new MouseEvent(`pointer${type}`, { clientX: x, clientY: y, button: 0, bubbles: true, cancelable: true });
  fireEvent(track(id), Object.assign(event, { pointerType, pointerId: 1 }));
}

beforeEach(() => {
  Element.prototype.setPointerCapture = vi.fn();
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue({ left: 0, width: 228, top: 0, bottom: 0 } as DOMRect);
});

describe("sliders", () => {
  it("says what is missing also when Enter is pressed before anything is answered", async () => {
    const { onAnswer } = renderTask(pageState(1, RATE));
    await userEvent.keyboard("{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("You have not answered this question yet.");
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("begin without a position, and say so", async () => {
    renderTask(pageState(1, RATE));
    expect(interesting()).toHaveAttribute("aria-valuetext", "not answered");
    expect(interesting()).toHaveAttribute("data-untouched");
    expect(interesting()).toHaveAccessibleDescription("from “Not at all” to “Very much”");
    expect(screen.getByText("0 of 3 answered")).toBeVisible();
    expect(screen.getByRole("heading", { name: RATE.question })).toHaveFocus();
    expect(await axeViolations()).toEqual([]);
  });

  it("show no number, untouched or touched", () => {
    renderTask(pageState(1, { ...RATE, scales: RATE.scales.slice(0, 2) }));
    point("down", "s1", 60, "mouse");
    const shown = screen.getByRole("form").textContent.replace("1 of 2 answered", "");
    expect(shown).not.toMatch(/\d/);
    expect(interesting().getAttribute("aria-valuetext")).not.toMatch(/\d/);
  });

  it("answer to the keyboard: an arrow puts one in the middle, then moves it", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...RATE, scales: RATE.scales.slice(0, 2) }));
    interesting().focus();
    await userEvent.keyboard("{ArrowRight}");
    expect(interesting()).toHaveValue("50");
    expect(interesting()).not.toHaveAttribute("data-untouched");
    await userEvent.keyboard("{ArrowRight}{Tab}{End}{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "rate", step_id: "r1", values: { s1: 51, s2: 100 } }]]);
  });

  it("answer to a tap, in the very middle too, where the hidden thumb stands", () => {
    renderTask(pageState(1, RATE));
    point("down", "s1", 114);
    expect(interesting()).toHaveAttribute("aria-valuetext", "not answered");
    point("up", "s1", 114);
    expect(interesting()).toHaveAttribute("aria-valuetext", "about the middle");
    expect(interesting()).toHaveFocus();
    expect(screen.getByText("1 of 3 answered")).toBeVisible();
  });

  it("answer to dragging, to one decimal and no further than the ends", () => {
    renderTask(pageState(1, RATE));
    point("down", "s1", 30, "mouse");
    expect(interesting()).toHaveValue("8");
    point("move", "s1", 80.667, "mouse");
    expect(interesting()).toHaveValue("33.3");
    point("move", "s1", 900, "mouse");
    expect(interesting()).toHaveValue("100");
    point("up", "s1", 900, "mouse");
    point("move", "s1", 20, "mouse");
    expect(interesting()).toHaveValue("100");
  });

  it("take a finger that only scrolls past for no answer", () => {
    renderTask(pageState(1, RATE));
    point("down", "s1", 60);
    point("move", "s1", 62);
    point("cancel", "s1", 62);
    point("up", "s1", 62);
    expect(interesting()).toHaveAttribute("aria-valuetext", "not answered");
  });

  it.each([["on its way", true], ["at once", false]])(
    "take a finger that goes up %s for no answer, also where the browser does not say that it scrolls",
    (_, stepwise) => {
      renderTask(pageState(1, RATE));
      point("down", "s1", 60);
      if (stepwise) {
        point("move", "s1", 62, "touch", -40);
        point("move", "s1", 90, "touch", -40);
      }
      point("up", "s1", 60, "touch", -160);
      expect(interesting()).toHaveAttribute("aria-valuetext", "not answered");
    },
  );

  it("follow a finger that drags sideways and then strays up", () => {
    renderTask(pageState(1, RATE));
    point("down", "s1", 60);
    point("move", "s1", 80);
    point("move", "s1", 114, "touch", -60);
    point("up", "s1", 114, "touch", -60);
    expect(interesting()).toHaveValue("50");
  });

  it("come back after a reload where they were, and the untouched one untouched", () => {
    const { unmount } = renderTask(pageState(1, RATE));
    point("down", "s1", 30, "mouse");
    unmount();
    renderTask(pageState(1, RATE));
    expect(interesting()).toHaveValue("8");
    expect(sense()).toHaveAttribute("data-untouched");
  });

  it("must all be touched: what is missing is said where it is, and has the focus", async () => {
    const { onAnswer } = renderTask(pageState(1, RATE));
    point("down", "s1", 30, "mouse");
    await go();
    expect(onAnswer).not.toHaveBeenCalled();
    expect(screen.getByRole("alert")).toHaveTextContent("You have not answered this question yet.");
    expect(sense()).toHaveFocus();
    expect(sense()).toBeInvalid();
    expect(interesting()).toBeValid();
    expect(await axeViolations()).toEqual([]);
    point("down", "s2", 30, "mouse");
    await go();
    expect(screen.getByRole("radio", { name: "1 , Not at all" })).toHaveFocus();
  });

  it("cannot be moved or sent twice while the answer is on its way", async () => {
    const step = { ...RATE, scales: RATE.scales.slice(0, 1) };
    const { onAnswer, show } = renderTask(pageState(1, step));
    point("down", "s1", 30, "mouse");
    show(pageState(1, step), { pending: pendingAnswer("r1") });
    point("down", "s1", 200, "mouse");
    await userEvent.keyboard("{End}{Enter}");
    await userEvent.click(screen.getByRole("button", { name: "Sending…" }));
    expect(interesting()).toHaveValue("8");
    expect(onAnswer).not.toHaveBeenCalled();
  });
});

describe("a page that runs from right to left", () => {
  it("has its lines begin at the right, for the pointer and for the keys", async () => {
    document.documentElement.dir = "rtl";
    try {
      renderTask(pageState(1, RATE));
      point("down", "s1", 39, "mouse");
      expect(interesting()).toHaveValue("87.5");
      await userEvent.keyboard("{ArrowLeft}");
      expect(interesting()).toHaveValue("88.5");
    } finally {
      document.documentElement.dir = "";
    }
  });
});

describe("points", () => {
  const POINTS = { ...RATE, scales: RATE.scales.slice(2) };

  it("are radio buttons with the labels at the ends, and answer to their number", async () => {
    const { onAnswer } = renderTask(pageState(1, POINTS));
    expect(screen.getByRole("radiogroup", { name: "It was human." })).toBeVisible();
    expect(screen.getAllByRole("radio").map((radio) => radio.closest("label")?.textContent)).toEqual([
      "1, Not at all",
      "2",
      "3",
      "4",
      "5, Very much",
    ]);
    await userEvent.keyboard("4{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "rate", step_id: "r1", values: { p1: 4 } }]]);
  });

  it("have names where names are given", async () => {
    const labels = ["Never", "Seldom", "Sometimes", "Often", "Always"];
    const { onAnswer } = renderTask(
      pageState(1, { ...POINTS, scales: POINTS.scales.map((scale) => ({ ...scale, labels })) }),
    );
    const ends = document.querySelector("[data-scale] > [aria-hidden]:last-child");
    expect([...(ends?.children ?? [])].map((end) => end.textContent)).toEqual(["Never", "Always"]);
    await userEvent.click(screen.getByRole("radio", { name: "Often" }));
    expect(screen.getByText("Often", { selector: "p" })).toBeInTheDocument();
    await go();
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ values: { p1: 4 } });
    expect(await axeViolations()).toEqual([]);
  });

  it("say of each point what it means where that is told", async () => {
    const hints = ["Off the topic.", "A little off.", "Fits.", "Fits well.", "Could not be better."];
    const labels = ["1", "2", "3", "4", "5"];
    const { onAnswer } = renderTask(
      pageState(1, { ...POINTS, scales: POINTS.scales.map((scale) => ({ ...scale, labels, hints })) }),
    );
    expect(screen.getAllByRole("radio").map((radio) => radio.closest("label")?.textContent)).toContain("2A little off.");
    POINTS.scales.forEach(({ statement }) => expect(screen.getByRole("group", { name: statement })).toHaveTextContent("What each number means"));
    await userEvent.click(screen.getByRole("radio", { name: "3 Fits." }));
    await userEvent.keyboard("4{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ values: { p1: 4 } });
    expect(await axeViolations()).toEqual([]);
  });

  it("take a number key for the scale that has the focus, else for the first open one", async () => {
    const [scale] = POINTS.scales;
    const two = [scale, { ...scale, scale_id: "p2", statement: "It was kind." }] as typeof POINTS.scales;
    const { onAnswer } = renderTask(pageState(1, { ...POINTS, scales: two }));
    await userEvent.keyboard("35{Tab}2");
    expect(screen.getByText("2 of 2 answered")).toBeVisible();
    await userEvent.keyboard("9{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ values: { p1: 5, p2: 2 } });
  });
});
