// Buttons that give orders: each asks once, with what it will do.
"use strict";

const ask = document.getElementById("ask");
const told = document.getElementById("told");
const count = document.getElementById("ask-count");
let asked = null;

function say(words) {
  told.textContent = words;
  told.hidden = false;
}

function askFirst(question) {
  asked = question;
  document.getElementById("ask-title").textContent = question.title;
  document.getElementById("ask-words").textContent = question.words;
  document.getElementById("ask-number").hidden = !question.number;
  count.disabled = !question.number;
  ask.returnValue = "no";
  ask.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-order]");
  if (!button || ask.open) return;
  askFirst({
    id: button.id,
    title: button.getAttribute("aria-label") || button.textContent,
    words: button.dataset.asks,
    order: JSON.parse(button.dataset.order),
    number: "number" in button.dataset,
  });
});

ask.addEventListener("close", async () => {
  const { id, title, order, number } = asked;
  const again = document.getElementById(id);  // the button may have been drawn anew meanwhile
  if (again) again.focus({ preventScroll: true });
  if (ask.returnValue !== "yes") return;
  const whole = number ? { ...order, number: Number(count.value) } : order;
  try {
    const answer = await fetch("order", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Parlai-Humaneval": "order" },
      body: JSON.stringify(whole),
    });
    const told = await answer.json();
    if (told.asks) {  // what it can cost, which is agreed to as it is written
      askFirst({ id, title, words: told.words, order: { ...whole, agreed: told.words }, number: false });
      return;
    }
    say(told.words);
  } catch {
    say("The order could not be given: the program that serves this page does not answer. Try again.");
  }
  window.refreshNow();
});
