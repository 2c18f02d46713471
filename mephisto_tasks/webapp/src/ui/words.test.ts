import { describe, expect, it } from "vitest";
import { countWords } from "./words";

describe("countWords", () => {
  it.each([
    ["", 0],
    ["... !!! ???", 0],
    ["😀 👍", 0],
    ["well ... yes!", 2],
    ["  don't\n\tstop ", 2],
    ["4 ½ Ⅷ", 3],
    ["日本語 ёлка", 3],
    ["你好", 2],
    ["ok你好吗", 3],
  ])("counts what the server counts, runs with a letter or digit: %j", (text, words) => {
    expect(countWords(text)).toBe(words);
  });
});
