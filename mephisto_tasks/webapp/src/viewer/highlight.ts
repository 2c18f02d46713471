import { plain } from "./search";

interface Highlights {
  set(name: string, highlight: unknown): void;
  delete(name: string): void;
}

/** Marks words in the texts of an element, where the browser can do it without changing them; returns the places. */
export function highlight(root: HTMLElement | null, words: readonly string[]): Range[] {
  const { highlights } = (globalThis as { CSS?: { highlights?: Highlights } }).CSS ?? {};
  const { Highlight: Made } = globalThis as { Highlight?: new (...ranges: Range[]) => unknown };
  highlights?.delete("found");
  const ranges: Range[] = [];
  const walker = root && words.length > 0 ? document.createTreeWalker(root, NodeFilter.SHOW_TEXT) : null;
  for (let node = walker?.nextNode(); node; node = walker?.nextNode()) {
    const text = plain(node.textContent ?? "");
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0 && text.length === node.textContent?.length; at = text.indexOf(word, at + 1)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        ranges.push(range);
      }
    }
  }
  if (Made) {
    highlights?.set("found", new Made(...ranges));
  }
  return ranges;
}

/** Scrolls the element around `root` to a place, a third from its top, and unfolds what it is in. */
export function scrollTo(root: HTMLElement | null, place: Range): void {
  const scroller = root?.parentElement;
  place.startContainer.parentElement?.closest("details")?.setAttribute("open", "");
  if (scroller) {
    const { top, height } = scroller.getBoundingClientRect();
    scroller.scrollTop += place.getBoundingClientRect().top - top - height / 3;
  }
}
