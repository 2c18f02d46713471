/** A reply's markdown as the server has read it: `parlai_humaneval/schema/wire.py`. */
import * as v from "valibot";

const TAGS = ["p", "title", "b", "i", "s", "code", "pre", "ul", "ol", "li", "quote", "hr", "br", "table", "tr", "th", "td"] as const;

export interface Part {
  tag: (typeof TAGS)[number];
  /** The number of an ordered list's first item. */
  start?: number;
  parts: Markup;
}

export type Markup = readonly (Part | string)[];

/** As in markup.py. */
const MOST_LEVELS = 16;
const MOST_PARTS = 5000;

function isMarkup(parts: unknown, left: { parts: number }, level = 1): parts is Markup {
  return Array.isArray(parts) && level <= MOST_LEVELS && parts.every((part) => --left.parts >= 0 && isPart(part, left, level));
}

function isPart(part: unknown, left: { parts: number }, level: number): boolean {
  if (typeof part !== "object" || part === null) {
    return typeof part === "string";
  }
  const { tag, start, parts } = part as Record<string, unknown>;
  return TAGS.some((known) => known === tag) && /^(number|undefined)$/.test(typeof start) && isMarkup(parts, left, level + 1);
}

/** Markup of parts that the page knows, not too deep and not too large; what is anything else is null: then the text is shown. */
const MarkupSchema = v.fallback(v.nullable(v.custom<Markup>((parts) => isMarkup(parts, { parts: MOST_PARTS }))), null);

/** Something that was said: `text` is what is recorded, `markup` how it is drawn, where it is more than its words. */
export const SAID = { text: v.string(), markup: v.optional(MarkupSchema) };

export interface Said {
  text: string;
  markup?: Markup | null | undefined;
}
