import { useEffect, useLayoutEffect, useRef } from "react";

/** Hears what happens anywhere in the window while a component is there; `first`: before those that it happens to. */
export function useListener<K extends keyof WindowEventMap>(name: K, listen: (event: WindowEventMap[K]) => void, first = false): void {
  const latest = useRef(listen);
  useLayoutEffect(() => {
    latest.current = listen;
  });
  useEffect(() => {
    const onEvent = (event: WindowEventMap[K]) => latest.current(event);
    window.addEventListener(name, onEvent, first);
    return () => window.removeEventListener(name, onEvent, first);
  }, [name, first]);
}
