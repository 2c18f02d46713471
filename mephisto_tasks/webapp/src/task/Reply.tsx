import { Fragment, type ReactNode } from "react";
import { t } from "../language";
import type { Markup, Part, Said } from "../wire/state";
import { type Marked, marked } from "./differences";
import styles from "./Reply.module.css";

export interface ReplyProps {
  said: Said;
  /** What it stands in, where it is text alone. */
  as?: "span" | "p";
  className?: string | undefined;
  /** Which of its words are marked, in their order; null: none. */
  marks?: readonly boolean[] | null;
}

/**
 * What somebody said, everywhere on the page: letter by letter, or by its markup, of which nothing is HTML. Each
 * paragraph and line of it runs as its language does, a list has its marks on that side, and code runs to the right; nothing
 * around it turns.
 */
export function Reply({ said, as: Text = "span", className, marks = null }: ReplyProps) {
  const { text, markup = null, images = [] } = said;
  const parts = marks === null ? (markup ?? [text]) : marked(markup ?? [text], marks);
  const looks = [styles.said, markup === null ? styles.text : styles.markup, className ?? ""].join(" ");
  const Holder = markup === null ? Text : "div";
  return (
    <>
      <Holder className={looks} dir="auto" data-said>
        {drawn(parts)}
      </Holder>
      {images.map(({ digest, alt, width, height }) => (
        <img key={digest} src={imageAddress(digest)} alt={alt} width={width} height={height} className={styles.picture} />
      ))}
    </>
  );
}

/** Where the study's own server has a picture; no page shows another's. */
export function imageAddress(digest: string): string {
  return `images/${digest}.jpg`;
}

/** The words, on lines of their own where the page breaks them, and what pictures show; for who hears them. */
export function spoken({ text, markup = null, images = [] }: Said): string {
  const said = markup === null ? text : words(markup).replace(/\s*\n\s*/g, "\n").trim();
  return [said, ...images.map(({ alt }) => alt)].join("\n");
}

function words(markup: Markup): string {
  return markup
    .map((part) => (typeof part === "string" ? part : words(part.parts) + (INLINE.has(part.tag) ? "" : "\n")))
    .join("");
}

const INLINE: ReadonlySet<Part["tag"]> = new Set(["b", "i", "s", "code"]);

function drawn(parts: readonly Marked[]): ReactNode {
  return parts.map((part, index) => <Fragment key={index}>{typeof part === "string" ? part : one(part)}</Fragment>);
}

function one(part: Exclude<Marked, string>): ReactNode {
  const inner = drawn(part.parts);
  switch (part.tag) {
    case "mark":
      return <mark>{inner}</mark>;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "title":
      // A reply's headings are none of the page's.
      return <p className={styles.title}>{inner}</p>;
    case "quote":
      return <blockquote dir="auto">{inner}</blockquote>;
    case "ul":
      return <ul dir="auto">{inner}</ul>;
    case "ol":
      return (
        <ol start={part.start} dir="auto">
          {inner}
        </ol>
      );
    case "code":
      return <code dir="ltr">{inner}</code>;
    case "pre":
      return (
        <Scrolled name={t("Code")} dir="ltr">
          <pre>{inner}</pre>
        </Scrolled>
      );
    case "table":
      return (
        <Scrolled name={t("Table")} dir="auto">
          <table>
            <tbody>{inner}</tbody>
          </table>
        </Scrolled>
      );
    default: {
      const Tag = part.tag;
      return <Tag>{inner}</Tag>;
    }
  }
}

/** What is wider than its place scrolls in it, also by keyboard. */
function Scrolled({ name, dir, children }: { name: string; dir: "ltr" | "auto"; children: ReactNode }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else its end cannot be reached without a pointer
    <div className={styles.scrolled} role="group" aria-label={name} dir={dir} tabIndex={0}>
      {children}
    </div>
  );
}
