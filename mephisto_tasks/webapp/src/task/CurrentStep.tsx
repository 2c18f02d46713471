import { useLayoutEffect, useRef } from "react";
import type { Delivery } from "../session/view";
import type { Answer, AnswerBody } from "../wire/answers";
import { answerableStepId, type PageState } from "../wire/state";
import { Dock } from "./Dock";
import type { Item } from "./item";
import { Dialogues, dialogueNames, JumpBar, STEP_ID } from "./JumpBar";
import { NoticeBox } from "./NoticeBox";
import { useOnePress } from "./onePress";
import { bringIntoView, noticeFirst, readFromTop, showTop } from "./scroll";
import { EndStepView } from "./steps/EndStepView";
import { FeedbackStepView } from "./steps/FeedbackStepView";
import { FormStepView } from "./steps/FormStepView";
import { MessageStepView } from "./steps/MessageStepView";
import { RankStepView } from "./steps/RankStepView";
import { RateStepView } from "./steps/RateStepView";
import { SelectStepView } from "./steps/SelectStepView";
import { TopicStepView } from "./steps/TopicStepView";
import { WaitStepView } from "./steps/WaitStepView";
import { WriteStepView } from "./steps/WriteStepView";

export interface CurrentStepProps {
  agentId: string;
  state: PageState;
  item: Item;
  pending: Answer | null;
  delivery: Delivery;
  onAnswer: (body: AnswerBody) => void;
  onDeliverAgain: () => void;
}

/**
 * The notice about the last answer and the step that awaits the next one.
 *
 * A step keeps its identity (and so its draft and focus) while its `step_id` stays the same, as after a refusal.
 */
export function CurrentStep({ state, item, ...rest }: CurrentStepProps) {
  const top = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const { step, notice } = state;
  const { delivery } = rest;
  const stepKey = answerableStepId(step) ?? step.kind;
  useOnePress(stepKey);

  const fromTop = readFromTop(state);
  const arrived = useRef<string | null>(null);
  const read = useRef(0);

  useLayoutEffect(() => {
    const again = arrived.current === stepKey;
    const newItem = item.number > 0 && read.current !== item.number;
    arrived.current = stepKey;
    read.current = item.number;
    if (newItem || (fromTop && !again)) {
      showTop();
    } else {
      bringIntoView(top.current, bottom.current);
    }
  }, [stepKey, fromTop, item.number, notice?.text, notice?.level, delivery.kind]);

  const content = (
    <>
      {/* The version is the key, so that the same refusal twice is said twice. */}
      {notice && !noticeFirst(state, item) && <NoticeBox key={state.version} notice={notice} />}
      <StepView key={stepKey} step={step} {...rest} />
    </>
  );
  return (
    <Dialogues value={dialogueNames(state.panels)}>
      <div ref={top} id={STEP_ID} />
      {step.kind === "form" && state.panels.length > 0 ? (
        <>
          <JumpBar key={item.number} sticky />
          <Dock>{content}</Dock>
        </>
      ) : (
        content
      )}
      <div ref={bottom} />
    </Dialogues>
  );
}

function StepView({
  step,
  agentId,
  pending,
  delivery,
  onAnswer,
  onDeliverAgain,
}: Omit<CurrentStepProps, "state" | "item"> & { step: PageState["step"] }) {
  const common = { agentId, pending: pending !== null, onAnswer };
  switch (step.kind) {
    case "wait":
      return <WaitStepView step={step} />;
    case "message":
      return <MessageStepView step={step} {...common} />;
    case "write":
      return <WriteStepView step={step} {...common} />;
    case "choose":
    case "tick":
      return <SelectStepView step={step} {...common} />;
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
      return <EndStepView step={step} delivery={delivery} onDeliverAgain={onDeliverAgain} />;
  }
}
