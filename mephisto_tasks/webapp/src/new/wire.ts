/** What the page and `parlai-humaneval new` say to each other (mephisto_tasks/cli/new_page.py). */

export type Value = string | number | readonly string[];

export interface Choices {
  technique: string;
  settings: Readonly<Record<string, Value>>;
  /** The smallest difference of two win rates that must be found, 0–1. */
  gap: number;
  power: number;
  /** Dollars an hour. */
  wage: number;
}

export interface TechniqueLine {
  name: string;
  title: string;
  summary: string;
  source: string;
}

export interface Start {
  choices: Choices;
  path: string;
  /** Where files of models are looked for. */
  folder: string;
  techniques: readonly TechniqueLine[];
}

export interface Estimate {
  planned: number | null;
  raters: number;
  hours: number;
  cost: number;
  power: number;
  reward: number;
}

export interface FieldInfo {
  name: string;
  topic: string;
  default: string;
  description: string;
  choices: readonly string[];
  suggestions: readonly string[];
}

export interface Bar {
  technique: string;
  hours: number;
  cost: number;
}

export interface Draft {
  estimate: Estimate | null;
  remark: string;
  problems: readonly string[];
  missing: readonly string[];
  text: string;
  bars: readonly Bar[];
  /** The site's share of the pay, 0–1, in the costs of the bars. */
  fee: number;
  question: string;
  amount: string;
  fields: readonly FieldInfo[];
  others: readonly FieldInfo[];
}

/** Whether figures are of what is chosen now: not while it is typed or computed, nor where no answer came. */
export type Currency = "current" | "typing" | "computing" | "unknown";

export interface Reply {
  model: string;
  reply: string;
  why: string;
}

/** What went wrong, in a sentence for whoever sits at the page. */
export class Problem extends Error {}

const GONE = "The command that serves this page has ended. Start `parlai-humaneval new` again.";

export async function start(): Promise<Start> {
  return answered<Start>(fetch("start"));
}

/** The header is one that a page of another site cannot send. */
export async function ask<T>(what: string, body: object, signal?: AbortSignal): Promise<T> {
  const headers = { "Content-Type": "application/json", "X-Parlai-Humaneval": "order" };
  const options = { method: "POST", headers, body: JSON.stringify(body) };
  return answered<T>(fetch(what, signal ? { ...options, signal } : options));
}

async function answered<T>(response: Promise<Response>): Promise<T> {
  let arrived: Response;
  try {
    arrived = await response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") {
      throw error;
    }
    throw new Problem(GONE);
  }
  const said = (await arrived.json()) as T & { problem?: string };
  if (!arrived.ok) {
    throw new Problem(said.problem ?? GONE);
  }
  return said;
}

export function told(error: unknown): string {
  return error instanceof Problem ? error.message : String(error);
}
