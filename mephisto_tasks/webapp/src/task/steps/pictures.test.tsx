import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../../test/axe";
import { CHOOSE, MESSAGE, pageState, update } from "../../test/fakes";
import { renderTask } from "../../test/renderTask";
import { HttpError } from "../../wire/http";
import { type ChooseStep, parseUpdate } from "../../wire/state";

const WITH = { ...MESSAGE, max_images: 2 };
const [ONE, OTHER] = ["1".repeat(64), "2".repeat(64)];
const png = () => new File([new Uint8Array([1, 2])], "boat.png", { type: "image/png" });
const attach = () => screen.getByRole("button", { name: "Add a picture" });
const input = () => screen.getByLabelText("Add a picture", { selector: "input" });
const alt = () => screen.getByLabelText("Describe the picture, for people who cannot see it");

describe("pictures of a message", () => {
  it("are not asked for where the server takes none", () => {
    renderTask(pageState(1, MESSAGE));
    expect(screen.queryByRole("button", { name: "Add a picture" })).toBeNull();
  });

  it("are uploaded, shown, described, and named in the message", async () => {
    const { onAnswer, onUpload } = renderTask(pageState(1, WITH));
    onUpload.mockResolvedValue(ONE);
    await userEvent.type(screen.getByLabelText("Your message"), "hello you");
    await userEvent.upload(input(), png());
    expect(screen.getByRole("img", { name: "Your picture" })).toHaveAttribute("src", `images/${ONE}.jpg`);
    await waitFor(() => expect(alt()).toHaveFocus());
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    expect(onAnswer).not.toHaveBeenCalled();
    expect(screen.getByText("Your description is still empty.")).toHaveAttribute("role", "alert");
    expect(alt()).toHaveFocus();
    expect(await axeViolations()).toEqual([]);
    await userEvent.keyboard("A boat{Enter}");
    expect(onAnswer.mock.calls).toEqual([
      [{ kind: "message", step_id: "m1", text: "hello you", images: [{ digest: ONE, alt: "A boat" }] }],
    ]);
  });

  it("can be removed, and there are no more than are taken", async () => {
    const { onAnswer, onUpload } = renderTask(pageState(1, WITH));
    onUpload.mockResolvedValueOnce(ONE).mockResolvedValueOnce(ONE).mockResolvedValueOnce(OTHER);
    await userEvent.upload(input(), png());
    await userEvent.upload(input(), png());
    expect(screen.getAllByRole("img")).toHaveLength(1);
    await userEvent.upload(input(), png());
    expect(attach()).toHaveAttribute("aria-disabled", "true");
    for (const button of screen.getAllByRole("button", { name: "Remove this picture" })) {
      await userEvent.click(button);
    }
    expect(screen.queryByRole("img")).toBeNull();
    await userEvent.type(screen.getByLabelText("Your message"), "hello you{Enter}");
    expect(onAnswer.mock.calls).toEqual([[{ kind: "message", step_id: "m1", text: "hello you" }]]);
  });

  it("keep the message while one is on its way, and what was typed meanwhile", async () => {
    const { onAnswer, onUpload } = renderTask(pageState(1, WITH));
    let arrive: (digest: string) => void = () => undefined;
    onUpload.mockReturnValue(new Promise((resolve) => (arrive = resolve)));
    await userEvent.upload(input(), png());
    expect(screen.getByText("The picture is being sent…")).toBeVisible();
    await userEvent.type(screen.getByLabelText("Your message"), "hello you{Enter}");
    expect(onAnswer).not.toHaveBeenCalled();
    arrive(ONE);
    await waitFor(() => expect(alt()).toBeVisible());
    expect(screen.getByLabelText("Your message")).toHaveValue("hello you");
  });

  it.each([
    [new HttpError("This picture cannot be read.", 422), "This picture cannot be read."],
    [new HttpError("The server could not be reached.", 0), "The picture could not be sent. Please try again."],
  ])("that are refused say why: %s", async (error, words) => {
    const { onUpload } = renderTask(pageState(1, WITH));
    onUpload.mockRejectedValue(error);
    await userEvent.upload(input(), png());
    expect(screen.getByText(words)).toHaveAttribute("role", "alert");
    expect(screen.queryByRole("img")).toBeNull();
  });

  it("that are too large are not even sent", async () => {
    const { onUpload } = renderTask(pageState(1, WITH));
    const large = png();
    Object.defineProperty(large, "size", { value: 10_000_001 });
    await userEvent.upload(input(), large);
    expect(screen.getByText("That picture is larger than 10 MB. Please choose a smaller one.")).toHaveAttribute("role", "alert");
    expect(onUpload).not.toHaveBeenCalled();
  });
});

describe("pictures of replies", () => {
  const card = { candidate_id: "a", text: "Look!", images: [{ digest: ONE, alt: "A boat", width: 20, height: 10 }] };
  const step: ChooseStep = { ...CHOOSE, cards: [card, { candidate_id: "b", text: "No picture" }] };

  it("stand below their words, from the study's own server", async () => {
    renderTask(pageState(1, step));
    expect(screen.getByRole("img", { name: "A boat" })).toHaveAttribute("src", `images/${ONE}.jpg`);
    expect(await axeViolations()).toEqual([]);
  });

  it.each(["https://elsewhere.example/a.png", `../${ONE}`, "x"])("with another name than a digest are not shown: %s", (digest) => {
    const spoilt = { ...card, images: [{ ...card.images[0], digest }] };
    const parsed = parseUpdate(update(pageState(1, { ...step, cards: [spoilt] } as ChooseStep)));
    expect(parsed?.ok === true && parsed.state.step.kind === "choose" && parsed.state.step.cards[0]?.images).toEqual([]);
  });
});
