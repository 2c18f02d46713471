import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { pageState, RANK } from "../../test/fakes";
import { AGENT_ID, pendingAnswer, renderTask } from "../../test/renderTask";
import { EMPTY_DRAFT, writeDraft } from "../../wire/drafts";
import type { RankStep } from "../../wire/state";
import { give, order } from "./ranking";

const place = (reply: string, number: number) =>
  within(screen.getByRole("radiogroup", { name: `Rank of reply ${reply}` })).getByRole("radio", { name: String(number) });
const summary = () => screen.queryByRole("list", { name: "Your order" })?.textContent;
const go = () => userEvent.click(screen.getByRole("button", { name: "Continue" }));

describe("a ranking", () => {
  it("gives every reply a row of places, and says which end is the best", async () => {
    renderTask(pageState(1, RANK));
    expect(screen.getByRole("form", { name: RANK.question })).toBeVisible();
    expect(screen.getAllByRole("radiogroup")).toHaveLength(3);
    expect(screen.getByText("1 is the best. Use every rank once.")).toBeVisible();
    expect(screen.getByText("You have not ranked any reply yet.")).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("is done with numbers alone and Enter", async () => {
    const { onAnswer } = renderTask(pageState(1, RANK));
    await userEvent.keyboard("312{Enter}");
    expect(onAnswer.mock.calls).toEqual([
      [{ kind: "rank", step_id: "k1", ranks: { one: 3, two: 1, three: 2 }, reason: "" }],
    ]);
    expect(summary()).toBe("1 Reply B2 Reply C3 Reply A");
    expect(await axeViolations()).toEqual([]);
  });

  it("lets a reply swap places with the one that it displaces, and says so", async () => {
    renderTask(pageState(1, RANK));
    await userEvent.keyboard("123");
    await userEvent.click(place("A", 3));
    expect(place("C", 1)).toBeChecked();
    expect(screen.getByText("Reply C had rank 3 and now has rank 1.")).toBeVisible();
    expect(summary()).toBe("1 Reply C2 Reply B3 Reply A");
  });

  it("gives the last reply the place that is left, says so, and lets it be changed", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...RANK, cards: RANK.cards.slice(0, 2) }));
    await userEvent.click(place("B", 1));
    expect(place("A", 2)).toBeChecked();
    expect(screen.getByText("Reply A now has rank 2, the only rank left. You can still change it.")).toBeVisible();
    await userEvent.click(place("A", 1));
    expect(summary()).toBe("1 Reply A2 Reply B");
    await userEvent.keyboard("{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ ranks: { one: 1, two: 2 } });
  });

  it("has the focus where a place was given by itself, so that typing it too changes nothing", async () => {
    renderTask(pageState(1, { ...RANK, cards: RANK.cards.slice(0, 2) }));
    await userEvent.keyboard("2");
    expect(place("B", 1)).toHaveFocus();
    await userEvent.keyboard("1");
    expect(summary()).toBe("1 Reply B2 Reply A");
  });

  it("gives no place by itself where replies may share one", async () => {
    renderTask(pageState(1, { ...RANK, ties: true, cards: RANK.cards.slice(0, 2) }));
    await userEvent.keyboard("1");
    expect(summary()).toBe("1 Reply A");
  });

  it("leaves the displaced reply without a rank where there is none to swap", async () => {
    const { onAnswer } = renderTask(pageState(1, RANK));
    await userEvent.keyboard("1");
    await userEvent.click(place("B", 1));
    expect(place("A", 1)).not.toBeChecked();
    expect(screen.getByText("Reply A had rank 1 and now has none.")).toBeVisible();
    await go();
    expect(screen.getByRole("alert")).toHaveTextContent("Not ranked yet: Reply A, Reply C.");
    expect(place("A", 1)).toHaveFocus();
    expect(onAnswer).not.toHaveBeenCalled();
    expect(await axeViolations()).toEqual([]);
  });

  it("lets replies share a place where ties are allowed", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...RANK, ties: true }));
    await userEvent.keyboard("113{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ ranks: { one: 1, two: 1, three: 3 } });
    expect(summary()).toBe("1 Reply A, Reply B3 Reply C");
  });

  it("asks for the reason where one is wanted, after the places", async () => {
    const step: RankStep = { ...RANK, reason: { label: "Why?", required: true, min_words: 2 } };
    const { onAnswer } = renderTask(pageState(1, step));
    await userEvent.keyboard("123{Enter}");
    expect(screen.getByLabelText("Why?")).toHaveFocus();
    await userEvent.keyboard("it asks{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ reason: "it asks" });
  });

  it("comes back after a reload, without places that there are not", () => {
    writeDraft(AGENT_ID, "k1", { ...EMPTY_DRAFT, values: { one: 2, two: 9, three: 1.5, gone: 1 } });
    renderTask(pageState(1, RANK));
    expect(summary()).toBe("2 Reply A");
  });

  it("cannot be changed or sent twice while it is on its way", async () => {
    const { onAnswer, show } = renderTask(pageState(1, RANK));
    await userEvent.keyboard("123");
    show(pageState(1, RANK), { pending: pendingAnswer("k1") });
    await userEvent.click(place("A", 2));
    await userEvent.keyboard("3{Enter}");
    expect(place("A", 1)).toBeChecked();
    expect(onAnswer).not.toHaveBeenCalled();
  });
});

describe("the rules", () => {
  it("never give a place twice without ties, whatever the order of presses", () => {
    let places: Record<string, number> = {};
    for (let press = 0; press < 200; press += 1) {
      const card = RANK.cards[(press * 7) % 3]?.candidate_id ?? "";
      places = give(RANK, places, card, ((press * press) % 3) + 1).places;
      expect(places[card]).toBe(((press * press) % 3) + 1);
      expect(new Set(Object.values(places)).size).toBe(Object.values(places).length);
    }
  });

  it("put the same place again to no use", () => {
    expect(give(RANK, { one: 2 }, "one", 2)).toEqual({ places: { one: 2 }, told: null });
    expect(order(RANK, { one: 2 })).toEqual([{ place: 2, names: ["Reply A"] }]);
  });
});
