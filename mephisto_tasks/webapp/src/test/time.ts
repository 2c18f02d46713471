import { act } from "@testing-library/react";
import { vi } from "vitest";

/** Lets time pass on fake timers, with React's updates done afterwards. */
export function pass(milliseconds: number): void {
  act(() => {
    vi.advanceTimersByTime(milliseconds);
  });
}

/** A click without user-event's own timers, for tests on fake ones. */
export function press(button: HTMLElement): void {
  act(() => {
    button.click();
  });
}
