/** The palette keeps WCAG's AA contrast, 4.5 for text and 3 for the edges of controls, in both schemes. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const css = readFileSync("src/ui/tokens.css", "utf8");
const [light = "", dark = ""] = css.split("@media");

const TEXT: [text: string, ground: string][] = [
  ["text", "page"],
  ["text", "surface"],
  ["text", "sunken"],
  ["text", "accent-soft"],
  ["text-soft", "page"],
  ["text-soft", "surface"],
  ["text-soft", "sunken"],
  ["accent-strong", "surface"],
  ["accent-strong", "sunken"],
  ["accent-strong", "accent-soft"],
  ["on-accent", "accent"],
  ["on-accent", "accent-strong"],
  ["on-mine", "mine"],
  ["info-text", "info-soft"],
  ["success-text", "success-soft"],
  ["error-text", "error-soft"],
  ["error-text", "surface"],
  ["error-text", "page"],
  ["warning-text", "warning-soft"],
];
const EDGES: [edge: string, ground: string][] = [
  ["line-strong", "surface"],
  ["line-strong", "page"],
  ["accent", "page"],
  ["accent", "surface"],
  ["accent", "accent-soft"],
];

describe.each([
  ["light", light],
  ["dark", dark],
])("%s", (_name, block) => {
  it.each(TEXT)("%s on %s can be read", (text, ground) => {
    expect(contrast(block, text, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(EDGES)("%s on %s can be seen", (edge, ground) => {
    expect(contrast(block, edge, ground)).toBeGreaterThanOrEqual(3);
  });
});

function contrast(block: string, one: string, other: string): number {
  const [high = 0, low = 0] = [luminance(colour(block, one)), luminance(colour(block, other))].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function colour(block: string, name: string): string {
  const match = new RegExp(`--${name}: #([0-9a-f]{6});`).exec(block);
  if (!match?.[1]) {
    throw new Error(`no colour --${name}`);
  }
  return match[1];
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
