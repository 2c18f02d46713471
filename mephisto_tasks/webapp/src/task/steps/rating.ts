/** The rules of a rating: what counts as answered, where a slider's keys lead, and how a position is put in words. Pure. */
import { t } from "../../language";
import type { RateStep, Scale } from "../../wire/state";

/** What the two kinds of a scale's field get. */
export interface RatedProps {
  scale: Scale;
  /** Null until it is touched. */
  value: number | null;
  onChange: (value: number) => void;
  labelledBy: string;
  /** Ids of what stands below. */
  describedBy: string | undefined;
}

export type Ratings = Readonly<Record<string, number>>;

/** The ratings of this step's scales; what a draft holds beyond them, or out of range, is left out. */
export function known(step: RateStep, values: Ratings): Record<string, number> {
  const kept = step.scales.flatMap(({ scale_id: id, minimum, maximum }) => {
    const value = Object.hasOwn(values, id) ? values[id] : undefined;
    return value !== undefined && value >= minimum && value <= maximum ? [[id, value] as const] : [];
  });
  return Object.fromEntries(kept);
}

/** The first scale that was not touched; null when all were. */
export function firstUnanswered(step: RateStep, values: Ratings): Scale | null {
  return step.scales.find(({ scale_id: id }) => !Object.hasOwn(values, id)) ?? null;
}

/** A slider knows a thousand positions or so; on a scale to 100 that is one decimal. */
export function fineStep({ minimum, maximum }: Scale): number {
  return 10 ** Math.floor(Math.log10((maximum - minimum) / 1000));
}

/** The nearest position that a slider knows, within its ends. */
export function snap(scale: Scale, value: number): number {
  const step = fineStep(scale);
  const decimals = Math.max(0, -Math.round(Math.log10(step)));
  const within = Math.min(scale.maximum, Math.max(scale.minimum, value));
  return Number((Math.round(within / step) * step).toFixed(decimals));
}

export function middle(scale: Scale): number {
  return snap(scale, (scale.minimum + scale.maximum) / 2);
}

/** By how much of the scale a key moves a slider. */
const STEPS: ReadonlyMap<string, number> = new Map([
  ["ArrowRight", 0.01],
  ["ArrowUp", 0.01],
  ["ArrowLeft", -0.01],
  ["ArrowDown", -0.01],
  ["PageUp", 0.1],
  ["PageDown", -0.1],
]);

/**
 * Where a key puts a slider; null for a key that is none of a slider's.
 *
 * Home and End go to the ends. An arrow or a page key moves by a hundredth or a tenth of the scale; on a slider that was
 * not touched yet it goes to the middle, from where one can go either way.
 */
export function keyTarget(scale: Scale, value: number | null, key: string): number | null {
  if (key === "Home" || key === "End") {
    return key === "Home" ? scale.minimum : scale.maximum;
  }
  const step = STEPS.get(key);
  if (step === undefined) {
    return null;
  }
  return value === null ? middle(scale) : snap(scale, value + step * (scale.maximum - scale.minimum));
}

/** A slider's position for a screen reader: between its labels, and as free of numbers as it is for the eye. */
export function positionWords(scale: Scale, value: number | null): string {
  if (value === null) {
    return t("not answered");
  }
  const share = (value - scale.minimum) / (scale.maximum - scale.minimum);
  const [end, distance] = share < 0.5 ? [scale.left, share] : [scale.right, 1 - share];
  if (distance > 0.45) {
    return t("about the middle");
  }
  if (distance === 0) {
    return t("at “{end}”", { end });
  }
  if (distance < 0.1) {
    return t("almost at “{end}”", { end });
  }
  return distance < 0.3 ? t("close to “{end}”", { end }) : t("somewhat closer to “{end}”", { end });
}

/** True where the points have names, and not just their numbers for names. */
export function isNamed(scale: Scale): boolean {
  return scale.labels.some((label, index) => label !== String(scale.minimum + index));
}

/** What stands below the ends of a scale. */
export function endsOf(scale: Scale): [string, string] {
  const words = scale.hints.length > 0 ? scale.hints : isNamed(scale) ? scale.labels : [];
  return [words[0] ?? scale.left, words.at(-1) ?? scale.right];
}

/** The whole numbers of a scale of points. */
export function points({ minimum, maximum }: Scale): number[] {
  return Array.from({ length: maximum - minimum + 1 }, (_, index) => minimum + index);
}
