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

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-order]");
  if (!button || ask.open) return;
  asked = { id: button.id, order: JSON.parse(button.dataset.order), number: "number" in button.dataset };
  document.getElementById("ask-title").textContent = button.getAttribute("aria-label") || button.textContent;
  document.getElementById("ask-words").textContent = button.dataset.asks;
  document.getElementById("ask-number").hidden = !asked.number;
  count.disabled = !asked.number;
  ask.returnValue = "no";
  ask.showModal();
});

ask.addEventListener("close", async () => {
  const { id, order, number } = asked;
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
    say((await answer.json()).words);
  } catch {
    say("The order could not be given: the program that serves this page does not answer. Try again.");
  }
  window.refreshNow();
});
