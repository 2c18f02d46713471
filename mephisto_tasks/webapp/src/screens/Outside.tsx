import { useEffect, useState } from "react";
import type { Outside as OutsideScreen } from "../session/view";
import type { TaskConfig } from "../wire/config";
import { t, tn } from "../language";
import { Button } from "../ui/Button";
import { Dots } from "../ui/Dots";
import { Frame } from "./Frame";
import styles from "./Screens.module.css";

export interface OutsideProps {
  config: TaskConfig;
  screen: OutsideScreen;
  onAskAgain: () => void;
}

/** The study is full right now: says so, counts down to the next try, and needs nobody to press anything. */
export function Outside({ config, screen, onAskAgain }: OutsideProps) {
  const [pressedAt, setPressedAt] = useState<number | null>(null);
  // Read aloud only where somebody pressed the button: every try would be a nuisance.
  const answered = pressedAt !== null && screen.tries > pressedAt;
  return (
    <Frame task={config.title} title={screen.title} lead={screen.reason}>
      <p>{orLeave(config)}</p>
      <p className={styles.doing} aria-hidden="true">
        {screen.nextTryAt === null ? (
          <>
            <Dots /> {t("Asking…")}
          </>
        ) : (
          <Countdown key={screen.nextTryAt} until={screen.nextTryAt} />
        )}
      </p>
      <p role="status" className="visually-hidden">
        {answered ? t("The study is still full. The page keeps trying.") : ""}
      </p>
      <div className={`cluster ${styles.actions}`}>
        <Button
          look="quiet"
          disabled={screen.nextTryAt === null}
          onClick={() => {
            setPressedAt(screen.tries);
            onAskAgain();
          }}
        >
          {t("Try now")}
        </Button>
      </div>
    </Frame>
  );
}

function Countdown({ until }: { until: number }) {
  const [left, setLeft] = useState(() => secondsUntil(until));
  useEffect(() => {
    const timer = setInterval(() => setLeft(secondsUntil(until)), 250);
    return () => clearInterval(timer);
  }, [until]);
  return <>{tn("The next try is in {n} second.", "The next try is in {n} seconds.", left)}</>;
}

function secondsUntil(moment: number): number {
  return Math.max(0, Math.ceil((moment - Date.now()) / 1_000));
}

function orLeave(config: TaskConfig): string {
  if (config.unit !== null) {
    return t("The time for your {unit} keeps running. If you do not want to wait, return the {unit}: that does not count against you.", {
      unit: config.unit,
    });
  }
  if (config.panel) {
    return t("If you do not want to wait, return the task on {panel}.", { panel: config.panel.title });
  }
  return t("You can also close this page, and come back later to the same address.");
}
