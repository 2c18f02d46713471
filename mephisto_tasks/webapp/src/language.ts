/**
 * The page's words in the rater's language. English stands where it is used and is the key of the catalogue; what the
 * catalogue lacks is said in English.
 */
import Tannin from "tannin";

type Values = Readonly<Record<string, string | number>>;
/** A catalogue in Jed's format, under one domain: each English text with its translation, or with one a plural form. */
export type Catalogue = Readonly<Record<string, readonly string[] | Readonly<Record<string, string>>>>;

const DOMAIN = "page";
const ENGLISH: Catalogue = { "": { plural_forms: "nplurals=2; plural=(n != 1);" } };

/** `catalogue` may be empty: what is not in it is said in English. */
export interface Language {
  tag: string;
  direction: "ltr" | "rtl";
  catalogue: Catalogue;
}

let words = translator(ENGLISH);

/** Chooses the language of all that is said from now on. */
export function speak(catalogue: Catalogue = ENGLISH): void {
  words = translator({ ...ENGLISH, ...catalogue });
}

/** The whole page is in a language from now on: what is said, and which way it runs. */
export function turnTo({ tag, direction, catalogue }: Language): void {
  speak(catalogue);
  document.documentElement.lang = tag;
  document.documentElement.dir = direction;
}

/** The one of these languages that somebody reads best who wants others, in their order; the first where none fits. */
export function best(offered: readonly string[], wanted: readonly string[]): string | undefined {
  const fits = (tag: string) =>
    offered.find((one) => one.toLowerCase() === tag.toLowerCase()) ??
    offered.find((one) => primary(one) === primary(tag));
  return wanted.map(fits).find((tag) => tag !== undefined) ?? offered[0];
}

function primary(tag: string): string | undefined {
  return tag.toLowerCase().split("-")[0];
}

/** A text in the rater's language; `{name}` in it stands for the value of that name. */
export function t(english: string, values: Values = {}): string {
  return filled(words.dcnpgettext(DOMAIN, undefined, english), values);
}

/** The same for a number of things, in the plural form that the language wants; `{n}` stands for the number. */
export function tn(one: string, many: string, n: number, values: Values = {}): string {
  return filled(words.dcnpgettext(DOMAIN, undefined, one, many, n), { n, ...values });
}

function translator(catalogue: Catalogue): Tannin {
  // Tannin's own type knows languages of two plural forms only.
  const domains: unknown = { [DOMAIN]: catalogue };
  return new Tannin(domains as ConstructorParameters<typeof Tannin>[0]);
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Where something in a sentence runs from right to left, words put into it (a name, a question) are kept from turning those around. */
function filled(text: string, values: Values): string {
  const put = (value: string | number) => (typeof value === "string" && RIGHT_TO_LEFT.test(text + value) ? `\u2068${value}\u2069` : String(value));
  return text.replace(/\{(\w+)\}/g, (braces, name: string) => put(values[name] ?? braces));
}
