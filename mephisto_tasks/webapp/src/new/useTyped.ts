import { useState } from "react";

/** What is typed in a field, until its value changes elsewhere. */
export function useTyped(value: string): [string, (typed: string) => void] {
  const [state, setState] = useState({ value, typed: value });
  const typed = state.value === value ? state.typed : value;
  return [typed, (next) => setState({ value, typed: next })];
}
