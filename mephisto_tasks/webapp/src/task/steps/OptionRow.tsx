import { Radio, RadioGroup, RadioProvider } from "@ariakit/react/radio";
import type { ComponentProps, ReactNode } from "react";
import { onEnter } from "./keys";
import { picking, useStep } from "./StepShell";
import styles from "./OptionRow.module.css";

export interface RadiosProps extends Omit<ComponentProps<typeof RadioGroup>, "onChange"> {
  labelledBy: string;
  /** Ids of what stands beside or below. */
  describedBy: string | undefined;
  options: readonly { id: string; label: ReactNode }[];
  value: string | null;
  /** Of each option. */
  looks: string | undefined;
  onPick: (id: string) => void;
}

/** A radio button for each of a few options; each says what it is by its label. */
export function Radios({ labelledBy, describedBy, options, value, looks, onPick, ...rest }: RadiosProps) {
  const { pending, send } = useStep();
  return (
    <RadioProvider
      value={value}
      setValue={(next) => {
        if (!pending && next !== null) {
          onPick(String(next));
        }
      }}
    >
      <RadioGroup onKeyDown={(event) => onEnter(event, send)} aria-labelledby={labelledBy} aria-describedby={describedBy} aria-required {...rest}>
        {options.map(({ id, label }) => (
          <label key={id} {...picking(`option ${looks}`, id === value, pending)}>
            <Radio value={id} />
            {label}
          </label>
        ))}
      </RadioGroup>
    </RadioProvider>
  );
}

export interface OptionRowProps extends Pick<RadiosProps, "labelledBy" | "describedBy" | "value" | "onPick"> {
  options: readonly { id: string; label: string }[];
  /** Words, which show the number key that chooses them, or numbers. */
  look?: "words" | "numbers";
  /** A pointer has pressed an option. */
  onPressed?: () => void;
}

/** A few words to choose one of, in a row. `describedBy`: the problem that stands beside. */
export function OptionRow({ options, look = "words", onPressed, ...rest }: OptionRowProps) {
  const label = (text: string, index: number) => (
    <>
      {look === "words" && index < 9 && (
        <span className={`soft ${styles.key}`} aria-hidden="true">
          {index + 1}
        </span>
      )}
      <bdi>{text}</bdi>
    </>
  );
  return (
    <Radios
      {...rest}
      className={styles.row}
      looks={styles.option}
      options={options.map((option, index) => ({ id: option.id, label: label(option.label, index) }))}
      data-columns={look === "words" ? options.length : undefined}
      aria-invalid={rest.describedBy === undefined ? undefined : true}
      onClick={({ target, detail }) => target instanceof HTMLInputElement && detail > 0 && onPressed?.()}
    />
  );
}
