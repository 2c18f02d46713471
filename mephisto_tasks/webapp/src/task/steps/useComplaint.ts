import { useRef, useState } from "react";

type Part = "items" | "reason";

/**
 * What is said to be missing: what was so when the rater last tried to go on, and nothing that came up since.
 *
 * A first try without a word of the reason leads to its field, and is no mistake yet.
 */
export function useComplaint(): [Part | null, (part: Part, untouched: boolean) => void] {
  const tries = useRef(0);
  const [said, setSaid] = useState<Part | null>(null);
  const complain = (part: Part, untouched: boolean) => {
    tries.current += 1;
    setSaid(part === "reason" && untouched && tries.current === 1 ? null : part);
  };
  return [said, complain];
}
