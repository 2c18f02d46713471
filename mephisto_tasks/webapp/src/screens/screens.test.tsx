import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { axeViolations } from "../test/axe";
import { CONFIG, CONSENT } from "../test/fakes";
import { pass, press } from "../test/time";
import type { Outside as OutsideScreen, Refusal, Waiting } from "../session/view";
import { Consent } from "./Consent";
import { Frame } from "./Frame";
import { Guard } from "./Guard";
import { EXPLAIN_AFTER_MS, Loading } from "./Loading";
import { Outside } from "./Outside";
import { Preview } from "./Preview";
import { Problem } from "./Problem";
import { Refused } from "./Refused";

describe("Loading", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  it.each<[Waiting, RegExp]>([
    ["config", /waiting for the server/],
    ["agent", /server has not answered yet/],
    ["connection", /no live connection/],
    ["first_state", /preparing the first step/],
  ])("says after 10 s why nothing is there yet: %s", (waitingFor, why) => {
    render(<Loading waitingFor={waitingFor} problem={null} onRetry={vi.fn()} />);
    pass(EXPLAIN_AFTER_MS - 1);
    expect(screen.queryByText(why)).toBeNull();
    pass(1);
    expect(screen.getByText(why)).toBeVisible();
  });

  it("names the failure of the last try", () => {
    render(<Loading waitingFor="agent" problem="The server could not be reached." onRetry={vi.fn()} />);
    pass(EXPLAIN_AFTER_MS);
    expect(screen.getByText(/could not be reached/)).toBeVisible();
  });

  it("tries again when asked to, and gives the new try its ten seconds", () => {
    const onRetry = vi.fn();
    render(<Loading waitingFor="agent" problem={null} onRetry={onRetry} />);
    pass(EXPLAIN_AFTER_MS);
    press(screen.getByRole("button", { name: "Try again" }));
    expect(onRetry).toHaveBeenCalledTimes(1);
    expect(screen.queryByRole("button")).toBeNull();
  });
});

describe("Loading, to a screen reader", () => {
  it("has no violation", async () => {
    render(<Loading waitingFor="config" problem={null} onRetry={vi.fn()} />);
    expect(await axeViolations()).toEqual([]);
  });
});

describe("Preview", () => {
  it("says what is done, paid and agreed to, and starts", async () => {
    const onStart = vi.fn();
    render(<Preview config={CONFIG} start="fresh" onStart={onStart} onDecline={vi.fn()} />);
    const above = (text: string | RegExp, below: HTMLElement) =>
      screen.getByText(text).compareDocumentPosition(below) & Node.DOCUMENT_POSITION_FOLLOWING;
    const button = screen.getByRole("button", { name: "Start the practice" });
    expect(above("About 10 minutes", button)).toBeTruthy();
    expect(above("You are paid in full.", button)).toBeTruthy();
    expect(above(/stored without your name/, button)).toBeTruthy();
    expect(above("Start the practice", screen.getByRole("heading", { name: "What you will do" }))).toBeTruthy();
    await userEvent.click(button);
    expect(onStart).toHaveBeenCalledTimes(1);
    expect(await axeViolations()).toEqual([]);
  });

  it("cannot be started before the HIT is accepted, and says so", async () => {
    const onStart = vi.fn();
    render(<Preview config={{ ...CONFIG, entry: "site", unit: "HIT" }} start="accept_first" onStart={onStart} onDecline={vi.fn()} />);
    const button = screen.getByRole("button", { name: "Start the practice" });
    expect(button).toHaveAttribute("aria-disabled", "true");
    await userEvent.click(button);
    expect(onStart).not.toHaveBeenCalled();
    expect(screen.getByText(/must accept the HIT/)).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("says why nobody can start where it is only looked at", () => {
    render(<Preview config={CONFIG} start="only_look" why="For researchers." onStart={vi.fn()} onDecline={vi.fn()} />);
    expect(screen.getByRole("button", { name: "Start the practice" })).toHaveAttribute("aria-disabled", "true");
    expect(screen.getByText("For researchers.")).toBeVisible();
    expect(screen.queryByText("I do not want to take part")).toBeNull();
  });
});

describe("A heading", () => {
  it("has the focus, but not in a frame of a page on which somebody types", () => {
    const { unmount } = render(<Preview config={CONFIG} start="fresh" onStart={vi.fn()} onDecline={vi.fn()} />);
    expect(screen.getByRole("heading", { level: 1 })).toHaveFocus();
    unmount();
    vi.stubGlobal("parent", {});
    vi.spyOn(document, "hasFocus").mockReturnValue(false);
    render(<Preview config={CONFIG} start="fresh" onStart={vi.fn()} onDecline={vi.fn()} />);
    expect(screen.getByRole("heading", { level: 1 })).not.toHaveFocus();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
});

describe("Consent", () => {
  it("says what is agreed to, what becomes of it and whom to ask, and takes yes and no by the keyboard", async () => {
    const [onAgree, onDecline] = [vi.fn(), vi.fn()];
    render(<Consent task="Chat" form={CONSENT} onAgree={onAgree} onDecline={onDecline} />);
    expect(screen.getByRole("heading", { name: "Before you begin" })).toBeVisible();
    expect(screen.getByRole("heading", { name: "What is stored" })).toBeVisible();
    expect(screen.getByText(/lab@example.org.*version 1.0/)).toBeVisible();
    screen.getByRole("button", { name: "I agree" }).focus();
    await userEvent.keyboard("{Enter}{Tab}{Enter}");
    expect([onAgree.mock.calls.length, onDecline.mock.calls.length]).toEqual([1, 1]);
    expect(await axeViolations()).toEqual([]);
  });

  it("says what is new to who agreed to an earlier version", () => {
    const form = { ...CONSENT, version: "2.0", agreed_before: "1.0", changes: "Answers are kept for two years." };
    const { rerender } = render(<Consent task="Chat" form={form} onAgree={vi.fn()} onDecline={vi.fn()} />);
    expect(screen.getByText(/earlier version.*1\.0.*kept for two years/)).toBeVisible();
    rerender(<Consent task="Chat" form={{ ...form, changes: "" }} onAgree={vi.fn()} onDecline={vi.fn()} />);
    expect(screen.getByText(/has changed since/)).toBeVisible();
  });

  it("can be read in a site's preview, where nobody can agree yet", async () => {
    render(<Preview config={{ ...CONFIG, consent_form: CONSENT }} start="accept_first" onStart={vi.fn()} onDecline={vi.fn()} />);
    expect(screen.getByText("You chat with programs.")).toBeVisible();
    expect(screen.queryByRole("button", { name: "I agree" })).toBeNull();
    expect(await axeViolations()).toEqual([]);
  });
});

const NOT_PASSED: Refusal = { kind: "refused", title: null, reason: "The practice was not passed.", redirect: null };
const PROLIFIC = { ...CONFIG, entry: "address" as const, panel: { title: "Prolific", may_decline: true } };

describe("Preview of somebody whom a panel sent", () => {
  it("offers not to take part, where the panel has a way back for that", async () => {
    const onDecline = vi.fn();
    const { rerender } = render(<Preview config={PROLIFIC} start="ask" onStart={vi.fn()} onDecline={onDecline} />);
    await userEvent.click(screen.getByRole("button", { name: "I do not want to take part" }));
    expect(onDecline).toHaveBeenCalledTimes(1);
    expect(await axeViolations()).toEqual([]);
    const without = { ...PROLIFIC, panel: { title: "SONA", may_decline: false } };
    rerender(<Preview config={without} start="ask" onStart={vi.fn()} onDecline={onDecline} />);
    expect(screen.queryByRole("button", { name: /not want/ })).toBeNull();
  });
});

describe("Refused", () => {
  it("leads back to the site that sent the rater, under the server's own title", async () => {
    const redirect = { site: "Prolific", url: "https://app.prolific.com/x?cc=S2", code: null };
    render(<Refused title="Chat" refusal={{ ...NOT_PASSED, title: "Thank you!", redirect }} unit={null} practice={false} />);
    expect(screen.getByRole("heading", { name: "Thank you!" })).toBeVisible();
    expect(screen.getByRole("link", { name: "Back to Prolific" })).toHaveAttribute("href", redirect.url);
    expect(screen.queryByText("You can close this page.")).toBeNull();
    expect(await axeViolations()).toEqual([]);
  });

  it("shows the code that a panel asks for", () => {
    const redirect = { site: "Toloka", url: null, code: "T0L0" };
    render(<Refused title="Chat" refusal={{ ...NOT_PASSED, redirect }} unit={null} practice={false} />);
    expect(screen.getByText("T0L0")).toBeVisible();
    expect(screen.getByText(/enter this code at Toloka/)).toBeVisible();
    expect(screen.queryByRole("link")).toBeNull();
  });

  it("gives the server's reason, and tells a site's worker what to do", async () => {
    render(<Refused title="Chat" refusal={NOT_PASSED} unit="HIT" practice={false} />);
    expect(screen.getByText("The practice was not passed.")).toBeVisible();
    expect(screen.getByText(/return the HIT/)).toBeVisible();
    expect(screen.getByRole("heading", { name: "There is no conversation for you here" })).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });

  it("says once that the page can be closed", () => {
    const asked = { ...NOT_PASSED, reason: "There is no penalty. Please close this page." };
    render(<Refused title="Chat" refusal={asked} unit={null} practice />);
    expect(screen.getAllByText(/close this page/)).toHaveLength(1);
  });

  it("ends the practice for whom it comes from there", () => {
    render(<Refused title="Chat" refusal={NOT_PASSED} unit={null} practice />);
    expect(screen.getByRole("heading", { name: "The practice ends here" })).toBeVisible();
  });
});

describe("Outside", () => {
  const outside = (rest: Partial<OutsideScreen> = {}): OutsideScreen => ({
    kind: "outside",
    title: "The study is full right now",
    reason: "This page tries again by itself.",
    tries: 1,
    nextTryAt: Date.now() + 7_000,
    ...rest,
  });

  it("counts down for who sees it, and is silent for who hears it", () => {
    vi.useFakeTimers();
    render(<Outside config={CONFIG} screen={outside()} onAskAgain={vi.fn()} />);
    expect(screen.getByRole("heading", { name: "The study is full right now" })).toHaveFocus();
    expect(screen.getByText("The next try is in 7 seconds.")).toHaveAttribute("aria-hidden", "true");
    pass(6_000);
    expect(screen.getByText("The next try is in 1 second.")).toBeVisible();
    expect(screen.getByRole("status")).toBeEmptyDOMElement();
    vi.useRealTimers();
  });

  it("says what came of it to who pressed the button", () => {
    const onAskAgain = vi.fn();
    const { rerender } = render(<Outside config={CONFIG} screen={outside()} onAskAgain={onAskAgain} />);
    press(screen.getByRole("button", { name: "Try now" }));
    expect(onAskAgain).toHaveBeenCalledTimes(1);
    rerender(<Outside config={CONFIG} screen={outside({ nextTryAt: null })} onAskAgain={onAskAgain} />);
    expect(screen.getByRole("button", { name: "Try now" })).toHaveAttribute("aria-disabled", "true");
    rerender(<Outside config={CONFIG} screen={outside({ tries: 2 })} onAskAgain={onAskAgain} />);
    expect(screen.getByRole("status")).toHaveTextContent("The study is still full");
  });

  it.each([
    ["HIT", null, /time for your HIT keeps running/],
    [null, { title: "Prolific", may_decline: false }, /return the task on Prolific/],
    [null, null, /come back later/],
  ])("says what it costs to wait, and how to leave: %s", async (unit, panel, words) => {
    render(<Outside config={{ ...CONFIG, unit, panel }} screen={outside()} onAskAgain={vi.fn()} />);
    expect(screen.getByText(words)).toBeVisible();
    expect(await axeViolations()).toEqual([]);
  });
});

describe("Frame", () => {
  it("says where to go on, and offers nothing here", async () => {
    render(<Frame task="Chat" title="This task is open in another browser" lead="Please go on there." />);
    expect(screen.getByRole("heading", { name: "This task is open in another browser" })).toHaveFocus();
    expect(screen.getByText("Please go on there.")).toBeVisible();
    expect(screen.queryByRole("button")).toBeNull();
    expect(await axeViolations()).toEqual([]);
  });
});

describe("Problem", () => {
  it("is read at once and offers to reload", async () => {
    const onReload = vi.fn();
    render(<Problem text="Something is wrong." onReload={onReload} />);
    expect(screen.getByRole("alert")).toHaveTextContent("Something is wrong.");
    await userEvent.click(screen.getByRole("button", { name: "Reload the page" }));
    expect(onReload).toHaveBeenCalledTimes(1);
    expect(await axeViolations()).toEqual([]);
  });

  it("in favour of another window is no fault: going on here is offered quietly", async () => {
    const onReload = vi.fn();
    render(<Problem text="Please go on there." otherWindow onReload={onReload} />);
    expect(screen.getByRole("heading", { name: "This task is open in another window" })).toBeVisible();
    expect(screen.queryByRole("button", { name: "Reload the page" })).toBeNull();
    const button = screen.getByRole("button", { name: "Continue here instead" });
    expect(button.className).toContain("quiet");
    await userEvent.click(button);
    expect(onReload).toHaveBeenCalledTimes(1);
    expect(await axeViolations()).toEqual([]);
  });

  it("is what a fault of the page itself shows, never a blank page", () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const Broken = () => {
      throw new Error("fault");
    };
    render(
      <Guard>
        <Broken />
      </Guard>,
    );
    expect(screen.getByRole("alert")).toHaveTextContent("because of an error");
  });
});
