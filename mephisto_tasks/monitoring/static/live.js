// Keeps a page fresh without loading it again: what has changed is replaced part by part, what a reader has opened stays
// open, focus stays where it was, and when no news comes the page says since when.
"use strict";

const EVERY_MS = 3000;
const PATIENCE_MS = 10000;
const live = document.getElementById("live");
const stale = document.getElementById("stale");
let heard = new Date();
let pending = false;

function sameBut(part, openIds) {
  // Compares as the server sent it: what the reader opened is no difference.
  const copy = part.cloneNode(true);
  for (const one of copy.querySelectorAll("details")) one.open = openIds.has(one.id);
  return copy.outerHTML;
}

function replaceParts(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  const opened = new Set([...live.querySelectorAll("details[open]")].map((one) => one.id));
  const focused = document.activeElement && live.contains(document.activeElement) ? document.activeElement.id : "";
  const parts = [...fresh.children];
  const old = [...live.children];
  const alike = parts.length === old.length && parts.every((part, place) => part.id === old[place].id);
  for (const one of fresh.querySelectorAll("details")) one.open = opened.has(one.id);
  if (!alike) live.replaceChildren(...parts);
  else parts.forEach((part, place) => {
    if (sameBut(old[place], opened) !== part.outerHTML) old[place].replaceWith(part);
  });
  if (focused && document.activeElement === document.body) {
    const again = document.getElementById(focused);
    if (again) again.focus({ preventScroll: true });
  }
}

function tell(words) {
  if (stale.textContent !== words) stale.textContent = words;
  stale.hidden = !words;
}

async function refresh() {
  if (pending) return;
  pending = true;
  try {
    const answer = await fetch("part", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) throw new Error(String(answer.status));
    replaceParts(await answer.text());
    heard = new Date();
    tell("");
  } catch {
    tell(`No news since ${heard.toLocaleTimeString()}: the program that serves this page does not answer. What stands ` +
      "here is as of then; it is asked again every few seconds.");
  } finally {
    pending = false;
  }
}

window.refreshNow = refresh;
setInterval(() => { if (!document.hidden) refresh(); }, EVERY_MS);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
