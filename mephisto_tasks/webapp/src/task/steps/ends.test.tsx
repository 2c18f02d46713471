import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { axeViolations } from "../../test/axe";
import { entry, pageState } from "../../test/fakes";
import { pendingAnswer, renderTask } from "../../test/renderTask";
import { pass } from "../../test/time";
import type { EndStep, FeedbackStep, WaitStep } from "../../wire/state";
import { STILL_SENDING_MS } from "./StepShell";
import { LONG_WAIT_MS } from "./WaitStepView";

const FEEDBACK: FeedbackStep = { kind: "feedback", step_id: "f", label: "Anything to tell us?", max_chars: 20 };
const END: EndStep = { kind: "end", title: "Thank you!", text: "You will be paid.", next: "submit", redirect: null, resumes: false };
const WAIT: WaitStep = { kind: "wait", text: "Partner is typing…", slow: false, idle: false, coming: null };

describe("feedback", () => {
  it("may be left empty", async () => {
    const { onAnswer } = renderTask(pageState(1, FEEDBACK));
    await userEvent.click(screen.getByRole("button", { name: "Finish" }));
    expect(onAnswer.mock.calls).toEqual([[{ kind: "feedback", step_id: "f", text: "" }]]);
  });

  it("is sent as typed, with Enter for new lines", async () => {
    const { onAnswer } = renderTask(pageState(1, FEEDBACK));
    await userEvent.type(screen.getByLabelText(FEEDBACK.label), "a{Enter}b");
    await userEvent.click(screen.getByRole("button", { name: "Finish" }));
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ text: "a\nb" });
  });

  it("is not sent when too long, nor twice", async () => {
    const { onAnswer, show } = renderTask(pageState(1, FEEDBACK));
    await userEvent.type(screen.getByLabelText(FEEDBACK.label), "x".repeat(22));
    await userEvent.click(screen.getByRole("button", { name: "Finish" }));
    expect(screen.getByRole("alert")).toHaveTextContent("2 characters too long");
    show(pageState(1, FEEDBACK), { pending: pendingAnswer("f") });
    await userEvent.click(screen.getByRole("button", { name: "Sending…" }));
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("comes back after a reload", async () => {
    const { unmount } = renderTask(pageState(1, FEEDBACK));
    await userEvent.type(screen.getByLabelText(FEEDBACK.label), "was fun");
    unmount();
    renderTask(pageState(1, FEEDBACK));
    expect(screen.getByLabelText(FEEDBACK.label)).toHaveValue("was fun");
  });

  it("has no violation", async () => {
    renderTask(pageState(1, FEEDBACK));
    expect(await axeViolations()).toEqual([]);
  });
});

describe("an answer whose confirmation takes long", () => {
  it("is said to be kept", () => {
    vi.useFakeTimers();
    renderTask(pageState(1, FEEDBACK), { pending: pendingAnswer("f") });
    expect(screen.queryByText(/Still sending/)).toBeNull();
    pass(STILL_SENDING_MS);
    expect(screen.getByText(/Your answer is kept/)).toBeVisible();
  });
});

describe("the end", () => {
  it("is read first, and says when the work is in", () => {
    renderTask(pageState(9, END), { delivery: { kind: "done" } });
    expect(screen.getByRole("heading", { name: "Thank you!" })).toHaveFocus();
    expect(screen.getByText(/Your work has been sent/)).toBeVisible();
  });

  it("says that it keeps trying", () => {
    renderTask(pageState(9, END), { delivery: { kind: "failed", text: "The server could not be reached.", retrying: true } });
    expect(screen.getByText(/could not be reached\. Nothing is lost/)).toBeVisible();
    expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
  });

  it("offers another try after a refusal", async () => {
    const { onDeliverAgain } = renderTask(pageState(9, END), { delivery: { kind: "failed", text: "Wrong token.", retrying: false } });
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(onDeliverAgain).toHaveBeenCalledTimes(1);
  });

  it("leads back to the panel only when the work has arrived", () => {
    const redirect = { site: "Prolific", url: "https://app.prolific.com/x?cc=C1", code: null };
    const { show } = renderTask(pageState(9, { ...END, redirect }), { delivery: { kind: "sending" } });
    expect(screen.queryByRole("link")).toBeNull();
    show(pageState(9, { ...END, redirect }), { delivery: { kind: "done" } });
    expect(screen.getByRole("link", { name: "Back to Prolific" })).toHaveAttribute("href", redirect.url);
    expect(screen.getByText(/return to Prolific automatically/)).toBeVisible();
  });

  it("shows the code that a panel asks for", async () => {
    const redirect = { site: "Toloka", url: null, code: "T0L0" };
    renderTask(pageState(9, { ...END, redirect }), { delivery: { kind: "done" } });
    expect(screen.getByText("T0L0")).toBeVisible();
    expect(screen.getByText(/Copy your code/)).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("of a study that was paused has a button that goes on, and other goodbyes have none", async () => {
    const { onGoOn, show } = renderTask(pageState(9, { ...END, next: "stay", resumes: true }));
    await userEvent.click(screen.getByRole("button", { name: "Go on" }));
    expect(onGoOn).toHaveBeenCalledTimes(1);
    show(pageState(10, { ...END, next: "stay" }));
    expect(screen.queryByRole("button", { name: "Go on" })).toBeNull();
  });

  it("speaks of no sending where nothing is sent", () => {
    renderTask(pageState(9, { ...END, next: "stay" }));
    expect(screen.queryByText(/Sending/)).toBeNull();
  });

  it("has no violation", async () => {
    renderTask(pageState(9, END), { delivery: { kind: "done" } });
    expect(await axeViolations()).toEqual([]);
  });
});

describe("waiting", () => {
  it("says that the partner is typing", async () => {
    renderTask(pageState(1, WAIT));
    expect(screen.getByText("Partner is typing…")).toBeVisible();
    expect(document.querySelector(".dots")).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("keeps the place where one answers once the talk has begun, so that nothing moves", () => {
    const transcript = [entry("1", "you", "Hi!")];
    const { show } = renderTask(pageState(1, WAIT, { transcript: [] }));
    const kept = () => document.querySelectorAll(".dock").length;
    expect(kept()).toBe(0);
    show(pageState(2, WAIT, { transcript }));
    expect(kept()).toBe(1);
  });

  it("never calls an idle wait a long one, and shows nobody typing", () => {
    vi.useFakeTimers();
    renderTask(pageState(1, { ...WAIT, text: "Nobody needs a reply right now.", idle: true }));
    pass(LONG_WAIT_MS);
    expect(screen.getByText("Nobody needs a reply right now.")).toBeVisible();
    expect(screen.queryByText(/longer than usual/)).toBeNull();
    expect(document.querySelector(".dots")).toBeNull();
  });

  it("announces the server's words when it is slow", () => {
    renderTask(pageState(1, { ...WAIT, text: "Your partner needs longer.", slow: true }));
    expect(screen.getByText("Your partner needs longer.").parentElement).toHaveAttribute("role", "status");
  });

  it("finds its own words when the server has none", () => {
    vi.useFakeTimers();
    renderTask(pageState(1, WAIT));
    pass(LONG_WAIT_MS);
    expect(screen.getByText(/longer than usual/)).toBeVisible();
  });
});
