import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { pageState, TOPIC } from "../../test/fakes";
import { pendingAnswer, renderTask } from "../../test/renderTask";

const field = () => screen.getByLabelText(TOPIC.label);
const opinion = (name: string) => screen.getByRole("radio", { name });
const go = () => userEvent.click(screen.getByRole("button", { name: "Continue" }));

describe("naming a topic", () => {
  it("begins in the field, and takes the opinion by Alt and its number", async () => {
    const { onAnswer } = renderTask(pageState(1, TOPIC));
    expect(field()).toHaveFocus();
    await userEvent.keyboard("2 boats{Alt>}2{/Alt}{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "topic", step_id: "o1", text: "2 boats", opinion: "disliked" }]]);
  });

  it("wants both, and leads to what is missing", async () => {
    const { onAnswer } = renderTask(pageState(1, TOPIC));
    await go();
    expect(screen.getByRole("alert")).toHaveTextContent("The topic is still empty.");
    expect(field()).toHaveFocus();
    await userEvent.keyboard("boats{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("Choose an answer before you continue.");
    expect(opinion("I like it")).toHaveFocus();
    expect(await axeViolations()).toEqual([]);
    await userEvent.keyboard("1{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ text: "boats", opinion: "liked" });
  });

  it("refuses a topic that is too long", async () => {
    const { onAnswer } = renderTask(pageState(1, TOPIC));
    await userEvent.keyboard(`${"b".repeat(21)}{Alt>}1{/Alt}{Enter}`);
    expect(onAnswer).not.toHaveBeenCalled();
    await go();
    expect(screen.getByRole("alert")).toHaveTextContent("The topic is 1 character too long.");
  });

  it("asks for no opinion where there is none to choose", async () => {
    const { onAnswer } = renderTask(pageState(1, { ...TOPIC, opinions: [], opinion_label: "" }));
    expect(screen.queryByRole("radiogroup")).toBeNull();
    await userEvent.keyboard("boats{Enter}");
    expect(onAnswer.mock.calls[0]?.[0]).toMatchObject({ text: "boats", opinion: "" });
  });

  it("comes back after a reload, and cannot be changed while it is on its way", async () => {
    const { unmount } = renderTask(pageState(1, TOPIC));
    await userEvent.keyboard("boats{Alt>}1{/Alt}");
    unmount();
    const { onAnswer, show } = renderTask(pageState(1, TOPIC));
    expect(field()).toHaveValue("boats");
    expect(opinion("I like it")).toBeChecked();
    show(pageState(1, TOPIC), { pending: pendingAnswer("o1") });
    await userEvent.click(opinion("I dislike it"));
    await userEvent.keyboard("{Enter}");
    expect(opinion("I like it")).toBeChecked();
    expect(onAnswer).not.toHaveBeenCalled();
  });
});
