const LETTER = /[\p{L}\p{N}]/u;

/** Runs of Chinese characters and Japanese kana, which are written without spaces between words. */
const UNSPACED = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+/gu;

/** Words as the server counts them: runs between white space that hold a letter or digit; of characters, three are two words. */
export function countWords(text: string): number {
  return text
    .split(/\s+/u)
    .filter((run) => LETTER.test(run))
    .reduce((sum, run) => sum + wordsIn(run), 0);
}

function wordsIn(run: string): number {
  const unspaced = (run.match(UNSPACED) ?? []).reduce((sum, found) => sum + found.length, 0);
  if (unspaced === 0) {
    return 1;
  }
  const spaced = run.replace(UNSPACED, " ").split(" ").filter((part) => LETTER.test(part)).length;
  return spaced + Math.ceil(unspaced / 1.5);
}

/** Characters as Python counts them: code points, not UTF-16 units. */
export function countCharacters(text: string): number {
  return Array.from(text).length;
}

/** “12,345”. */
export function digits(count: number): string {
  return count.toLocaleString(document.documentElement.lang || "en");
}
