"""One walk past every screen of the task, looking at each: accessibility, width, and a picture."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect

from .axe import Violation, violations
from .rater import PICTURES, Rater, is_bad, is_good

SCREENS = (
    "preview",
    "instructions",
    "practice",
    "practice-feedback",
    "choose",
    "chosen",
    "missing-reason",
    "message",
    "choose-late",
    "feedback",
    "end",
    "taken-part",
    "practice-failed",
)
NARROW: ViewportSize = {"width": 320, "height": 640}
SETTLE_MS = 150


@dataclass
class Look:
    """What one screen showed: grave violations by colour scheme, sideways pixels by window width."""

    violations: dict[str, list[Violation]] = field(default_factory=dict)
    sideways: dict[int, int] = field(default_factory=dict)


class Tour:
    """Looks at screens; pictures ``SCREEN-SHAPE.png`` go to ``$E2E_SCREENSHOTS`` if set, else to ``folder``."""

    def __init__(self, folder: Path, shape: str) -> None:
        named = os.environ.get(PICTURES)
        self.folder = Path(named) if named else folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.shape = shape
        self.looks: dict[str, Look] = {}

    def look(self, page: Page, name: str) -> None:
        look = self.looks[name] = Look()
        page.wait_for_timeout(SETTLE_MS)
        self._picture(page, name)
        own = page.viewport_size
        assert own is not None
        look.sideways[own["width"]] = sideways(page)
        look.violations["light"] = _grave(page)
        if self.shape == "phone":
            page.set_viewport_size(NARROW)
            look.sideways[NARROW["width"]] = sideways(page)
            page.set_viewport_size(own)
        else:
            page.emulate_media(color_scheme="dark")
            look.violations["dark"] = _grave(page, ["color-contrast"])
            self._picture(page, f"{name}-dark")
            page.emulate_media(color_scheme="light")

    def _picture(self, page: Page, name: str) -> None:
        page.screenshot(path=self.folder / f"{name}-{self.shape}.png")

    def walk(self, rater: Rater) -> None:
        """From the preview to the thanks, then two people who are turned away."""
        page = rater.page
        page.goto(rater.url)
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        self.look(page, "preview")
        worker = rater.start_from_preview()
        expect(page.get_by_role("dialog", name="Instructions")).to_be_visible()
        self.look(page, "instructions")
        rater.close_instructions()
        rater.cards()
        self.look(page, "practice")
        rater.practise(is_bad)
        expect(page.get_by_role("alert")).to_contain_text("not what we look for")
        self.look(page, "practice-feedback")
        rater.practise(is_good)
        self._talk(rater)
        rater.finish()
        self.look(page, "end")
        rater.arrive(worker, "another")
        expect(page.get_by_role("heading", name="There is no conversation for you here")).to_be_visible()
        self.look(page, "taken-part")
        rater.arrive(f"tour-fails-{self.shape}")
        rater.practise(is_bad)
        rater.practise(is_bad)
        expect(page.get_by_role("heading", name="There is no conversation for you here")).to_be_visible()
        self.look(page, "practice-failed")

    def _talk(self, rater: Rater) -> None:
        page = rater.page
        rater.progress("Turn 1 of 6")
        rater.cards()
        self.look(page, "choose")
        rater.choose(2)
        self.look(page, "chosen")
        rater.write("Nice.")
        rater.send("Continue")
        expect(page.get_by_role("alert")).to_be_visible()
        self.look(page, "missing-reason")
        rater.write(" It is friendly.")
        rater.send("Continue")
        expect(page.get_by_label("Write your next message")).to_be_visible()
        rater.write("I spend my weekends mending old bicycles. What about you?")
        self.look(page, "message")
        rater.send("Send")
        for turn in range(2, 7):
            rater.progress(f"Turn {turn} of 6")
            if turn > 2:
                rater.say(f"Message number {turn}: what would you do about it?")
            rater.cards()
            if turn == 5:
                self.look(page, "choose-late")
            rater.rate(1 + turn % 2, "It takes up what I said.")
        expect(page.get_by_role("heading", name="One last thing")).to_be_visible()
        self.look(page, "feedback")


def sideways(page: Page) -> int:
    """Pixels that the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def _grave(page: Page, rules: list[str] | None = None) -> list[Violation]:
    return [violation for violation in violations(page, rules) if violation.grave]
