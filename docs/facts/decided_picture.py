"""The picture of one study under both regimes: an SVG as wide as a screen, and one as wide as a phone.

Both stand in the page, which shows one of them; their colours are the page's, light or dark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from docs.facts.one_study import RULE, OneStudy, PairUnderBoth
from parlai_humaneval.report.render.figures import PAGE, drawing_settings, inline_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

SIZES = {"wide": (8.0, 2), "narrow": (4.1, 1)}
"""Inches, and pairs side by side."""
ROW, BARS = 1.7, 1.75
"""Inches, of a pair and of the bars below."""
TOP = 0.82
"""Inches above the first pair, for what the colours mean."""
REACH = 50
"""Points of the difference to both sides: wider intervals are cut off."""
SEEN = 0.5
"""Points: a smaller step is not drawn."""
STOPPED, FIXED, BAND = PAGE.lines[0], PAGE.lines[1], PAGE.muted
SMALL = 9


def pictures(study: OneStudy) -> str:
    """Both pictures, as elements of a page."""
    return "\n".join(
        f'<div class="drawn {name}" data-search-exclude>\n{_svg(study, name, width, columns)}\n</div>'
        for name, (width, columns) in SIZES.items()
    )


def description(study: OneStudy) -> str:
    """What is to be seen, in words, for those who cannot see it."""
    pairs = "; ".join(
        f"{pair.standing.first} and {pair.standing.second}: {verdict(pair)}, after {pair.closed} dialogues of the two"
        for pair in study.pairs
    )
    return f"{pairs}. The study took {study.standing.answered} dialogues; fixed plans take {study.planned_in_all}."


def verdict(pair: PairUnderBoth) -> str:
    """What was decided, in words."""
    standing = pair.standing
    if standing.decided in ("first", "second"):
        return f"{standing.first if standing.decided == 'first' else standing.second} is better"
    return "equal within the margin" if standing.decided else "open"


def _svg(study: OneStudy, name: str, width: float, columns: int) -> str:
    height = ROW * -(-len(study.pairs) // columns) + BARS
    draw = partial(_study, study, columns)
    return as_svg(f"one-study-{name}", "One study with both approaches", description(study), (width, height), draw)


def as_svg(key: str, title: str, said: str, size: tuple[float, float], draw: Callable[[Drawing], None]) -> str:
    """What ``draw`` draws, as an element of a page. ``key``: unlike that of any other in the page; ``said``: what is to be
    seen, in words; ``size``: in inches."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    with matplotlib.rc_context(drawing_settings(PAGE, key)):
        drawing = Drawing(figsize=size)
        FigureCanvasAgg(drawing)
        draw(drawing)
        out = BytesIO()
        drawing.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = inline_svg(out.getvalue().decode(), key, title, said)
    return "\n".join(line for line in svg.splitlines() if line.strip())


def _study(study: OneStudy, columns: int, drawing: Drawing) -> None:
    """The pairs, ``columns`` of them side by side, and below them the bars of the whole study."""
    (width, height), rows = drawing.get_size_inches(), -(-len(study.pairs) // columns)
    grid = drawing.add_gridspec(
        rows,
        columns,
        left=0.48 / width,
        right=1 - 0.12 / width,
        top=1 - TOP / height,
        bottom=(BARS + 0.55) / height,
        hspace=0.62,
        wspace=0.14,
    )
    longest = 1.08 * max(study.planned, *(len(pair.low) for pair in study.pairs))
    for place, pair in enumerate(study.pairs):
        axes = drawing.add_subplot(grid[place // columns, place % columns])
        _pair(axes, pair, study.planned, longest)
        axes.tick_params(labelleft=place % columns == 0, labelbottom=place // columns == rows - 1, labelsize=SMALL)
        if place // columns == rows - 1:
            axes.set_xlabel("dialogues of the pair", fontsize=SMALL)
    _key(drawing, width, height)
    _bars(drawing.add_axes((0.12 / width, 0.08 / height, 1 - 0.24 / width, (BARS - 0.3) / height)), study)


def _key(drawing: Drawing, width: float, height: float) -> None:
    """What the colours mean, and what is drawn."""
    strip = drawing.add_axes((0, 1 - 0.6 / height, 1, 0.6 / height))
    strip.set_xlim(0, width)
    strip.set_ylim(0, 0.6)
    strip.axis("off")
    for x, colour, words in ((0.15, STOPPED, "until decided"), (1.5, FIXED, "fixed plan"), (2.65, BAND, "equal")):
        strip.plot([x], [0.45], "s", color=colour, markersize=8, alpha=0.4 if colour == BAND else 1)
        strip.text(x + 0.13, 0.45, words, va="center", fontsize=10)
    strip.text(0.08, 0.16, "difference of win rates, in points", va="center", fontsize=SMALL)


def _pair(axes: Axes, pair: PairUnderBoth, planned: int, longest: float) -> None:
    """The interval as the study went on, where the pair was decided, and what the fixed plan finds at its end."""
    n = _moved(pair)
    low, high = (np.clip(100 * end[n - 1], -REACH, REACH) for end in (pair.low, pair.high))
    margin = 100 * RULE.margin
    axes.axhspan(-margin, margin, color=BAND, alpha=0.15, linewidth=0)
    axes.axhline(0, color=PAGE.muted, linewidth=0.8)
    axes.fill_between(n, low, high, color=STOPPED, alpha=0.25, linewidth=0, step="post")
    for end in (low, high):
        axes.plot(n, end, color=STOPPED, linewidth=1.2, drawstyle="steps-post")
    axes.plot([pair.closed] * 2, [-REACH, REACH], color=STOPPED, linewidth=1, linestyle=":")
    axes.plot([pair.closed], [-REACH], "v", color=STOPPED, markersize=7, clip_on=False)
    ends = [100 * end for end in pair.fixed]
    axes.plot([planned] * 2, ends, color=FIXED, linewidth=3.5, solid_capstyle="butt")
    axes.plot([planned], [-REACH], "v", color=FIXED, markersize=7, clip_on=False)
    axes.set_xlim(0, longest)
    axes.set_ylim(-REACH, REACH)
    axes.set_yticks([-40, 0, 40], ["−40", "0", "+40"])
    axes.text(
        0,
        1.04,
        f"{pair.standing.first} – {pair.standing.second}: {verdict(pair)}",
        transform=axes.transAxes,
        fontsize=10,
        va="bottom",
    )


def _moved(pair: PairUnderBoth) -> npt.NDArray[np.int64]:
    """Dialogues after which the interval became narrower by what can be seen, the first and the last one."""
    ends = np.round(np.clip(100 * np.stack([pair.low, pair.high]), -REACH, REACH) / SEEN)
    steps = (np.diff(ends, axis=1) != 0).any(axis=0)
    return np.flatnonzero(np.concatenate([[True], steps[:-1], [True]])) + 1


def _bars(axes: Axes, study: OneStudy) -> None:
    """Dialogues of the whole study."""
    bars = (
        (study.standing.answered, f"until every pair is decided: {study.standing.answered:,} dialogues", STOPPED),
        (study.planned_pooled, f"one fixed plan for all: {study.planned_pooled:,}", FIXED),
        (study.planned_in_all, f"a fixed plan for each pair: {study.planned_in_all:,}", FIXED),
    )
    for place, (length, words, colour) in enumerate(bars):
        axes.barh([place], [length], height=0.4, color=colour)
        axes.text(0, place - 0.3, words, fontsize=10, va="bottom")
    axes.set_xlim(0, study.planned_in_all * 1.01)
    axes.set_ylim(len(bars) - 0.6, -0.85)
    axes.axis("off")
