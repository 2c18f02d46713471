import { useState } from "react";
import type { View } from "../session/view";
import type { AnswerBody } from "../wire/answers";
import type { TaskConfig } from "../wire/config";
import { BY_LINK } from "../wire/crowd";
import { store } from "../wire/storage";
import { answerableStepId, type PageState, type Step, staysAtEnd } from "../wire/state";
import { Announcer } from "./Announcer";
import { Banner } from "./Banner";
import { ContextCard } from "./ContextCard";
import { CurrentStep } from "./CurrentStep";
import { Covered, ReadFirst } from "./focus";
import { Header } from "./Header";
import { Instructions } from "./Instructions";
import { useItem } from "./item";
import { NoticeBox } from "./NoticeBox";
import { Panels } from "./Panels";
import { noticeFirst } from "./scroll";
import { TopicBar } from "./TopicBar";
import { Transcript } from "./Transcript";
import { useTitle } from "./title";
import styles from "./Task.module.css";

export interface TaskProps {
  config: TaskConfig;
  agentId: string;
  state: PageState;
  view: View;
  onAnswer: (body: AnswerBody) => void;
  onReconnect: () => void;
  onDeliverAgain: () => void;
  onGiveBack: () => void;
}

const SEEN = "instructions-seen";

/** The one anatomy of every task: header, context, transcript or finished dialogues, and the current step at its end. */
export function Task({ config, agentId, state, view, onAnswer, onReconnect, onDeliverAgain, onGiveBack }: TaskProps) {
  const ended = state.step.kind === "end";
  const closed = ended ? null : view.closed;
  const over = state.phase === "ended" || staysAtEnd(state.step) || view.delivery.kind === "done" || closed !== null;
  const item = useItem(state);
  useTitle(config.title, answerableStepId(state.step) !== null && closed === null);
  const first = closed === null && noticeFirst(state, item);
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
      <Instructions
        config={config}
        open={help}
        onClose={closeHelp}
        onGiveBack={config.provider_type === BY_LINK && !over ? onGiveBack : null}
      />
      <main className={styles.main} data-columns={state.columns.length > 0 ? "" : undefined} data-wide={isWide(state) ? "" : undefined}>
        {first && state.notice && <NoticeBox key={state.version} notice={state.notice} />}
        {state.transcript.length > 0 && <Transcript entries={state.transcript} columns={state.columns} />}
        {state.panels.length > 0 && (
          <Covered value={help}>
            <Panels panels={state.panels} item={item.number} question={closed === null ? soleQuestion(state.step) : null} />
          </Covered>
        )}
        {closed !== null ? (
          <p role="alert" className={styles.closed}>
            {closed}
          </p>
        ) : (
          <Covered value={help}>
            <ReadFirst value={item.openedAt === state.version ? item.number : 0}>
              <CurrentStep
                agentId={agentId}
                state={state}
                item={item}
                pending={view.pending}
                delivery={view.delivery}
                onAnswer={onAnswer}
                onDeliverAgain={onDeliverAgain}
              />
            </ReadFirst>
          </Covered>
        )}
      </main>
      <Announcer entries={state.transcript} columns={state.columns} said={item.said} />
    </>
  );
}

/** Two dialogues side by side, and questions in groups side by side, want a wider page. */
function isWide({ panels, step }: PageState): boolean {
  return panels.length > 1 || (panels.length > 0 && step.kind === "form" && step.questions.length > 1);
}

/** The one question of a form. Other steps keep their question in sight by themselves. */
function soleQuestion(step: Step): string | null {
  const [only, ...more] = step.kind === "form" ? step.questions : [];
  return only === undefined || more.length > 0 ? null : only.text;
}
