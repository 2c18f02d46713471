"""Scales at the end of a conversation, as a person answers them: sliders and points, by mouse, finger or keys."""

from __future__ import annotations

import re
from collections.abc import Iterable

from playwright.sync_api import Locator, Position, expect

from .rater import Rater

THUMB_RADIUS = 14
"""The middle of a slider's thumb stays so far from the ends of its line, in CSS pixels."""
NEAR = 0.6
"""How far a pointer's rating may lie from where it was meant, of 100: a pixel is that much on a phone."""


class Scales:
    """The rating step that is on the screen."""

    def __init__(self, rater: Rater) -> None:
        self.rater = rater
        self.page = rater.page

    def statements(self) -> list[str]:
        """Of all scales, in order."""
        return [p.text_content() or "" for p in self.page.locator("[data-scale] > p:first-child").all()]

    def slider(self, statement: str) -> Locator:
        return self.page.get_by_role("slider", name=statement, exact=True)

    def slide(self, statement: str, percent: int) -> None:
        """Put a slider to a place, 0 to 100 from left to right."""
        slider = self.slider(statement)
        if self.rater.hand == "keyboard":
            self._by_keys(slider, percent)
        else:
            self._by_pointer(slider.locator("xpath=.."), percent)
        expect(slider).not_to_have_attribute("data-untouched", "")

    def _by_keys(self, slider: Locator, percent: int) -> None:
        keys = self.page.keyboard
        self.rater.tab_to(slider)
        low = percent < 50
        keys.press("Home" if low else "End")
        tens, ones = divmod(percent if low else 100 - percent, 10)
        for key, times in (("Page", tens), ("Arrow", ones)):
            for _ in range(times):
                keys.press(f"{key}{'Up' if low else 'Down'}")

    def _by_pointer(self, line: Locator, percent: int) -> None:
        line.scroll_into_view_if_needed()
        box = line.bounding_box()
        assert box is not None
        place: Position = {
            "x": THUMB_RADIUS + percent / 100 * (box["width"] - 2 * THUMB_RADIUS),
            "y": box["height"] / 2,
        }
        if self.rater.hand == "finger":
            line.tap(position=place)
        else:
            line.click(position=place)

    def point(self, statement: str, number: int) -> None:
        """Choose a point of a scale."""
        points = self.page.get_by_role("radiogroup", name=statement, exact=True).get_by_role("radio")
        chosen = points.nth(number - 1)
        if self.rater.hand == "keyboard":
            self.rater.tab_to(points.first)
            self.page.keyboard.press(str(number))
        elif self.rater.hand == "finger":
            chosen.locator("xpath=ancestor::label").tap()
        else:
            chosen.locator("xpath=ancestor::label").click()
        expect(chosen).to_be_checked()

    def answered(self, count: int) -> None:
        """The page's own count of them."""
        words = re.compile(rf"^{count} of \d+ answered$")
        expect(self.page.get_by_role("status").filter(has_text=words)).to_be_visible()

    def refused_at(self, field: Locator) -> None:
        """Going on is refused, and the focus is where something is missing."""
        self.rater.press("Continue")
        expect(self.page.get_by_role("alert").last).to_have_text("You have not answered this question yet.")
        expect(field).to_be_focused()

    def slide_all(self, percents: Iterable[int]) -> None:
        for statement, percent in zip(self.statements(), percents, strict=True):
            self.slide(statement, percent)
