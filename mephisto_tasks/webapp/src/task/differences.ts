/** Which words of replies stand in no other one, and how they are marked. Pure. */
import { diffArrays } from "diff/lib/diff/array.js";
import type { Markup, Part, Said } from "../wire/state";

/** A part of a text as it is drawn, with words that are marked. */
export type Marked = string | { tag: Part["tag"] | "mark"; start?: number | undefined; parts: readonly Marked[] };

/** Texts that are less alike are taken for different in every word; to compare them to the end would take seconds. */
const MOST_EDITS = 800;

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

interface Piece {
  text: string;
  /** A word, and no space or sign. */
  word: boolean;
}

function pieces(text: string): Piece[] {
  return Array.from(segmenter.segment(text), ({ segment, isWordLike }) => ({ text: segment, word: isWordLike === true }));
}

function wordsOf(markup: Markup): string[] {
  return markup.flatMap((part) =>
    typeof part === "string" ? pieces(part).flatMap(({ text, word }) => (word ? [text] : [])) : wordsOf(part.parts),
  );
}

/** Two replies are alike that share so many of the shorter one's runs of two words, where that has so many at least. */
const ALIKE = 0.1;
const FEWEST = 10;

/** Whether two of the replies are so alike that marks tell where they differ; else nearly every word would be marked. */
export function areAlike(replies: readonly Said[]): boolean {
  const runs = replies.map(({ text, markup }) => {
    const words = wordsOf(markup ?? [text]);
    return new Set(words.slice(1).map((word, index) => `${words[index] ?? ""} ${word}`));
  });
  return runs.some((one, first) =>
    runs.slice(first + 1).some((other) => {
      const least = Math.min(one.size, other.size);
      return least >= FEWEST && [...one].filter((run) => other.has(run)).length >= ALIKE * least;
    }),
  );
}

/** Of every reply, for each of its words in order, whether it stands there in no other reply. */
export function differences(replies: readonly Said[]): boolean[][] {
  const texts = replies.map(({ text, markup }) => wordsOf(markup ?? [text]));
  const only = texts.map((words) => words.map(() => true));
  texts.forEach((one, first) => {
    texts.slice(first + 1).forEach((other, later) => {
      const changes = diffArrays(one, other, { maxEditLength: MOST_EDITS }) ?? [];
      let here = 0;
      let there = 0;
      for (const { added, removed, count } of changes) {
        if (!added && !removed) {
          only[first]?.fill(false, here, here + count);
          only[first + 1 + later]?.fill(false, there, there + count);
        }
        here += added ? 0 : count;
        there += removed ? 0 : count;
      }
    });
  });
  return only;
}

/** The parts with the marked words in parts of their own; what stands between two of them is marked with them. */
export function marked(markup: Markup, marks: readonly boolean[]): Marked[] {
  let at = 0;
  const inText = (text: string): Marked[] => {
    const runs: { marked: boolean; text: string }[] = [];
    let between = "";
    for (const piece of pieces(text)) {
      const last = runs[runs.length - 1];
      if (!piece.word) {
        between += piece.text;
        continue;
      }
      const now = marks[at++] === true;
      if (last?.marked === now) {
        last.text += between + piece.text;
      } else if (now && last !== undefined) {
        last.text += between;
        runs.push({ marked: now, text: piece.text });
      } else {
        runs.push(...(now ? [{ marked: false, text: between }, { marked: now, text: piece.text }] : [{ marked: now, text: between + piece.text }]));
      }
      between = "";
    }
    runs.push({ marked: false, text: between });
    return runs.filter((run) => run.text !== "").map((run) => (run.marked ? { tag: "mark", parts: [run.text] } : run.text));
  };
  const inParts = (parts: Markup): Marked[] =>
    parts.flatMap((part): Marked[] => (typeof part === "string" ? inText(part) : [{ ...part, parts: inParts(part.parts) }]));
  return inParts(markup);
}
