import { Radio, RadioGroup, RadioProvider } from "@ariakit/react/radio";
import { onEnter } from "./keys";
import styles from "./OptionRow.module.css";

export interface OptionRowProps {
  labelledBy: string;
  /** Id of the problem that stands beside; null while there is none. */
  describedBy: string | null;
  options: readonly { id: string; label: string }[];
  value: string | null;
  locked: boolean;
  /** Words, which show the number key that chooses them, or numbers. */
  look?: "words" | "numbers";
  onPick: (id: string) => void;
  /** A pointer has pressed an option. */
  onPressed?: () => void;
  onSend: () => void;
}

/** A few words to choose one of, in a row. */
export function OptionRow({ labelledBy, describedBy, options, value, locked, look = "words", onPick, onPressed, onSend }: OptionRowProps) {
  return (
    <RadioProvider
      value={value}
      setValue={(next) => {
        if (!locked && next !== null) {
          onPick(String(next));
        }
      }}
    >
      <RadioGroup
        className={styles.row}
        data-columns={look === "words" ? options.length : undefined}
        onKeyDown={(event) => onEnter(event, onSend)}
        onClick={({ target, detail }) => target instanceof HTMLInputElement && detail > 0 && onPressed?.()}
        aria-labelledby={labelledBy}
        aria-required
        {...(describedBy === null ? {} : { "aria-invalid": true, "aria-describedby": describedBy })}
      >
        {options.map(({ id, label }, index) => (
          <label key={id} className={[styles.option, id === value ? styles.picked : "", locked ? styles.locked : ""].join(" ")}>
            <Radio value={id} className={styles.input} />
            {look === "words" && index < 9 && (
              <span className={styles.key} aria-hidden="true">
                {index + 1}
              </span>
            )}
            <span>{label}</span>
          </label>
        ))}
      </RadioGroup>
    </RadioProvider>
  );
}
