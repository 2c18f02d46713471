import { useEffect, useSyncExternalStore } from "react";
import { Consent } from "./screens/Consent";
import { Frame } from "./screens/Frame";
import { Loading } from "./screens/Loading";
import { Outside } from "./screens/Outside";
import { Preview } from "./screens/Preview";
import { Problem } from "./screens/Problem";
import { Refused } from "./screens/Refused";
import type { Session } from "./session/session";
import { Task } from "./task/Task";
import { keptUnder } from "./wire/state";

/** The screen that the session's view asks for. */
export function App({ session }: { session: Session }) {
  const view = useSyncExternalStore(session.subscribe, session.getView);
  const { screen, config } = view;

  useEffect(() => {
    if (config) {
      document.title = config.title;
    }
  }, [config]);

  if (screen.kind === "problem" || screen.kind === "other_window") {
    return <Problem text={screen.text} otherWindow={screen.kind === "other_window"} />;
  }
  if (screen.kind === "loading" || config === null) {
    const loading = screen.kind === "loading" ? screen : { waitingFor: "config" as const, problem: null };
    return <Loading waitingFor={loading.waitingFor} problem={loading.problem} onRetry={session.start} />;
  }
  if (screen.kind === "other_browser") {
    // The task belongs to the browser that began it: this one learns nothing of it but what to do.
    return <Frame task={config.title} title={screen.title} lead={screen.text} />;
  }
  if (screen.kind === "outside") {
    return <Outside config={config} screen={screen} onAskAgain={session.askAgain} />;
  }
  if (screen.kind === "preview") {
    return <Preview config={config} start={screen.start} why={screen.why} onStart={session.begin} onDecline={session.decline} />;
  }
  if (screen.kind === "consent") {
    return <Consent task={config.title} form={screen.form} onAgree={session.agree} onDecline={session.decline} />;
  }
  if (screen.kind === "refused") {
    const practice = view.state?.phase === "practice";
    return <Refused title={config.title} refusal={screen} unit={config.unit} practice={practice} />;
  }
  if (view.state === null || view.agentId === null) {
    return <Loading waitingFor="first_state" problem={null} onRetry={session.start} />;
  }
  return (
    <Task
      key={view.agentId}
      config={config}
      keptUnder={keptUnder(view.state, view.agentId)}
      state={view.state}
      view={view}
      session={session}
    />
  );
}
