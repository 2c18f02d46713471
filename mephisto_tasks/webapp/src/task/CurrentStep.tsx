import { useLayoutEffect, useRef } from "react";
import type { Delivery } from "../session/view";
import type { Answer, AnswerBody } from "../wire/answers";
import { answerableStepId, type PageState } from "../wire/state";
import { NoticeBox } from "./NoticeBox";
import { bringIntoView, noticeFirst, readFromTop, showTop } from "./scroll";
import { EndStepView } from "./steps/EndStepView";
import { FeedbackStepView } from "./steps/FeedbackStepView";
import { MessageStepView } from "./steps/MessageStepView";
import { RateStepView } from "./steps/RateStepView";
import { SelectStepView } from "./steps/SelectStepView";
import { TopicStepView } from "./steps/TopicStepView";
import { WaitStepView } from "./steps/WaitStepView";
import { WriteStepView } from "./steps/WriteStepView";

export interface CurrentStepProps {
  agentId: string;
  state: PageState;
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
export function CurrentStep({ state, ...rest }: CurrentStepProps) {
  const top = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const { step, notice } = state;
  const { delivery } = rest;
  const stepKey = answerableStepId(step) ?? step.kind;

  const fromTop = readFromTop(state);
  const arrived = useRef<string | null>(null);

  useLayoutEffect(() => {
    const again = arrived.current === stepKey;
    arrived.current = stepKey;
    if (fromTop && !again) {
      showTop();
    } else {
      bringIntoView(top.current, bottom.current);
    }
  }, [stepKey, fromTop, notice?.text, notice?.level, delivery.kind]);

  return (
    <>
      <div ref={top} />
      {/* The version is the key, so that the same refusal twice is said twice. */}
      {notice && !noticeFirst(state) && <NoticeBox key={state.version} notice={notice} />}
      <StepView key={stepKey} step={step} {...rest} />
      <div ref={bottom} />
    </>
  );
}

function StepView({
  step,
  agentId,
  pending,
  delivery,
  onAnswer,
  onDeliverAgain,
}: Omit<CurrentStepProps, "state"> & { step: PageState["step"] }) {
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
    case "topic":
      return <TopicStepView step={step} {...common} />;
    case "feedback":
      return <FeedbackStepView step={step} {...common} />;
    case "end":
      return <EndStepView step={step} delivery={delivery} onDeliverAgain={onDeliverAgain} />;
  }
}
