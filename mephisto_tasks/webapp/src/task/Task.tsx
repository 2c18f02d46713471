import { useState } from "react";
import type { TaskSession } from "../session/session";
import type { View } from "../session/view";
import type { GuideLine, TaskConfig } from "../wire/config";
import { store } from "../wire/storage";
import { answerableStepId, type PageState, type Step, staysAtEnd } from "../wire/state";
import { Announcer } from "./Announcer";
import { Banner } from "./Banner";
import { ContextCard } from "./ContextCard";
import { CurrentStep } from "./CurrentStep";
import { Covered, ReadFirst } from "./focus";
import { Guided } from "./Guide";
import { Header } from "./Header";
import { Instructions } from "./Instructions";
import { atBeginning, useItem } from "./item";
import { NoticeBox } from "./NoticeBox";
import { Ahead, Panels } from "./Panels";
import { noticeFirst, readFromTop } from "./scroll";
import { Sticking } from "./Sticking";
import { TopicBar } from "./TopicBar";
import { Transcript } from "./Transcript";
import { useTitle } from "./title";
import styles from "./Task.module.css";

export interface TaskProps {
  config: TaskConfig;
  keptUnder: string;
  state: PageState;
  view: View;
  session: TaskSession;
}

/** The steps in which a live chat goes on. */
const CHATTING: ReadonlySet<Step["kind"]> = new Set(["message", "wait", "write", "choose", "tick"]);

const SEEN = "instructions-seen";

/** The one anatomy of every task: header, context, transcript or finished dialogues, and the current step at its end. */
export function Task({ config, keptUnder, state, view, session }: TaskProps) {
  const ended = state.step.kind === "end";
  const last = ended || state.step.kind === "feedback";
  const closed = ended ? null : view.closed;
  const over = state.phase === "ended" || staysAtEnd(state.step) || view.delivery.kind === "done" || closed !== null;
  const item = useItem(state);
  useTitle(config.title, answerableStepId(state.step) !== null && closed === null);
  const first = closed === null && noticeFirst(state, item);
  const question = closed === null ? soleQuestion(state.step) : null;
  const [help, setHelp] = useState(() => config.instructions_first && !ended && store.read(SEEN) === null);

  const closeHelp = () => {
    store.write(SEEN, true);
    setHelp(false);
  };

  return (
    <Guided
      lines={closed === null ? guideLines(config, state) : NO_LINES}
      keptUnder={keptUnder}
      kind={state.step.kind}
      stepKey={answerableStepId(state.step) ?? state.step.kind}
    >
      <Sticking />
      <Header title={config.title} progress={state.progress} within={state.within} over={last} onHelp={() => setHelp(true)} />
      {state.topic !== null && !ended && <TopicBar key={state.topic} topic={state.topic} />}
      {state.context && !last && (
        <ContextCard
          context={state.context}
          beginning={state.step.kind !== "rate" && atBeginning(state)}
          acted={view.pending !== null}
        />
      )}
      <Banner link={view.link} problem={view.linkProblem} quiet={over} onReconnect={session.reconnect} />
      <Instructions
        config={config}
        open={help}
        onClose={closeHelp}
        onGiveBack={config.entry === "address" && !over ? session.giveBack : null}
      />
      <main
        className={`column ${styles.main}`}
        data-chat={CHATTING.has(state.step.kind) ? "" : undefined}
      >
        {first && state.notice && <NoticeBox key={state.version} notice={state.notice} />}
        {state.panels.length === 0 && readFromTop(state) && question !== null && <Ahead question={question} />}
        {state.transcript.length > 0 && <Transcript entries={state.transcript} columns={state.columns} />}
        {state.panels.length > 0 && (
          <Covered value={help}>
            <Panels panels={state.panels} item={item.number} question={question} />
          </Covered>
        )}
        {closed !== null ? (
          <p role="alert" className="box warning">
            {closed}
          </p>
        ) : (
          <Covered value={help}>
            <ReadFirst value={item.openedAt === state.version ? item.number : 0}>
              <CurrentStep keptUnder={keptUnder} state={state} item={item} view={view} session={session} />
            </ReadFirst>
          </Covered>
        )}
      </main>
      <Announcer entries={state.transcript} columns={state.columns} said={item.said} />
    </Guided>
  );
}

const NO_LINES: readonly GuideLine[] = [];

/** What leads through the phase in which the rater is; nothing where they know it. */
function guideLines({ guide }: TaskConfig, { guided, phase }: PageState): readonly GuideLine[] {
  return guided && guide !== null && phase !== "ended" ? guide[phase] : NO_LINES;
}

/** The one question of a step; null where it asks several. */
function soleQuestion(step: Step): string | null {
  if (step.kind === "form") {
    const [only, ...more] = step.questions;
    return only === undefined || more.length > 0 ? null : only.text;
  }
  return "question" in step ? step.question : null;
}
