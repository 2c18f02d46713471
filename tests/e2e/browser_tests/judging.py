"""A person who reads finished dialogues and answers a form, a ranking or scales beneath them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import FloatRect, Locator, expect

from .rater import MOST_TABS, Rater

# One call for all: asked one by one, two long dialogues take a second.
_LINES = """
panels => panels.map(panel => [...panel.querySelectorAll('ol > li')].map(line => [
  line.dataset.speaker, line.dataset.judged === 'true', [...line.querySelectorAll('[data-said]')].at(-1).textContent,
]))
"""


@dataclass(frozen=True)
class Line:
    """A line as it is shown; ``judged``: of the marked speaker."""

    speaker: str
    judged: bool
    text: str


class Judging:
    """The item that is on the screen."""

    def __init__(self, rater: Rater) -> None:
        self.rater = rater
        self.page = rater.page

    # -- what is on the screen

    def panels(self, count: int) -> Locator:
        """The dialogues, once so many are there."""
        panels = self.page.get_by_test_id("panel")
        expect(panels).to_have_count(count)
        return panels

    def lines(self, count: int) -> list[list[Line]]:
        """What is said in each of so many dialogues."""
        found: list[list[list[Any]]] = self.panels(count).evaluate_all(_LINES)
        return [[Line(*line) for line in panel] for panel in found]

    def replies(self, count: int) -> list[str]:
        """The replies that are to be put in order, as they stand."""
        cards = self.page.locator("li[data-card] [data-said]")
        expect(cards).to_have_count(count)
        return cards.all_text_contents()

    def boxes(self, count: int) -> list[FloatRect]:
        """Where each dialogue stands in the window."""
        return [box_of(panel) for panel in self.panels(count).all()]

    def at_top(self) -> None:
        """The page is at its beginning, and the focus on the first dialogue's name: it is read from there on."""
        # Not to_be_focused: it also wants the window to be in front, which depends on what other tests have open.
        expect(self.page.locator("#panel-0:focus")).to_have_count(1)
        assert self.page.evaluate("window.scrollY") == 0

    # -- doing

    def question(self, text: str) -> Locator:
        """A question of a form, by its words."""
        return self.page.get_by_role("radiogroup", name=text, exact=True)

    def picked(self, text: str, option: str) -> None:
        expect(self.question(text).get_by_role("radio", name=option, exact=True)).to_be_checked()

    def pick(self, text: str, option: str) -> None:
        """Answer a question of a form; by keys with Tab before, where the page would take the digit for another one."""
        radios = self.question(text).get_by_role("radio")
        radio = self.question(text).get_by_role("radio", name=option, exact=True)
        if self.rater.hand == "keyboard":
            self._go_to(text)
            values = [one.get_attribute("value") for one in radios.all()]
            key = str(1 + values.index(radio.get_attribute("value")))
            typing = self.page.evaluate("document.activeElement?.tagName === 'TEXTAREA'")
            self.page.keyboard.press(f"Alt+{key}" if typing else key)
        else:
            label = radio.locator("xpath=ancestor::label")
            label.tap() if self.rater.hand == "finger" else label.click()
        expect(radio).to_be_checked()

    def _go_to(self, text: str) -> None:
        """A digit answers the question that has the focus, else the first open one."""
        groups = self.page.get_by_role("radiogroup").all()
        focused = [group for group in groups if _holds_focus(group)]
        open_ones = [group for group in groups if group.get_by_role("radio", checked=True).count() == 0]
        answered_next = [*focused, *open_ones, *groups][0]
        if answered_next.get_attribute("aria-labelledby") == self.question(text).get_attribute("aria-labelledby"):
            return
        for _ in range(MOST_TABS):
            if _holds_focus(self.question(text)):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {text!r} within {MOST_TABS} presses")

    def rank(self, places: Sequence[int]) -> None:
        """Give each reply its place, in shown order."""
        for letter, place in zip("ABCDEFGH", places, strict=False):
            self.pick(f"Rank of reply {letter}", str(place))


def _holds_focus(group: Locator) -> bool:
    holds: bool = group.evaluate("e => e.contains(document.activeElement)")
    return holds


def box_of(place: Locator) -> FloatRect:
    box = place.bounding_box()
    assert box is not None
    return box


def in_view(place: Locator) -> bool:
    """Whether the whole of it can be seen without scrolling."""
    seen: bool = place.evaluate(
        "e => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= window.innerHeight + 1; }"
    )
    return seen
