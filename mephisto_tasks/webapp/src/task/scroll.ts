/** Where the page scrolls to when the current step changes. */

/** Shows the whole of what lies between the two marks if it fits, else its beginning. */
export function bringIntoView(top: HTMLElement | null, bottom: HTMLElement | null): void {
  if (top === null || bottom === null) {
    return;
  }
  const start = top.getBoundingClientRect().top + window.scrollY;
  const end = bottom.getBoundingClientRect().bottom + window.scrollY;
  const header = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  const room = window.innerHeight - header;
  const margin = 16;
  const target = end - start <= room - margin ? end - window.innerHeight + margin : start - header;
  if (target > window.scrollY || start - header < window.scrollY) {
    window.scrollTo({ top: Math.max(0, target), behavior: calmMotion() ? "auto" : "smooth" });
  }
}

function calmMotion(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
