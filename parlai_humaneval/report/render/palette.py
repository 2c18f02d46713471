"""Colours of figures: names of CSS properties while matplotlib draws, real ones in the page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from parlai_humaneval.statistics.core.multiplicity import ALPHA


@dataclass(frozen=True)
class Colours:
    """``lines``: of lines and points; those of Okabe & Ito, which colour-blind people tell apart."""

    ink: str
    muted: str
    paper: str
    lines: tuple[str, ...]


# matplotlib wants colours, the page has custom properties, light and dark: these hex values stand for them.
INK, MUTED, PAPER = "#010101", "#020202", "#030303"
LINES = ("#110001", "#110002", "#110003", "#110004", "#110005", "#110006", "#110007", "#110008")
PAGE = Colours(INK, MUTED, PAPER, LINES)
PRINT = Colours(
    "#1b1f23",
    "#59636e",
    "#ffffff",
    ("#0072b2", "#d55e00", "#00855f", "#b8578f", "#3d94c9", "#b87a00", "#1b1f23", "#6f6f6f"),
)
"""The page's light colours, for figures that stand alone."""

_PROPERTIES = {INK: "--ink", MUTED: "--muted", PAPER: "--paper"} | {
    colour: f"--line-{number}" for number, colour in enumerate(LINES, start=1)
}
_PLACEHOLDER = re.compile("|".join(map(re.escape, _PROPERTIES)))

Rgb = tuple[float, float, float]
_ORANGE: Rgb = (0.78, 0.33, 0.02)
_WHITE: Rgb = (0.97, 0.97, 0.97)
_BLUE: Rgb = (0.03, 0.35, 0.62)
_DARK_INK, _LIGHT_INK = "#000000", "#ffffff"
_TURN = 0.179
"""Luminance at which black and white are read equally well: 4.6 : 1."""
_P_STEPS = ((0.001, 1.0), (0.01, 0.75), (ALPHA, 0.45))
"""Below each p-value, how deep the blue is."""


def to_css(text: str) -> str:
    """Placeholders → ``var(--ink)`` …"""
    return _PLACEHOLDER.sub(lambda found: f"var({_PROPERTIES[found.group()]})", text)


def heat_colour(value: float | None, scale: str) -> tuple[str, str]:
    """Colours of a cell and of the words in it; a cell without a value is left as the page is.

    ``share``: orange below one half, blue above; ``correlation``: the same around 0; ``p``: bluer the smaller, white
    from .05 on.
    """
    if value is None:
        return "none", INK
    if scale == "p":
        depth = next((depth for limit, depth in _P_STEPS if value < limit), 0.0)
        colour = _between(_WHITE, _BLUE, depth)
    else:
        depth = min(1.0, max(-1.0, 2 * value - 1 if scale == "share" else value))
        colour = _between(_WHITE, _BLUE if depth > 0 else _ORANGE, abs(depth))
    return _hex(colour), _LIGHT_INK if _luminance(colour) < _TURN else _DARK_INK


def _between(start: Rgb, end: Rgb, depth: float) -> Rgb:
    red, green, blue = (a + (b - a) * depth for a, b in zip(start, end, strict=True))
    return red, green, blue


def _luminance(colour: Rgb) -> float:
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _hex(colour: Rgb) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)
