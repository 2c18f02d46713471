import styles from "./NewStudy.module.css";
import type { Bar, Currency, TechniqueLine } from "./wire";

interface Props {
  techniques: readonly TechniqueLine[];
  bars: readonly Bar[];
  fee: number;
  currency: Currency;
  chosen: string;
  onChange: (name: string) => void;
}

/** Techniques to choose from, the cheapest for the gap first, each with its cost as a bar. */
export function Techniques({ techniques, bars, fee, currency, chosen, onChange }: Props) {
  const least = new Map<string, Bar>();
  for (const bar of bars) {
    if (!least.has(bar.technique)) {
      least.set(bar.technique, bar);
    }
  }
  const most = Math.max(1, ...[...least.values()].map((bar) => bar.cost));
  const cost = ({ name }: TechniqueLine) => least.get(name)?.cost ?? Infinity;
  return (
    <fieldset className={styles.group} aria-busy={currency !== "current"}>
      <legend>Technique</legend>
      <p className={styles.about}>
        {`Cost and hours to find your gap, with rewards at your hourly wage and ${fee > 0 ? "a typical" : "no"} site fee.`}
      </p>
      {[...techniques]
        .sort((a, b) => cost(a) - cost(b))
        .map((one) => {
          const bar = least.get(one.name);
          return (
            <label key={one.name} className={styles.technique}>
              <input type="radio" name="technique" checked={chosen === one.name} onChange={() => onChange(one.name)} />
              <span>
                <span className="strong">{one.title}</span>
                {bar && <span className={styles.price}>{` $${amount(bar.cost)}, ${amount(bar.hours)} hours`}</span>}
                <span className={styles.about}>{` ${one.summary} (${one.source})`}</span>
                {bar && (
                  <svg className={styles.bar} viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                    <rect width={Math.max(0.5, (100 * bar.cost) / most)} height="1" />
                  </svg>
                )}
              </span>
            </label>
          );
        })}
    </fieldset>
  );
}

export function amount(number: number): string {
  return Math.round(number).toLocaleString("en");
}
