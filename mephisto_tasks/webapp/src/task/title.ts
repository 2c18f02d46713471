/** The window's title calls back whoever is elsewhere while the page waits for them. */
import { useEffect } from "react";
import { t } from "../language";

export function useTitle(title: string, awaited: boolean): void {
  useEffect(() => {
    const show = () => {
      document.title = awaited && document.hidden ? t("Your turn – {title}", { title }) : title;
    };
    show();
    document.addEventListener("visibilitychange", show);
    return () => document.removeEventListener("visibilitychange", show);
  }, [title, awaited]);
}
