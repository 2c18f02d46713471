import { t } from "../language";
import type { Link } from "../wire/connection";
import { Button } from "../ui/Button";
import { useAfter } from "../ui/useAfter";
import styles from "./Banner.module.css";

/** A line that comes back within this time is nobody's concern. */
export const PATIENCE_MS = 1_500;

export interface BannerProps {
  link: Link;
  /** A sentence of the router; shown while it stands. */
  problem: string | null;
  /** True when nothing more is needed: the line is of no concern, or closed on purpose. */
  quiet: boolean;
  onReconnect: () => void;
}

/** The connection, in words, only when it is bad. */
export function Banner({ link, problem, quiet, onReconnect }: BannerProps) {
  const bad = link !== "open" && !quiet;
  return (
    <div role="status" className={styles.place} data-stick="banner">
      {bad && <Lost onReconnect={onReconnect} />}
      {!bad && problem !== null && <p className={`warning ${styles.banner}`}>{problem}</p>}
    </div>
  );
}

function Lost({ onReconnect }: { onReconnect: () => void }) {
  const due = useAfter(PATIENCE_MS);
  return (
    due && (
      <div className={`warning ${styles.banner}`}>
        <p>{t("Connection lost. Your work is safe; trying again…")}</p>
        <Button look="quiet" onClick={onReconnect}>
          {t("Try now")}
        </Button>
      </div>
    )
  );
}
