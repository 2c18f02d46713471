import { useState } from "react";
import type { View } from "../session/view";
import type { AnswerBody } from "../wire/answers";
import type { TaskConfig } from "../wire/config";
import { store } from "../wire/storage";
import { type PageState, staysAtEnd } from "../wire/state";
import { Announcer } from "./Announcer";
import { Banner } from "./Banner";
import { ContextCard } from "./ContextCard";
import { CurrentStep } from "./CurrentStep";
import { Covered } from "./focus";
import { Header } from "./Header";
import { Instructions } from "./Instructions";
import { NoticeBox } from "./NoticeBox";
import { noticeFirst } from "./scroll";
import { TopicBar } from "./TopicBar";
import { Transcript } from "./Transcript";
import styles from "./Task.module.css";

export interface TaskProps {
  config: TaskConfig;
  agentId: string;
  state: PageState;
  view: View;
  onAnswer: (body: AnswerBody) => void;
  onReconnect: () => void;
  onDeliverAgain: () => void;
}

const SEEN = "instructions-seen";

/** The one anatomy of every live task: header, context, transcript, and the current step at its end. */
export function Task({ config, agentId, state, view, onAnswer, onReconnect, onDeliverAgain }: TaskProps) {
  const ended = state.step.kind === "end";
  const closed = ended ? null : view.closed;
  const over = state.phase === "ended" || staysAtEnd(state.step) || view.delivery.kind === "done" || closed !== null;
  const first = closed === null && noticeFirst(state);
  const [help, setHelp] = useState(() => !ended && store.read(SEEN) === null);

  const closeHelp = () => {
    store.write(SEEN, true);
    setHelp(false);
  };

  return (
    <>
      <Header
        title={config.title}
        progress={ended ? null : state.progress}
        within={ended ? null : state.within}
        onHelp={() => setHelp(true)}
      />
      {state.topic !== null && !ended && <TopicBar topic={state.topic} />}
      {state.context && !ended && (
        <ContextCard context={state.context} beginning={((state.within ?? state.progress)?.current ?? 1) <= 1} />
      )}
      <Banner link={view.link} problem={view.linkProblem} quiet={over} onReconnect={onReconnect} />
      <Instructions config={config} open={help} onClose={closeHelp} />
      <main className={styles.main} data-columns={state.columns.length > 0 ? "" : undefined}>
        {first && state.notice && <NoticeBox key={state.version} notice={state.notice} />}
        {state.transcript.length > 0 && <Transcript entries={state.transcript} columns={state.columns} />}
        {closed !== null ? (
          <p role="alert" className={styles.closed}>
            {closed}
          </p>
        ) : (
          <Covered value={help}>
            <CurrentStep
              agentId={agentId}
              state={state}
              pending={view.pending}
              delivery={view.delivery}
              onAnswer={onAnswer}
              onDeliverAgain={onDeliverAgain}
            />
          </Covered>
        )}
      </main>
      <Announcer entries={state.transcript} columns={state.columns} />
    </>
  );
}
