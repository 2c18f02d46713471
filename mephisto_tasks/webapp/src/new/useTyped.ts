import { type ChangeEvent, type KeyboardEvent, useState } from "react";

type Control = HTMLInputElement | HTMLTextAreaElement;

/** A field whose text counts when it is left, or with Enter, so that nothing is computed at each key. */
export function useTyped(value: string, onChange: (value: string) => void) {
  const [state, setState] = useState({ value, typed: value });
  const typed = state.value === value ? state.typed : value;
  const commit = () => {
    if (typed.trim() !== value) {
      onChange(typed.trim());
    }
  };
  return {
    value: typed,
    onChange: (event: ChangeEvent<Control>) => setState({ value, typed: event.target.value }),
    onBlur: commit,
    onKeyDown: (event: KeyboardEvent<Control>) => {
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        commit();
      }
    },
  };
}
