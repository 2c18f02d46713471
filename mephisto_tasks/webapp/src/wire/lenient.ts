/** What the generated checks ask of parts that the page can do without: they must not spoil the words around them. */
import * as v from "valibot";

/** Markup, as far as its depth goes. */
interface Nested {
  parts: (Nested | string)[];
}

/** Anything but a web address (a script, say) is no way back. */
export const WebAddress = v.pipe(v.string(), v.url(), v.regex(/^https?:/i));

/** Neither deeper nor larger than that; of other markup the text alone is shown. */
export function within(markup: Nested["parts"], levels: number, parts: number): boolean {
  let left = parts;
  const fits = (some: Nested["parts"], level: number): boolean =>
    level <= levels && some.every((part) => --left >= 0 && (typeof part === "string" || fits(part.parts, level + 1)));
  return fits(markup, 1);
}
