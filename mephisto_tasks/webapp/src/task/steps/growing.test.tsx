import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { CHOOSE, entry, pageState, TICK } from "../../test/fakes";
import { renderTask } from "../../test/renderTask";
import { type ChooseStep, parseUpdate, type WaitStep } from "../../wire/state";

const WAIT: WaitStep = { kind: "wait", text: "Your partner is typing…", slow: false, idle: false, coming: null };
const SAID = [entry("e1", "you", "Do you sail?")];

function grown(...texts: string[]): ChooseStep {
  const cards = CHOOSE.cards.map((card, index) => ({ ...card, text: texts[index] ?? "" }));
  return { ...CHOOSE, cards };
}

function growing(version: number, ...texts: string[]) {
  return pageState(version, { ...WAIT, coming: grown(...texts) }, { transcript: SAID });
}

const go = () => screen.getByRole("button", { name: "Continue" });
const announced = () => screen.getAllByRole("status").map((status) => status.textContent).join("");

describe("replies that grow", () => {
  it("stand in their cards from the first word on, and the same cards are chosen from", async () => {
    const { show } = renderTask(growing(1, "I like", "No, but"));
    const card = document.getElementById("card-0");
    expect(card).toHaveTextContent("I like");
    show(growing(2, "I like the sea", "No, but I ski"));
    expect(document.getElementById("card-0")).toBe(card);
    expect(card).toHaveTextContent("I like the sea");
    expect(await axeViolations()).toEqual([]);
    show(pageState(3, grown("I like the sea.", "No, but I ski."), { transcript: SAID }));
    expect(document.getElementById("card-0")).toBe(card);
    expect(card).toHaveTextContent("I like the sea.");
  });

  it("cannot be chosen before all are complete, by pointer or key", async () => {
    const { show, onAnswer } = renderTask(growing(1, "I like", "No, but"));
    expect(go()).toHaveAttribute("aria-disabled", "true");
    expect(screen.getByText("Your partner is typing…")).toBeVisible();
    expect(screen.getByRole("radiogroup")).toHaveAttribute("aria-disabled", "true");
    await userEvent.click(document.getElementById("card-0") ?? document.body);
    await userEvent.keyboard("2{Enter}");
    screen.getAllByRole("radio").forEach((radio) => {
      expect(radio).toBeDisabled();
      expect(radio).not.toBeChecked();
    });
    show(pageState(2, grown("I like it.", "No, but I ski."), { transcript: SAID }));
    expect(go()).not.toHaveAttribute("aria-disabled");
    expect(screen.queryByText("Your partner is typing…")).toBeNull();
    await userEvent.keyboard("2");
    expect(screen.getByRole("radio", { name: "Reply 2 No, but I ski." })).toBeChecked();
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("are announced once, when they are complete", () => {
    const { show } = renderTask(growing(1, "I like", "No, but"));
    show(growing(2, "I like the sea", "No, but I ski"));
    expect(announced()).toBe("");
    show(pageState(3, grown("I like the sea.", "No, but I ski."), { transcript: SAID }));
    expect(announced()).toBe("All replies are complete.");
  });

  it("say nothing of that to a page that was loaded afterwards", () => {
    renderTask(pageState(1, CHOOSE));
    expect(announced()).toBe("");
  });

  it("can be a reply to judge, whose statements wait", () => {
    const judged = TICK.reply === null ? { candidate_id: "r", text: "Ahoy" } : { ...TICK.reply, text: "Ahoy" };
    const coming = { ...TICK, reply: judged };
    const { show } = renderTask(pageState(1, { ...WAIT, coming }));
    expect(screen.getByTestId("judged-reply")).toHaveTextContent("Ahoy");
    expect(go()).toHaveAttribute("aria-disabled", "true");
    show(pageState(2, { ...coming, reply: { ...judged, text: "Ahoy there!" } }));
    expect(screen.getByTestId("judged-reply")).toHaveTextContent("Ahoy there!");
    expect(go()).not.toHaveAttribute("aria-disabled");
  });

  it("in the transcript are read out when they are complete", () => {
    const line = (text: string, growing: boolean) => [...SAID, entry("p1", "partner", text, { growing })];
    const { show } = renderTask(pageState(1, WAIT, { transcript: line("I like", true) }));
    expect(screen.getByText("I like")).toBeVisible();
    expect(screen.getByTestId("announcer")).toBeEmptyDOMElement();
    show(pageState(2, WAIT, { transcript: line("I like the sea.", false) }));
    expect(screen.getByTestId("announcer")).toHaveTextContent("Partner: I like the sea.");
  });

  it("that could not be answered are no state", () => {
    const twice = [CHOOSE.cards[0], CHOOSE.cards[0]];
    const state = pageState(1, { ...WAIT, coming: { ...CHOOSE, cards: twice } as ChooseStep });
    expect(parseUpdate({ kind: "state", state })).toMatchObject({ ok: false });
  });
});
