import { render } from "@testing-library/react";
import { vi } from "vitest";
import { INITIAL_VIEW, type View } from "../session/view";
import { Task, type TaskProps } from "../task/Task";
import type { TaskConfig } from "../wire/config";
import type { Answer, PageState } from "../wire/state";
import { CONFIG } from "./fakes";

export const AGENT_ID = "agent";

/** The whole task page around a state; `show` renders the next state (or another view) into the same page. */
export function renderTask(state: PageState, extra: Partial<View> = {}, config: TaskConfig = CONFIG) {
  const onAnswer = vi.fn<TaskProps["session"]["answer"]>();
  const onReconnect = vi.fn();
  const onDeliverAgain = vi.fn();
  const onGoOn = vi.fn();
  const onUpload = vi.fn<TaskProps["session"]["upload"]>();
  const page = (shown: PageState, view: Partial<View>) => (
    <Task
      config={config}
      keptUnder={AGENT_ID}
      state={shown}
      view={{ ...INITIAL_VIEW, link: "open", agentId: AGENT_ID, state: shown, ...view }}
      session={{ answer: onAnswer, upload: onUpload, reconnect: onReconnect, deliverAgain: onDeliverAgain, giveBack: () => undefined, goOn: onGoOn }}
    />
  );
  const { rerender, unmount } = render(page(state, extra));
  return {
    onAnswer,
    onReconnect,
    onDeliverAgain,
    onGoOn,
    onUpload,
    unmount,
    show: (next: PageState, view: Partial<View> = {}) => rerender(page(next, view)),
  };
}

export function pendingAnswer(stepId: string): Answer {
  return { kind: "message", update_id: "x", step_id: stepId, text: "hello" };
}
