/** The window's title calls back whoever is elsewhere while the page waits for them. */
import { useEffect } from "react";

const CALL = "Your turn – ";

export function useTitle(title: string, awaited: boolean): void {
  useEffect(() => {
    const show = () => {
      document.title = (awaited && document.hidden ? CALL : "") + title;
    };
    show();
    document.addEventListener("visibilitychange", show);
    return () => document.removeEventListener("visibilitychange", show);
  }, [title, awaited]);
}
