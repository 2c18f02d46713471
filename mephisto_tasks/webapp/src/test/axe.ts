import axe from "axe-core";

/** The ids of axe's violations in what is rendered. Colours are checked in tokens.test.ts: jsdom paints nothing. */
export async function axeViolations(): Promise<string[]> {
  const results = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
  return results.violations.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html).join(" ")}`);
}
