"""A person at the page: sees what is on the screen, and uses a mouse, a finger or only the keyboard."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Frame, Locator, Page, expect

from .study import good_replies
from .watch import Watch

Hand = Literal["mouse", "finger", "keyboard"]
MOST_TABS = 40
PICTURES = "E2E_SCREENSHOTS"
"""Environment variable: a folder for pictures of the screens."""
INPUTS = "main form input:is([type=radio], [type=checkbox])"
NUMBERED = "main form label:has(input):has(> [data-number])"
"""Labels of what has a number beside its text and its tick: all that can be chosen but “none”."""


_READ = """
async () => {
  for (const end of document.querySelectorAll("[data-end]")) {
    end.querySelector("[aria-expanded=false]")?.click();
    for (let frame = 0; frame < 2; frame += 1) {
      await new Promise(requestAnimationFrame);
      scrollBy(0, end.firstElementChild.getBoundingClientRect().bottom - 0.4 * innerHeight);
    }
    await new Promise(requestAnimationFrame);
  }
}
"""


@dataclass(frozen=True)
class Card:
    """A candidate as the page holds it: its opaque id, and the text that is shown."""

    candidate_id: str
    text: str


class Rater:
    """Drives one page. Every method waits for what it needs to see, and fails if it does not come.

    ``screen``: where the task is: the page itself, unless a frame of it is named.
    """

    def __init__(
        self, page: Page, url: str, watch: Watch, hand: Hand = "mouse", screen: Page | Frame | None = None
    ) -> None:
        self.page = page
        self.screen: Page | Frame = screen or page
        self.watch = watch
        self.hand = hand
        self.url = url
        self._last_card = ""

    # -- coming and going

    def arrive(self, worker: str, assignment: str = "a1") -> None:
        """Open the task as this worker."""
        self.page.goto(f"{self.url}?{urlencode({'worker_id': worker, 'assignment_id': assignment})}")

    def start_from_preview(self) -> str:
        """Open the bare address and start; the worker's made-up name."""
        self.page.goto(self.url)
        self.press("Start")
        self.page.wait_for_url("**worker_id=**&sig=**")
        return parse_qs(urlsplit(self.page.url).query)["worker_id"][0]

    def another_tab(self) -> Rater:
        """One more of the same browser."""
        return Rater(self.page.context.new_page(), self.url, self.watch, self.hand)

    def sees_task(self) -> None:
        """The task is there, and nothing lies over it."""
        expect(self.screen.get_by_role("banner")).to_be_visible()
        expect(self.screen.get_by_role("dialog")).to_have_count(0)

    # -- what is on the screen

    def progress(self, text: str) -> None:
        """The place in the task, as the header says it."""
        expect(self.screen.get_by_role("banner").get_by_text(text, exact=True)).to_be_visible()

    def within(self, *texts: str) -> None:
        """The same in two parts: conversation and turn."""
        for text in texts:
            expect(self.screen.get_by_role("banner").get_by_role("paragraph")).to_contain_text(text)

    def question(self) -> str:
        return self.screen.locator("#question").inner_text()

    def cards(self, count: int = 2) -> list[Card]:
        """The replies of a step that was not answered yet, in shown order; an explicit “none” is not one of them."""
        numbered = self.screen.locator(NUMBERED)
        expect(numbered).to_have_count(count)
        first = numbered.first.locator("input")
        if self._last_card:
            expect(first).not_to_have_attribute("value", self._last_card)
        return [
            Card(
                # Of checkboxes the page shows no id.
                candidate_id=label.locator("input").get_attribute("value") or "",
                text=label.locator("[data-said]").text_content() or "",
            )
            for label in numbered.all()
        ]

    def options(self) -> list[str]:
        """The words of all that can be chosen but “none”, where they are not replies."""
        return [label.locator("[data-said]").text_content() or "" for label in self.screen.locator(NUMBERED).all()]

    def transcript(self) -> list[tuple[str, str]]:
        """(speaker, text) of every line above the current step."""
        lines = self.screen.get_by_role("log").locator("li")
        return [
            (line.get_attribute("data-speaker") or "", line.locator("p").first.text_content() or "")
            for line in lines.all()
        ]

    def persona(self) -> list[str]:
        card = self.screen.locator("section").filter(has=self.screen.get_by_role("button", name="Your character"))
        return [line.text_content() or "" for line in card.locator("li").all()]

    def picture(self, name: str) -> None:
        """Keep ``NAME.png`` of what is on the screen, where ``$E2E_SCREENSHOTS`` asks for pictures."""
        folder = os.environ.get(PICTURES)
        if folder:
            self.page.screenshot(path=Path(folder) / f"{name}.png")

    # -- doing

    def press(self, name: str, *, unavailable: bool = False) -> None:
        """Press a button by its words, in the dialog if one is open; ``unavailable``: though it is announced as disabled."""
        button = self._here().get_by_role("button", name=name, exact=True)
        expect(button).to_be_visible()
        self.read()
        if self.hand == "keyboard":
            self.tab_to(button)
            self.page.keyboard.press("Enter")
        elif self.hand == "finger":
            button.tap(force=unavailable)
        else:
            button.click(force=unavailable)

    def read(self) -> None:
        """All that is judged, to its end: the page takes no choice before."""
        if self.screen.get_by_role("dialog").count() == 0:
            self.screen.evaluate(_READ)

    def choose(self, *numbers: int) -> None:
        """Choose the cards or options with these numbers."""
        for number in numbers:
            self._choose(self.screen.locator(INPUTS).nth(number - 1), str(number))

    def choose_none(self) -> None:
        """The explicit “none”, which stands last."""
        self._choose(self.screen.locator(INPUTS).last, "0")

    def _choose(self, option: Locator, key: str) -> None:
        if self.hand == "keyboard":
            # In a text field a digit is a digit.
            typing = self.screen.evaluate("document.activeElement?.tagName === 'TEXTAREA'")
            self.page.keyboard.press(f"Alt+{key}" if typing else key)
        else:
            label = option.locator("xpath=ancestor::label")
            label.tap() if self.hand == "finger" else label.click()
        expect(option).to_be_checked()

    def write(self, text: str) -> None:
        """Write into the text field of the step, at its end; a line break is Shift+Enter.

        By keyboard alone it is key by key, when every digit might be taken for a shortcut. Otherwise a line comes as one
        input, as from a phone's keyboard, and its last character by its key: each key is a hundredth of a processor second.
        """
        field = self._here().get_by_role("textbox")
        if self.hand == "keyboard":
            self.tab_to(field)
        elif self.hand == "finger":
            field.tap()
        else:
            field.click()
        self.page.keyboard.press("Control+End")
        for number, line in enumerate(text.split("\n")):
            if number:
                self.page.keyboard.press("Shift+Enter")
            if self.hand != "keyboard" and line:
                self.page.keyboard.insert_text(line[:-1])
                line = line[-1]
            self.page.keyboard.type(line)

    def send(self, button: str) -> None:
        """Send the step: by Enter with the keyboard, else by its button."""
        radio = self.screen.get_by_role("radio").first
        self._last_card = (radio.get_attribute("value") or "") if radio.count() else self._last_card
        if self.hand == "keyboard" and button in ("Continue", "Send"):
            self.read()
            self.page.keyboard.press("Enter")
        else:
            self.press(button)

    def rate(self, number: int, reason: str) -> list[Card]:
        """Choose, say why, go on; the cards as they were shown."""
        cards = self.cards()
        self.choose(number)
        self.write(reason)
        self.send("Continue")
        return cards

    def say(self, text: str) -> None:
        """Write a message and send it."""
        self.may_write()
        self.write(text)
        self.send("Send")

    def may_write(self) -> None:
        """The message field is there."""
        expect(self.screen.get_by_label(re.compile("Write your (first|next) message"))).to_be_visible()

    def ask_and_confirm(self, name: str, *, sure: bool = True) -> None:
        """An action that asks once more."""
        self.press(name)
        expect(self.screen.get_by_role("dialog", name=name)).to_be_visible()
        self.press(name if sure else "Cancel")
        expect(self.screen.get_by_role("dialog")).to_have_count(0)

    def practise(self, like: Callable[[Card], bool], items: int = 4) -> None:
        """Go once through the practice, each time choosing the first card that is liked."""
        for number in range(1, items + 1):
            self.progress(f"Practice {number} of {items}")
            cards = self.cards()
            self.choose(next(place for place, card in enumerate(cards, start=1) if like(card)))
            self.send("Continue")

    def enter_conversation(self, worker: str) -> None:
        """Arrive as a new worker and pass the practice."""
        self.arrive(worker)
        self.sees_task()
        self.practise(is_good)
        self.progress("Turn 1 of 6")

    def finish(self, feedback: str = "") -> None:
        """The comment box, and the submit."""
        heading = self.screen.get_by_role("heading", name="One last thing")
        expect(heading).to_be_visible()
        if self.hand != "keyboard":
            heading.click()  # else the next press, in the same place, would be the second half of a double one
        if feedback:
            self.write(feedback)
        self.send("Finish")
        expect(self.screen.get_by_text("Your work has been sent. You can close this page.")).to_be_visible()

    def _here(self) -> Page | Frame | Locator:
        dialog = self.screen.get_by_role("dialog")
        return dialog if dialog.count() else self.screen

    def tab_to(self, target: Locator) -> None:
        """Press Tab until the focus is there."""
        for _ in range(MOST_TABS):
            if target.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {target} within {MOST_TABS} presses")


def is_good(card: Card) -> bool:
    """The better practice reply."""
    return card.text in good_replies()


def is_bad(card: Card) -> bool:
    """The worse practice reply."""
    return not is_good(card)
