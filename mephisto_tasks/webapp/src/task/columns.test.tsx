import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { axeViolations } from "../test/axe";
import { entry, MESSAGE, pageState } from "../test/fakes";
import { renderTask } from "../test/renderTask";
import { columnRows } from "./speakers";

const COLUMNS = ["Partner A", "Partner B"];
const TALK = [
  entry("1", "you", "Hi!"),
  entry("2", "partner", "Hello", { column: 0 }),
  entry("3", "partner", "Good day", { column: 1, note: "Slow." }),
  entry("4", "you", "And?"),
];

describe("two transcripts side by side", () => {
  it("are one list in the order of the turns, in which each reply says whose it is", async () => {
    renderTask(pageState(1, MESSAGE, { columns: COLUMNS, transcript: TALK }));
    const lines = within(screen.getByRole("log")).getAllByRole("listitem");
    expect(lines.map((line) => line.textContent)).toEqual([
      "YouHi!",
      "Partner AHello",
      "Partner BGood daySlow.",
      "YouAnd?",
    ]);
    expect(lines.map((line) => line.style.gridColumn)).toEqual(["1 / -1", "1", "2", "1 / -1"]);
    expect(lines.map((line) => line.style.gridRow)).toEqual(["1", "2", "2", "3"]);
    expect(await axeViolations()).toEqual([]);
  });

  it("stand as in any order of arrival: row by row, and what is said to both below both", () => {
    expect(
      columnRows([entry("b", "partner", "", { column: 1 }), entry("a", "partner", "", { column: 0 }), entry("y", "you", "")], 2),
    ).toEqual([1, 1, 2]);
    expect(
      columnRows([entry("a", "partner", "", { column: 0 }), entry("b", "partner", "", { column: 0 }), entry("y", "you", "")], 2),
    ).toEqual([1, 2, 3]);
  });

  it("say to whom a message went that is in one of them alone", () => {
    renderTask(pageState(1, MESSAGE, { columns: COLUMNS, transcript: [entry("1", "you", "Hi!", { column: 1 })] }));
    expect(within(screen.getByRole("log")).getByRole("listitem")).toHaveTextContent("You, to Partner BHi!");
  });

  it("have both new replies read, each once", () => {
    const { show } = renderTask(pageState(1, MESSAGE, { columns: COLUMNS, transcript: TALK.slice(0, 1) }));
    show(pageState(2, MESSAGE, { columns: COLUMNS, transcript: TALK }));
    const announcer = screen.getByTestId("announcer");
    expect([...announcer.children].map((child) => child.textContent)).toEqual([
      "Partner A: Hello",
      "Partner B: Good day (Slow.)",
    ]);
    const [first] = announcer.children;
    show(pageState(3, MESSAGE, { columns: COLUMNS, transcript: [...TALK, entry("5", "partner", "Well", { column: 1 })] }));
    expect(announcer.children[0]).toBe(first);
    expect(announcer.children[1]).toHaveTextContent("Partner B: Well");
  });
});
