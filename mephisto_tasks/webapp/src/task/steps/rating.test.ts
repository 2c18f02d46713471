import { describe, expect, it } from "vitest";
import { RATE, SCALE } from "../../test/fakes";
import { fineStep, firstUnanswered, keyTarget, known, middle, points, positionWords, snap } from "./rating";

describe("a slider's positions", () => {
  it.each([
    [33.33333, 33.3],
    [0.1 + 0.2, 0.3],
    [-5, 0],
    [250, 100],
  ])("%d is kept as %d: one decimal on a scale to 100, and never beyond its ends", (put, kept) => {
    expect(snap(SCALE, put)).toBe(kept);
  });

  it("are fine on a small scale too", () => {
    const small = { ...SCALE, minimum: -1, maximum: 1 };
    expect(fineStep(small)).toBeCloseTo(0.001);
    expect(snap(small, -0.12345)).toBe(-0.123);
    expect(middle(small)).toBe(0);
  });
});

describe("a slider's keys", () => {
  it.each(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown"])(
    "put one that was not touched into the middle, whichever way they point: %s",
    (key) => expect(keyTarget(SCALE, null, key)).toBe(50),
  );

  it.each([
    [null, "Home", 0],
    [null, "End", 100],
    [40, "Home", 0],
    [40, "ArrowRight", 41],
    [40, "ArrowDown", 39],
    [40, "PageUp", 50],
    [95, "PageUp", 100],
    [0, "ArrowLeft", 0],
  ])("from %s, %s leads to %d", (value, key, target) => {
    expect(keyTarget(SCALE, value, key)).toBe(target);
  });

  it.each(["a", "Enter", "Tab", "5", "toString"])("leave the slider alone: %s", (key) => {
    expect(keyTarget(SCALE, 40, key)).toBeNull();
  });
});

describe("a slider's position in words", () => {
  it.each([
    [null, "not answered"],
    [0, "at “Not at all”"],
    [5, "almost at “Not at all”"],
    [25, "close to “Not at all”"],
    [40, "somewhat closer to “Not at all”"],
    [50, "about the middle"],
    [60, "somewhat closer to “Very much”"],
    [100, "at “Very much”"],
  ])("gives no number away: %s", (value, words) => {
    expect(positionWords(SCALE, value)).toBe(words);
    expect(positionWords(SCALE, value)).not.toMatch(/\d/);
  });
});

describe("a rating", () => {
  it("keeps values of its own scales alone, and within their range", () => {
    expect(known(RATE, { s1: 0, s2: 101, p1: 3, gone: 4 })).toEqual({ s1: 0, p1: 3 });
  });

  it("takes a scale's id for nothing but an id", () => {
    const odd = { ...RATE, scales: [{ ...SCALE, scale_id: "constructor" }] };
    expect(known(odd, {})).toEqual({});
    expect(firstUnanswered(odd, {})?.scale_id).toBe("constructor");
  });

  it("finds the first that is open, and counts a zero as an answer", () => {
    expect(firstUnanswered(RATE, { s1: 0 })?.scale_id).toBe("s2");
    expect(firstUnanswered(RATE, { s1: 0, s2: 1, p1: 2 })).toBeNull();
  });

  it("has every whole number as a point", () => {
    expect(points({ ...SCALE, minimum: -1, maximum: 2 })).toEqual([-1, 0, 1, 2]);
  });
});
