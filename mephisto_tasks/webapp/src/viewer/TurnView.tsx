import type { ReactNode } from "react";
import { Reply as Words } from "../task/Reply";
import type { Answer, Reply, Turn } from "./entry";
import styles from "./TurnView.module.css";

interface Props {
  turn: Turn;
  here: boolean;
  copy: ReactNode;
}

/** What a person said, all replies to it, and who chose what and why. */
export function TurnView({ turn, here, copy }: Props) {
  const asked = turn.answers.filter((answer) => answer.chosen ?? answer.none);
  const judges = asked.filter((answer) => answer.kind === "judge");
  const raters = asked.filter((answer) => answer.kind !== "judge");
  const written = turn.answers.map((answer) => answer.written).find(Boolean);
  return (
    <section className={styles.turn} data-turn={turn.turn} data-here={here || undefined} aria-label={`Turn ${turn.turn}`}>
      <h3 className={styles.number}>
        {`Turn ${turn.turn}`} {copy}
      </h3>
      {turn.human && (
        <div className={styles.human}>
          <Words said={turn.human} as="p" className="bubble" />
          {turn.given && <p className={`soft ${styles.small}`}>given, not typed</p>}
        </div>
      )}
      <ul className={styles.replies}>
        {turn.replies.map((reply, place) => (
          <ReplyView key={place} reply={reply} raters={raters} judges={judges} alone={turn.replies.length === 1} />
        ))}
      </ul>
      {written && (
        <div className={styles.written}>
          <p className={`soft ${styles.small}`}>Written by the rater</p>
          <Words said={{ text: written }} as="p" className="bubble" />
        </div>
      )}
      <Answers answers={turn.answers} />
    </section>
  );
}

interface ReplyProps {
  reply: Reply;
  raters: readonly Answer[];
  judges: readonly Answer[];
  alone: boolean;
}

function ReplyView({ reply, raters, judges, alone }: ReplyProps) {
  const among = (answers: readonly Answer[]) => answers.filter((answer) => answer.chosen?.includes(reply.model)).length;
  const votes = among(raters);
  const marks = [
    reply.continued && !alone ? "went on" : "",
    reply.failed ? "failed, not shown" : "",
    reply.masked ? "masked" : "",
    ...(reply.changes ?? []).map((change) => change.replaceAll("_", " ")),
  ].filter(Boolean);
  return (
    <li className={`card ${styles.reply}`} data-chosen={votes > 0 || undefined}>
      <p className={styles.who}>
        {reply.position !== undefined && reply.position > 0 && !alone && <span className={styles.place}>{reply.position}</span>}
        <strong>{reply.model}</strong>
        {votes > 0 && (
          <span className={`success ${styles.mark}`}>{raters.length > 1 ? `chosen by ${votes} of ${raters.length}` : "chosen"}</span>
        )}
        {among(judges) > 0 && (
          <span className={`info ${styles.mark}`}>{`chosen by judges ${among(judges)} of ${judges.length}`}</span>
        )}
        {marks.map((mark) => (
          <span key={mark} className={`soft ${styles.mark}`}>
            {mark}
          </span>
        ))}
        {reply.latency !== undefined && <span className={`soft ${styles.small}`}>{`${reply.latency.toFixed(1)} s`}</span>}
      </p>
      {reply.text === "" ? (
        <p className="soft">{reply.blocked ? `Nothing was shown: ${reply.blocked}` : "(no text)"}</p>
      ) : (
        <Words said={reply} as="p" />
      )}
      <Fold title="In the model's own words" text={reply.raw} />
      <Fold title="Thoughts, not shown" text={reply.thoughts} />
      {reply.withdrawn?.map((text, place) => <Fold key={place} title="Withdrawn, asked again" text={text} />)}
    </li>
  );
}

function Fold({ title, text }: { title: string; text: string | undefined }) {
  return text ? (
    <details className={styles.fold}>
      <summary>{title}</summary>
      <p className="verbatim">{text}</p>
    </details>
  ) : null;
}

const KINDS = { rater: "", own: "the dialogue's rater", judge: "judge" } as const;

/** Who answered what, why and in which time. */
export function Answers({ answers }: { answers: readonly Answer[] }) {
  return answers.length === 0 ? null : (
    <ul className={styles.answers}>
      {answers.map((answer, place) => {
        const kind = [KINDS[answer.kind], answer.order === undefined ? "" : `order ${answer.order}`].filter(Boolean).join(", ");
        const wrote = answer.says?.filter(([question]) => question === "wrote") ?? [];
        const says = answer.says?.filter(([question]) => question !== "wrote") ?? [];
        return (
          <li key={place}>
            <p>
              <strong>
                <bdi>{answer.by}</bdi>
              </strong>
              {kind && <span className="soft">{` (${kind})`}</span>}
              <bdi>{choice(answer, says.length === 0)}</bdi>
              {answer.seconds !== undefined && <span className="soft">{` · ${duration(answer.seconds)}`}</span>}
            </p>
            {says.length > 0 && (
              <dl className={styles.says}>
                {says.map(([question, said], number) => (
                  <div key={number}>
                    <dt className="soft" data-mark={/[.?!:。？！：…]$/.test(question) ? "" : ":"}>
                      {question}
                    </dt>
                    <dd>{said}</dd>
                  </div>
                ))}
              </dl>
            )}
            {answer.reason && (
              <p className={`verbatim ${styles.reason}`}>{answer.reason}</p>
            )}
            {wrote.map(([, text], number) => (
              <Fold key={number} title="What the judge wrote" text={text} />
            ))}
          </li>
        );
      })}
    </ul>
  );
}

function choice(answer: Answer, alone: boolean): string {
  const parts: string[] = [];
  if (answer.same) {
    parts.push("was not asked: all replies were the same");
  } else if (alone && answer.chosen) {
    parts.push(`chose ${answer.chosen.join(", ")}`);
  } else if (answer.none) {
    parts.push("chose none of them");
  }
  const ticks = Object.entries(answer.ticks ?? {}).map(([model, names]) => `${model}: ${names.join(", ")}`);
  if (ticks.length > 0) {
    parts.push(`ticked ${ticks.join("; ")}`);
  }
  const ranks = Object.entries(answer.ranks ?? {}).sort(([, a], [, b]) => a - b);
  if (ranks.length > 0) {
    parts.push(`ranked ${ranks.map(([model, rank]) => `${rank}. ${model}`).join(", ")}`);
  }
  return parts.length > 0 ? ` ${parts.join("; ")}` : "";
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
