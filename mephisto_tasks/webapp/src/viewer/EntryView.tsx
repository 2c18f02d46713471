import { type ReactNode, useEffect, useRef, useState } from "react";
import { Reply as Words } from "../task/Reply";
import type { Check, Details, Index, Talk } from "./entry";
import styles from "./EntryView.module.css";
import { valuesOf } from "./filter";
import { highlight, scrollTo } from "./highlight";
import { Answers, duration, TurnView } from "./TurnView";

interface Props {
  index: Index;
  /** Its place; -1: there is no such entry. */
  at: number;
  id: string;
  details: Details | undefined;
  /** Its part was read, and had no such entry. */
  missing: boolean;
  turn: number | null;
  /** Which of several dialogues the turn is of; null: all. */
  talk: number | null;
  words: readonly string[];
  onBack: () => void;
  link: (turn: number | null, talk?: number | null) => string;
}

/** One entry: what was asked, said and answered. */
export function EntryView({ index, at, id, details, missing, turn, talk, words, onBack, link }: Props) {
  const root = useRef<HTMLElement>(null);
  const there = details !== undefined;

  useEffect(() => {
    if (there && turn !== null) {
      const inside = talk === null ? "" : `[data-talk="${talk}"] `;
      root.current?.querySelector(`${inside}[data-turn="${turn}"]`)?.scrollIntoView({ block: "start" });
    }
  }, [there, turn, talk]);
  useEffect(() => {
    const [first] = highlight(root.current, words);
    if (first && turn === null) {
      scrollTo(root.current, first);
    }
  }, [there, words, turn]);

  return (
    <article ref={root} className={styles.entry} aria-busy={!there && at >= 0}>
      <div className={styles.top}>
        <button type="button" className={styles.back} onClick={onBack}>
          <span aria-hidden="true">←</span> All dialogues
        </button>
        <h2 className={styles.id}>{id}</h2>
        <CopyLink address={link(null)} name="Copy link" />
      </div>
      {at < 0 ? (
        <p className="warning box">No dialogue of this name is here. It may be of another study, or newer than this page.</p>
      ) : (
        <>
          <Facts index={index} at={at} />
          {details && <Body details={details} turn={turn} talk={talk} link={link} />}
          {!details && <p className="soft">{missing ? "Its texts are not here: reload the page." : "Reading…"}</p>}
        </>
      )}
    </article>
  );
}

function Facts({ index, at }: { index: Index; at: number }) {
  const values = (facet: string) => valuesOf(index, facet, at).join(", ");
  const seconds = index.seconds[at] ?? null;
  const apart = index.disagreement[at] ?? null;
  const facts: [string, string][] = [
    [
      values("technique") ? "Technique" : "Asked about",
      [values("technique"), values("setting"), values("metric")].filter(Boolean).join(" · "),
    ],
    ["Models", values("model")],
    ["Outcome", values("outcome")],
    ["Raters", values("rater")],
    ["Judges", values("judge")],
    ["Failed checks", values("check")],
    ["Status", values("status")],
    ["Marks", values("mark")],
    ["Language", values("language")],
    ["Begun", (index.started[at] ?? "").replace("T", " ")],
    ["Time taken", seconds === null ? "" : duration(seconds)],
    ["Disagreement", apart === null ? "" : `${Math.round(100 * apart)} %`],
  ];
  return (
    <dl className={styles.facts}>
      {facts
        .filter(([, value]) => value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt className="soft">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

interface BodyProps {
  details: Details;
  turn: number | null;
  talk: number | null;
  link: (turn: number, talk?: number | null) => string;
}

function Body({ details, turn, talk, link }: BodyProps) {
  const { questions = [], about = [], talks = [], turns = [], answers = [], checks = [], feedback = [] } = details;
  const lengths = talks.map((one) => Math.ceil(one.lines.length / 2));
  const longest = talk === null ? Math.max(0, ...turns.map((one) => one.turn), ...lengths) : (lengths[talk - 1] ?? 0);
  return (
    <>
      {turn !== null && (turn > longest || turn < 1) && (
        <p className="warning box">{noTurn(turn, longest)}</p>
      )}
      {(questions.length > 0 || about.length > 0) && (
        <Part title="Question and context">
          {questions.map((question) => (
            <p key={question} className="verbatim">
              {question}
            </p>
          ))}
          <Pairs pairs={about} />
        </Part>
      )}
      {turns.map((one) => (
        <TurnView
          key={one.turn}
          turn={one}
          here={one.turn === turn}
          copy={<CopyLink address={link(one.turn)} name={`Copy link to turn ${one.turn}`} short />}
        />
      ))}
      {talks.length > 0 && (
        <div className={styles.talks}>
          {talks.map((one, place) => (
            <TalkView
              key={one.id}
              talk={one}
              place={talks.length > 1 ? place + 1 : null}
              turn={talk === null || talk === place + 1 ? turn : null}
              link={link}
            />
          ))}
        </div>
      )}
      {answers.length > 0 && (
        <Part title={turns.length > 0 ? "Answers about the whole" : "Answers"}>
          <Answers answers={answers} />
        </Part>
      )}
      {checks.length > 0 && <Checks checks={checks} />}
      {feedback.length > 0 && (
        <Part title="Feedback">
          <Pairs pairs={feedback} />
        </Part>
      )}
    </>
  );
}

function noTurn(turn: number, last: number): string {
  return `This dialogue has no turn ${turn}${last > 0 ? `: its last one is ${last}` : ", and no texts of it are here"}.`;
}

export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={`card ${styles.part}`}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Pairs({ pairs }: { pairs: readonly (readonly [string, string])[] }) {
  return (
    <dl className={styles.pairs}>
      {pairs.map(([name, text], place) => (
        <div key={place}>
          <dt className="soft">{name}</dt>
          <dd className="verbatim">{text}</dd>
        </div>
      ))}
    </dl>
  );
}

interface TalkProps {
  talk: Talk;
  place: number | null;
  turn: number | null;
  link: (turn: number, talk?: number | null) => string;
}

function TalkView({ talk, place, turn, link }: TalkProps) {
  const name = [place === null ? "" : `Dialogue ${place}`, talk.title].filter(Boolean).join(": ");
  return (
    <section className={`card ${styles.part}`} aria-label={name || "Dialogue"} data-talk={place ?? 1}>
      <h3>{name || "Dialogue"}</h3>
      <p className={`soft ${styles.small}`}>{talk.id}</p>
      <ol className={styles.lines}>
        {talk.lines.map((line, number) => {
          const exchange = Math.floor(number / 2) + 1;
          const begins = number % 2 === 0;
          return (
            <li
              key={number}
              className={number % 2 === 0 ? styles.first : styles.second}
              data-turn={begins ? exchange : undefined}
              data-here={exchange === turn || undefined}
            >
              <p className={`soft ${styles.small}`}>
                <bdi>{line.who}</bdi>
                {begins && <CopyLink address={link(exchange, place)} name={copyName(exchange, place)} short />}
              </p>
              {line.text === "" ? <p className="soft">(no text)</p> : <Words said={line} as="p" className="bubble" />}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function copyName(turn: number, talk: number | null): string {
  return `Copy link to turn ${turn}${talk === null ? "" : ` of dialogue ${talk}`}`;
}

function Checks({ checks }: { checks: readonly Check[] }) {
  const failed = checks.filter((check) => !check.passed);
  const passed = [...new Set(checks.filter((check) => check.passed).map((check) => check.name))];
  return (
    <Part title="Quality checks">
      <ul className={styles.checks}>
        {failed.map((check, place) => (
          <li key={place}>
            <strong className="wrong">{check.name}</strong>
            {` failed by ${check.by}${check.reason ? `: ${check.reason}` : ""}`}
          </li>
        ))}
        {passed.length > 0 && <li className="soft">{`Passed: ${passed.join(", ")}`}</li>}
      </ul>
    </Part>
  );
}

/** Puts an address on the clipboard, and says so. It is a link as well, for who wants to open or copy it otherwise. */
export function CopyLink({ address, name, short = false }: { address: string; name: string; short?: boolean }) {
  const [copied, setCopied] = useState(false);
  return (
    <a
      href={address}
      className={styles.link}
      aria-label={copied ? "Copied" : name}
      title={name}
      onClick={() => {
        // Only where a page may write to it; the address stands in the browser's bar, too.
        void (navigator as Partial<Navigator>).clipboard?.writeText(address).then(
          () => setCopied(true),
          () => setCopied(false),
        );
      }}
    >
      {copied ? "Copied" : short ? "#" : name}
    </a>
  );
}
