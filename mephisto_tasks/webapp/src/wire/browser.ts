/**
 * What this browser shows with a registration, so that the server knows it again after a reload and nobody else can come
 * in its place. A cookie does the same; in the frame of another site a browser may keep only one of the two, or none.
 */
import { nanoid } from "nanoid";

const KEY = "humaneval:browser";
const LENGTH = 43; // 256 bits and some
const GOOD = /^[\w-]{32,128}$/;

let forThisPage: string | null = null;

/** The same for every page of this browser, where it stores anything; else the same until a reload. */
export function browserSecret(): string {
  try {
    const known = window.localStorage.getItem(KEY);
    if (known !== null && GOOD.test(known)) {
      return known;
    }
    const made = forThisPage ?? nanoid(LENGTH);
    window.localStorage.setItem(KEY, made);
    return made;
  } catch {
    forThisPage ??= nanoid(LENGTH);
    return forThisPage;
  }
}
