import { useId } from "react";
import styles from "./NewStudy.module.css";
import { useTyped } from "./useTyped";
import type { FieldInfo } from "./wire";

interface Props {
  field: FieldInfo;
  label?: string;
  value: string;
  /** What holds while the field is empty. */
  placeholder?: string;
  hint?: string;
  onChange: (value: string) => void;
}

/** Settings whose values are sentences. */
const LONG = new Set(["question", "pay", "task_description"]);

/** A setting, or something else that is asked for. */
export function Field({ field, label, value, placeholder, hint, onChange }: Props) {
  const id = useId();
  const typed = useTyped(value, onChange);
  const common = { id, "aria-describedby": `${id}-about`, ...typed };
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label ?? capitalised(field.name)}</label>
      {field.choices.length > 0 ? (
        <select
          id={id}
          aria-describedby={`${id}-about`}
          value={value === "" ? field.default : value}
          onChange={(event) => onChange(event.target.value)}
        >
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : LONG.has(field.name) ? (
        <textarea {...common} rows={3} placeholder={placeholder} />
      ) : (
        <input
          {...common}
          list={field.suggestions.length > 0 ? `${id}-list` : undefined}
          placeholder={placeholder ?? field.default}
        />
      )}
      {field.suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {field.suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      <p id={`${id}-about`} className={styles.about}>
        {hint ?? field.description}
      </p>
    </div>
  );
}

function capitalised(name: string): string {
  const words = name.replace(/[_.]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
