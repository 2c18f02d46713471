import { useEffect, useState } from "react";

/** True once a component has been there for so long. */
export function useAfter(milliseconds: number): boolean {
  const [due, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), milliseconds);
    return () => clearTimeout(timer);
  }, [milliseconds]);
  return due;
}
