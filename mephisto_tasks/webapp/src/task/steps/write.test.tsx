import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { pageState, WRITE } from "../../test/fakes";
import { pendingAnswer, renderTask } from "../../test/renderTask";

const field = () => screen.getByLabelText("A better reply");

describe("writing in the partner's place", () => {
  it("shows the replies that were not chosen, as text and nothing to press", async () => {
    renderTask(pageState(1, { ...WRITE, cards: [...WRITE.cards, { candidate_id: "x", text: "<i>Hm</i>" }] }));
    const rejected = screen.getByRole("region", { name: "The replies that you did not choose" });
    expect(within(rejected).getAllByRole("listitem").map((item) => item.textContent)).toEqual([
      "First reply",
      "Second reply",
      "<i>Hm</i>",
    ]);
    expect(within(rejected).queryByRole("button")).toBeNull();
    expect(await axeViolations()).toEqual([]);
  });

  it("has the focus at once, and sends with Enter what was typed", async () => {
    const { onAnswer } = renderTask(pageState(1, WRITE));
    expect(field()).toHaveFocus();
    await userEvent.keyboard("Do you sail?{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "write", step_id: "w1", text: "Do you sail?" }]]);
  });

  it("says what is missing", async () => {
    const { onAnswer } = renderTask(pageState(1, WRITE));
    await userEvent.keyboard("Hm{Enter}");
    expect(screen.getByRole("alert")).toHaveTextContent("The reply needs at least 2 words; it has 1 so far.");
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("comes back after a reload, and is not sent twice", async () => {
    const { unmount } = renderTask(pageState(1, WRITE));
    await userEvent.keyboard("Do you");
    unmount();
    const { onAnswer, show } = renderTask(pageState(1, WRITE));
    expect(field()).toHaveValue("Do you");
    show(pageState(1, WRITE), { pending: pendingAnswer("w1") });
    await userEvent.keyboard(" sail?{Enter}");
    expect(field()).toHaveValue("Do you");
    expect(onAnswer).not.toHaveBeenCalled();
  });
});
