import { type Ref, useRef } from "react";
import { Bullets } from "../ui/Bullets";
import type { Panel, PanelLine } from "../wire/state";
import { t } from "../language";
import { useFocusOnItem } from "./focus";
import { Guide } from "./Guide";
import { dialogueNames } from "./JumpBar";
import { Reply } from "./Reply";
import { Tabs } from "./Tabs";
import styles from "./Panels.module.css";

export interface PanelsProps {
  panels: readonly Panel[];
  /** Which item they are; with a new one the focus goes to the beginning. */
  item: number;
  /** What the step below asks, said first where it is not in sight while one reads; null where it asks more, or stays in sight. */
  question: string | null;
}

/** One or two finished dialogues in the transcript's place; two stand side by side where there is room. */
export function Panels({ panels, item, question }: PanelsProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useFocusOnItem(heading, item);
  const names = dialogueNames(panels);
  return (
    <>
      {question !== null && <Ahead question={question} />}
      <Guide at="chats" />
      {panels.length > 1 && <Tabs key={item} names={names} />}
      <div className={styles.panels} data-panels={panels.length}>
        {panels.map((panel, index) => (
          <Dialogue key={index} panel={panel} index={index} name={panels.length > 1 ? names[index] : undefined} headingRef={index === 0 ? heading : undefined} />
        ))}
      </div>
    </>
  );
}

/** What will be asked of a chat that is read first; not seen where the question sticks while one reads. */
export function Ahead({ question }: { question: string }) {
  return (
    <p className={`soft ${styles.ahead}`} data-ahead>
      {t("You will be asked: {question}", { question })}
    </p>
  );
}

interface DialogueProps {
  panel: Panel;
  index: number;
  /** What it is called beside another one. */
  name: string | undefined;
  headingRef: Ref<HTMLHeadingElement> | undefined;
}

/** A dialogue under its name. The lines of the judged speaker look the same in every panel, and the head says whose they are. */
function Dialogue({ panel, index, name, headingRef }: DialogueProps) {
  const { title, context, judged_label: judged, lines } = panel;
  const headingId = `panel-${index}`;
  return (
    <section className={styles.panel} aria-labelledby={headingId} data-testid="panel" data-tab={index}>
      <div className={`cluster ${styles.head}`} data-stick="heads">
        <h2 id={headingId} ref={headingRef} tabIndex={-1}>
          {title}
        </h2>
        {judged !== null && lines.some((line) => line.judged) && (
          <p className="soft">
            {t("Marked:")} <bdi className={`strong ${styles.chip}`}>{judged}</bdi>
          </p>
        )}
      </div>
      {context.length > 0 && (
        <div className={styles.context} role="note" aria-label={t("Background")}>
          <p className="soft strong">{t("Background")}</p>
          <Bullets lines={context} className="verbatim" />
        </div>
      )}
      {lines.length === 0 ? (
        <p className="soft">{t("Nothing has been said yet.")}</p>
      ) : (
        <ol className={styles.lines}>
          {lines.map((line, at) => (
            <Line key={at} line={line} side={side(line, panel)} end={at === lines.length - 1 ? name : undefined} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Line({ line, side: where, end }: { line: PanelLine; side: "near" | "far"; end: string | undefined }) {
  const looks = [styles.line, styles[where], line.judged ? styles.judged : ""].join(" ");
  return (
    <li className={looks} tabIndex={end === undefined ? undefined : -1} data-end={end} data-speaker={line.speaker} data-judged={line.judged}>
      <div>
        <bdi className={`soft strong ${styles.name}`}>{line.speaker}</bdi>
        <span className="visually-hidden">{line.judged ? ` ${t("(marked)")}:` : ":"}</span>{" "}
        <Reply said={line} />
      </div>
    </li>
  );
}

/** The judged speaker on the left, the other on the right; where nobody is judged, who speaks first on the left. */
function side(line: PanelLine, { judged_label: label, lines }: Panel): "near" | "far" {
  const marked = label !== null || lines.some(({ judged }) => judged);
  const near = marked ? line.judged : line.speaker === lines[0]?.speaker;
  return near ? "near" : "far";
}
