"""Looking at a screen: accessibility, width, and a picture."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page, ViewportSize

from .axe import Violation, violations
from .rater import PICTURES

NARROW: ViewportSize = {"width": 320, "height": 640}
SETTLE_MS = 150
SHAPES = {"mouse": "wide", "keyboard": "wide", "finger": "phone"}
"""Hand → the shape that its screens are looked at in."""


@dataclass
class Look:
    """What one screen showed: grave violations by colour scheme, sideways pixels by window width."""

    violations: dict[str, list[Violation]] = field(default_factory=dict)
    sideways: dict[int, int] = field(default_factory=dict)


class Looks:
    """Looks at screens; pictures ``SCREEN-SHAPE.png`` go to ``$E2E_SCREENSHOTS`` if set.

    ``shape`` is “wide” or “phone”; None: it looks at nothing.
    """

    def __init__(self, shape: str | None) -> None:
        self.shape = shape
        self.looks: dict[str, Look] = {}

    def look(self, page: Page, name: str) -> None:
        """One screen, under this name."""
        if self.shape is None:
            return
        look = self.looks[name] = Look()
        page.wait_for_timeout(SETTLE_MS)
        self.picture(page, name)
        own = page.viewport_size
        assert own is not None
        look.sideways[own["width"]] = sideways(page)
        look.violations["light"] = _grave(page)
        if self.shape == "phone":
            page.set_viewport_size(NARROW)
            look.sideways[NARROW["width"]] = sideways(page)
            page.set_viewport_size(own)
        page.emulate_media(color_scheme="dark")
        if self.shape == "wide":
            look.violations["dark"] = _grave(page, ["color-contrast"])
        self.picture(page, f"{name}-dark")
        page.emulate_media(color_scheme="light")

    def picture(self, page: Page, name: str, *, whole: bool = False) -> None:
        """Where pictures are asked for: of the window, or of the whole page."""
        if folder := os.environ.get(PICTURES):
            page.screenshot(path=Path(folder) / f"{name}-{self.shape}.png", full_page=whole)

    def problems(self) -> list[str]:
        """What is wrong with the screens that were looked at: grave violations, and widths that scroll sideways."""
        found = []
        for name, look in self.looks.items():
            found += [f"{name}, {how}: {v}" for how, all_ in look.violations.items() for v in all_]
            found += [f"{name}: {over} px too wide at {width}" for width, over in look.sideways.items() if over > 0]
        return found


def sideways(page: Page) -> int:
    """Pixels that the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def _grave(page: Page, rules: list[str] | None = None) -> list[Violation]:
    return [violation for violation in violations(page, rules) if violation.grave]
