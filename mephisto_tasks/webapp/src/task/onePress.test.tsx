import { act, fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { CHOOSE, pageState } from "../test/fakes";
import { renderTask } from "../test/renderTask";
import type { ChooseStep } from "../wire/state";

const BARE: ChooseStep = { ...CHOOSE, reason: null };
const NEXT: ChooseStep = { ...BARE, step_id: "next" };
const REFUSED = "Choose a reply before you continue.";

const question = () => screen.getByRole("heading", { name: CHOOSE.question });

beforeEach(() => {
  vi.stubGlobal("scrollTo", vi.fn());
});

/** The rater has sent a step with Enter, or by its button, and the next one has come. */
async function arriveBy(send: () => Promise<unknown>) {
  const { onAnswer, show } = renderTask(pageState(1, BARE));
  await userEvent.keyboard("1");
  await send();
  expect(onAnswer).toHaveBeenCalledTimes(1);
  act(() => show(pageState(2, NEXT)));
  expect(question()).toHaveFocus();
  return onAnswer;
}

describe("an impatient second press", () => {
  it("of Enter leaves the next step as it came: nothing is refused, and its question keeps the focus", async () => {
    const onAnswer = await arriveBy(() => userEvent.keyboard("{Enter}"));
    await userEvent.keyboard("{Enter}{Enter}");
    expect(question()).toHaveFocus();
    expect(screen.queryByText(REFUSED)).toBeNull();
    expect(onAnswer).toHaveBeenCalledTimes(1);
  });

  it("of the button, which is a double click, does so too", async () => {
    const button = () => screen.getByRole("button", { name: "Continue" });
    const onAnswer = await arriveBy(() => userEvent.click(button()));
    fireEvent.click(button(), { detail: 2 });
    expect(question()).toHaveFocus();
    expect(screen.queryByText(REFUSED)).toBeNull();
    expect(onAnswer).toHaveBeenCalledTimes(1);
  });

  it("of another button, soon after, is a press of its own", async () => {
    await arriveBy(() => userEvent.click(screen.getByRole("button", { name: "Continue" })));
    fireEvent.click(screen.getByRole("button", { name: "Continue" }), { detail: 1 });
    expect(await screen.findByText(REFUSED, { selector: "[role='alert']" })).toBeVisible();
  });

  it("counts once anything was done in between", async () => {
    const onAnswer = await arriveBy(() => userEvent.keyboard("{Enter}"));
    await userEvent.keyboard("2{Enter}");
    expect(onAnswer.mock.calls[1]?.[0]).toMatchObject({ step_id: "next", selected: ["b"] });
  });

  it("counts after a while", async () => {
    const now = vi.spyOn(Event.prototype, "timeStamp", "get").mockReturnValue(1000);
    await arriveBy(() => userEvent.keyboard("{Enter}"));
    now.mockReturnValue(2000);
    fireEvent.keyDown(document.body, { key: "Enter", code: "Enter" });
    expect(await screen.findByText(REFUSED, { selector: "[role='alert']" })).toBeVisible();
    now.mockRestore();
  });
});
