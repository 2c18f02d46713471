import { useLayoutEffect, useRef } from "react";
import type { TaskSession } from "../session/session";
import type { View } from "../session/view";
import { useListener } from "../ui/useListener";
import { answerableStepId, type PageState, type Step, stepInView } from "../wire/state";
import { DockNotice } from "./Dock";
import { atBeginning, type Item } from "./item";
import { Dialogues, dialogueNames } from "./JumpBar";
import { NoticeBox } from "./NoticeBox";
import { useOnePress } from "./onePress";
import { bringIntoView, noticeFirst, readFromTop, showTop, STEP_ID } from "./scroll";
import { EndStepView } from "./steps/EndStepView";
import { FeedbackStepView } from "./steps/FeedbackStepView";
import { FormStepView } from "./steps/FormStepView";
import { MessageStepView } from "./steps/MessageStepView";
import { AnsweredLine } from "./steps/Pinned";
import { KnownQuestion } from "./steps/Question";
import { RankStepView } from "./steps/RankStepView";
import { RateStepView } from "./steps/RateStepView";
import { SelectStepView } from "./steps/SelectStepView";
import { TopicStepView } from "./steps/TopicStepView";
import { WaitStepView } from "./steps/WaitStepView";
import { WriteStepView } from "./steps/WriteStepView";

export interface CurrentStepProps {
  keptUnder: string;
  state: PageState;
  item: Item;
  view: Pick<View, "pending" | "delivery">;
  session: TaskSession;
}

/**
 * The notice about the last answer and the step that awaits the next one.
 *
 * A step keeps its identity (and so its draft and focus) while its `step_id` stays the same, as after a refusal.
 */
export function CurrentStep({ state, item, ...rest }: CurrentStepProps) {
  const top = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const { notice } = state;
  const step = stepInView(state.step);
  const waiting = state.step.kind === "wait" && step.kind !== "wait" ? state.step.text : null;
  const { delivery } = rest.view;
  const withPanels = state.panels.length > 0;
  const stepKey = answerableStepId(step) ?? step.kind;
  useOnePress(stepKey);

  const fromTop = readFromTop(state);
  const arrived = useRef<string | null>(null);
  const read = useRef(0);
  const shown = useRef<Step["kind"] | null>(null);
  // Replies that grow are followed until one moves the page oneself.
  const grown = waiting === null ? 0 : state.version;
  const grew = useRef(0);
  const moved = useRef(false);
  const move = () => (moved.current = true);
  useListener("wheel", move);
  useListener("pointerdown", move);
  useListener("keydown", move);

  useLayoutEffect(() => {
    const again = arrived.current === stepKey;
    moved.current &&= again;
    const stays = moved.current && grew.current !== grown;
    grew.current = grown;
    const before = shown.current;
    shown.current = step.kind;
    const newItem = item.number > 0 && read.current !== item.number;
    arrived.current = stepKey;
    read.current = item.number;
    if (newItem || (fromTop && !again)) {
      showTop();
    } else if (!stays && (!withPanels || document.querySelector("[data-docked]") === null)) {
      // Beneath finished dialogues a docked step is in sight wherever one reads.
      // Replies are new after a wait, and to a page that was only just opened, or was loaded again.
      const from = step.kind === "message" && (before === "wait" || before === null) ? whatIsNew() : null;
      bringIntoView(from ?? top.current, bottom.current, step.kind === "rate" ? ITS_END : 0);
    }
  }, [stepKey, step.kind, fromTop, withPanels, item.number, notice?.text, notice?.level, delivery.kind, grown]);

  // The version is the key, so that the same refusal twice is said twice.
  const said = notice && !noticeFirst(state, item) ? <NoticeBox key={state.version} notice={notice} /> : null;
  const inDock = step.kind === "form" && withPanels;
  return (
    <Dialogues value={dialogueNames(state.panels)}>
      <div ref={top} id={STEP_ID} data-step={stepKey} />
      {!inDock && said}
      <DockNotice value={inDock ? said : null}>
        <AnsweredLine value={answeredLine(state, step)}>
          <KnownQuestion value={state.phase === "task" && step.kind !== "rate" && !atBeginning(state)}>
            <StepView key={stepKey} step={step} waiting={waiting} talking={state.transcript.length > 0} {...rest} />
          </KnownQuestion>
        </AnsweredLine>
      </DockNotice>
      <div ref={bottom} />
    </Dialogues>
  );
}

/** Above the scales on which a conversation is rated its end stays in sight, this share of the window. */
const ITS_END = 0.3;

/** Where replies begin that are seen for the first time: with the message that they answer, or two below one another without it. */
function whatIsNew(): Element | null {
  const own = Array.from(document.querySelectorAll("[role='log'] [data-speaker='you']")).at(-1);
  const [one, other] = [own?.nextElementSibling, own?.nextElementSibling?.nextElementSibling];
  const stacked = one?.getBoundingClientRect().left === other?.getBoundingClientRect().left;
  return (stacked ? one : own) ?? null;
}

/** The last line before the replies that a step is about. */
function answeredLine({ transcript, panels }: PageState, step: Step): string | null {
  const of = step.kind === "choose" || step.kind === "rank" || (step.kind === "tick" && step.reply !== null);
  const [panel] = panels;
  const last = panel === undefined ? transcript.at(-1) : panel.lines.at(-1);
  return of ? (last?.text ?? null) : null;
}

interface StepViewProps extends Omit<CurrentStepProps, "state" | "item"> {
  step: Step;
  /** Why nothing can be answered yet, although the step is in view: its replies grow. */
  waiting: string | null;
  talking: boolean;
}

function StepView({ step, waiting, talking, keptUnder, view, session }: StepViewProps) {
  const common = { keptUnder, pending: view.pending !== null, onAnswer: session.answer };
  switch (step.kind) {
    case "wait":
      return <WaitStepView step={step} talking={talking} />;
    case "message":
      return <MessageStepView step={step} {...common} onUpload={session.upload} />;
    case "write":
      return <WriteStepView step={step} {...common} />;
    case "choose":
    case "tick":
      return <SelectStepView step={step} waiting={waiting} {...common} />;
    case "rate":
      return <RateStepView step={step} {...common} />;
    case "form":
      return <FormStepView step={step} {...common} />;
    case "rank":
      return <RankStepView step={step} {...common} />;
    case "topic":
      return <TopicStepView step={step} {...common} />;
    case "feedback":
      return <FeedbackStepView step={step} {...common} />;
    case "end":
      return <EndStepView step={step} delivery={view.delivery} session={session} />;
  }
}
