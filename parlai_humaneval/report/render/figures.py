"""Figures of sections → SVG, drawn without a display; colours are the document's, light and dark."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from parlai_humaneval.report.views import CurveFigure, Figure, HeatFigure, IntervalFigure
from parlai_humaneval.statistics.core import formatting
from parlai_humaneval.statistics.core.multiplicity import ALPHA


@dataclass(frozen=True)
class Colours:
    """``lines``: of lines and points; those of Okabe & Ito, which colour-blind people can distinguish."""

    ink: str
    muted: str
    paper: str
    lines: tuple[str, ...]


# matplotlib wants colours, but the page has custom properties, light and dark: these hex values are placeholders.
INK, MUTED, PAPER = "#010101", "#020202", "#030303"
LINES = ("#110001", "#110002", "#110003", "#110004", "#110005", "#110006", "#110007", "#110008")
PAGE = Colours(INK, MUTED, PAPER, LINES)
PRINT = Colours(
    "#1b1f23",
    "#59636e",
    "#ffffff",
    ("#0072b2", "#d55e00", "#00855f", "#b8578f", "#3d94c9", "#b87a00", "#1b1f23", "#6f6f6f"),
)
"""The page's light colours, for separate figures."""

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
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    is_dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < _TURN
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour), _LIGHT_INK if is_dark else _DARK_INK


def _between(start: Rgb, end: Rgb, depth: float) -> Rgb:
    red, green, blue = (a + (b - a) * depth for a, b in zip(start, end, strict=True))
    return red, green, blue


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.typing import RcKeyType


_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_LEFT_OUT = ("metadata", "style")
"""Elements to leave out: the maker, and a style sheet that would affect the whole page."""
_COLOURED = ("style", "fill", "stroke")
_TO_ID = re.compile(r"url\(#")


def inline_svg(svg: str, key: str, title: str, description: str) -> str:
    """The bare ``<svg>`` element: ids that no other figure has, colours and size left to the page, words for readers.

    Works on the parsed tree, so that what models are called stays text.
    """
    prefix = f"fig-{re.sub(r'[^A-Za-z0-9_-]', '-', key)}-"
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{_SVG}}}{name}" for name in _LEFT_OUT}:
                parent.remove(child)
        attributes = parent.attrib
        link = attributes.pop(f"{{{_XLINK}}}href", None)
        if link is not None:
            attributes["href"] = f"#{prefix}{link.removeprefix('#')}"
        if "id" in attributes:
            attributes["id"] = prefix + attributes["id"]
        for name, value in attributes.items():
            if name in _COLOURED:  # placeholders → ``var(--ink)`` …
                value = _PLACEHOLDER.sub(lambda found: f"var({_PROPERTIES[found.group()]})", value)
            attributes[name] = _TO_ID.sub(f"url(#{prefix}", value)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{prefix}title {prefix}desc"}
    for place, (name, words) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{name}", {"id": f"{prefix}{name}"})
        element.text = words
        root.insert(place, element)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


WIDTH = 6.2
"""Inches; on the page a figure is as wide as its column."""
NARROW, NARROW_LABEL = 4.2, 32
"""Inches, and letters of a name, of a figure with its names above the lines."""
AXIS_LABEL, LINE_HEIGHT = 14, 0.17
"""Letters an inch below an axis, and inches of each line of them."""
NOTE_HEIGHT = 0.2
"""Inches, of a small line above a figure."""
LABEL_WIDTH = 30
"""Longer names of rows are broken; others end in an ellipsis."""
ABOVE_TEXT = 4
"""Order of drawing of what lies over texts, which matplotlib draws at 3."""
LEAST_SHARE = 0.2
"""The shortest axis of shares: a flat line must not look like a cliff."""
CURVES_NAMED = 24
"""As many curves as a legend can name."""
_STYLES = ("-", "--", ":", "-.")


def drawing_settings(colours: Colours, key: str) -> dict[RcKeyType, Any]:
    """Settings for matplotlib: text stays text, no background, and the same SVG for the same figure."""
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": key,
        "font.family": "sans-serif",
        "font.size": 10,
        "text.parse_math": False,  # a model may have a dollar in its name
        "text.color": colours.ink,
        "axes.labelcolor": colours.ink,
        "axes.edgecolor": colours.muted,
        "xtick.color": colours.muted,
        "ytick.color": colours.muted,
        "xtick.labelcolor": colours.ink,
        "ytick.labelcolor": colours.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
    }


def to_svg(figure: Figure) -> str:
    """``figure`` as an ``<svg>`` element for a page: no raster image, no link, unique ids.

    Colours are custom properties of CSS (``--ink`` …), so that a page can have them light or dark.
    """
    return inline_svg(_drawn(figure, PAGE, "svg").decode(), figure.key, figure.title, description(figure))


def to_file(figure: Figure, file_format: Literal["svg", "pdf"], note: str = "") -> bytes:
    """``figure`` as a self-contained file, in light colours, with ``note`` in small letters above it."""
    return _drawn(figure, PRINT, file_format, note)


_NO_METADATA = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate", "Creator", "Producer")}


def _drawn(figure: Figure, colours: Colours, file_format: Literal["svg", "pdf"], note: str = "") -> bytes:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Drawing

    with matplotlib.rc_context(drawing_settings(colours, figure.key)), warnings.catch_warnings():
        # Only the measuring font lacks a glyph (of a model with a Chinese name, say): the browser has its own.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        drawing = Drawing(layout="constrained")
        FigureCanvasAgg(drawing)
        if isinstance(figure, IntervalFigure):
            (_intervals_below_labels if figure.labels_above else _interval_rows)(drawing, figure, colours)
        elif isinstance(figure, CurveFigure):
            _curves(drawing, figure, colours)
        else:
            _heat(drawing, figure, colours)
        if note:
            width, height = drawing.get_size_inches()
            drawing.set_size_inches(width, height + NOTE_HEIGHT)
            drawing.suptitle(note, x=0.99, ha="right", fontsize=8, color=colours.muted)
        # Laid out once here: left to savefig, each figure would be drawn twice.
        engine = drawing.get_layout_engine()
        if engine is not None:
            engine.execute(drawing)
        drawing.set_layout_engine("none")
        out, no_metadata = BytesIO(), dict.fromkeys(_NO_METADATA[file_format])
        # Not by savefig, which draws the whole figure once for nothing before.
        canvas: Any = FigureCanvasSVG(drawing) if file_format == "svg" else FigureCanvasPdf(drawing)
        (canvas.print_svg if file_format == "svg" else canvas.print_pdf)(out, metadata=no_metadata)
    return out.getvalue()


def description(figure: Figure) -> str:
    """Describe the figure for readers who cannot see it."""
    if isinstance(figure, IntervalFigure):
        shown = [f"{point.label} {_value(point.estimate, figure)}" for point in figure.points]
        return f"Estimates with intervals, {figure.x_label}: {_listed(shown)}."
    if isinstance(figure, CurveFigure):
        names = [curve.name for curve in figure.curves]
        return f"Line chart of {figure.y_label} over {figure.x_label}: {_listed(names)}."
    return f"Matrix with {len(figure.rows)} rows ({_listed(list(figure.rows))}) and {len(figure.columns)} columns."


def _listed(parts: Sequence[str], most: int = 12) -> str:
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more


def _value(value: float, figure: IntervalFigure) -> str:
    of_share = formatting.signed_points if figure.in_points else formatting.percent
    return (of_share if figure.in_points or figure.share else formatting.signed)(value)


def _shortened(label: str, width: int = LABEL_WIDTH) -> str:
    head, tail = (width - 1) // 2, width // 2
    return label if len(label) <= width else f"{label[:head]}…{label[-tail:]}"


def _lines(label: str) -> list[str]:
    return textwrap.wrap(label, LABEL_WIDTH, break_on_hyphens=False) or [label]


def _row_labels(axes: Axes, places: npt.NDArray[np.float64], labels: Sequence[str]) -> None:
    """Write names next to rows, one text per line: lines of a text are spaced for a font that the page lacks."""
    axes.set_yticks(places, [""] * len(places))
    axes.tick_params(axis="y", length=0)
    for place, label in zip(places, labels, strict=True):
        lines = _lines(label)
        for number, line in enumerate(lines):
            axes.annotate(
                line,
                (0, place),
                xycoords=axes.get_yaxis_transform(),
                xytext=(-7, 12 * ((len(lines) - 1) / 2 - number)),
                textcoords="offset points",
                ha="right",
                va="center",
                annotation_clip=False,
            )


def _interval_rows(drawing: Drawing, figure: IntervalFigure, colours: Colours) -> None:
    labels = [point.label for point in figure.points]
    drawing.set_size_inches(WIDTH, 0.9 + sum(0.14 + 0.17 * len(_lines(label)) for label in labels))
    axes = drawing.add_subplot()
    _draw_points(axes, figure, colours)
    _row_labels(axes, np.arange(len(labels), dtype=float), labels)
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)


def _intervals_below_labels(drawing: Drawing, figure: IntervalFigure, colours: Colours) -> None:
    label = textwrap.fill(figure.x_label, int(AXIS_LABEL * NARROW))
    drawing.set_size_inches(NARROW, 0.65 + LINE_HEIGHT * label.count("\n") + 0.42 * len(figure.points))
    axes = drawing.add_subplot()
    _draw_points(axes, figure, colours)
    axes.set_xlabel(label)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    words = (
        formatting.points_range
        if figure.in_points
        else formatting.format_range
        if figure.share
        else formatting.signed_range
    )
    for place, point in enumerate(figure.points):
        # “52 % (36–68 %)”, “33 (−5 to 61)” in points, “0.41 (0.32 to 0.50)”.
        interval = "" if point.low is None or point.high is None else f" ({words(point.low, point.high)})"
        value = f"{_value(point.estimate, figure)}{interval}".replace("-", "−")
        for text, x, side in ((_shortened(point.label, NARROW_LABEL), 0, "left"), (value, 1, "right")):
            axes.annotate(
                text,
                (x, place),
                xycoords=axes.get_yaxis_transform(),
                xytext=(0, 6),
                textcoords="offset points",
                ha=side,
                va="bottom",
                annotation_clip=False,
                bbox={"facecolor": colours.paper, "edgecolor": "none", "pad": 1.5},
            )
    axes.set_ylim(len(figure.points) - 0.65, -0.75)


def _draw_points(axes: Axes, figure: IntervalFigure, colours: Colours) -> None:
    colour = colours.lines[0]
    if figure.reference is not None:
        axes.axvline(figure.reference, color=colours.muted, linestyle="--", linewidth=1)
    if figure.band is not None:
        # Over the paper behind names and values, which would cut holes into it.
        axes.axvspan(*figure.band, color=colours.muted, alpha=0.15, linewidth=0, zorder=ABOVE_TEXT)
    for place, point in enumerate(figure.points):
        face = colours.paper  # hollow: an estimate without an interval
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
            face = colour
        axes.plot([point.estimate], [place], "o", color=colour, markersize=6, markerfacecolor=face)
    axes.set_xlabel(figure.x_label)
    axes.grid(axis="x", color=colours.muted, alpha=0.25, linewidth=0.6)
    shown = [end for point in figure.points for end in (point.low, point.estimate, point.high) if end is not None]
    if figure.share:
        # Differences, which have their line at 0, may go below it whatever the estimates are.
        if figure.reference != 0 and all(0 <= point.estimate <= 1 for point in figure.points):
            shown = [min(1.0, max(0.0, end)) for end in shown]
            axes.set_xlim(*_share_limits([*shown, *([] if figure.reference is None else [figure.reference])]))
        _percent(axes.xaxis, unit="" if figure.in_points else " %")
    elif shown and all(float(end).is_integer() for end in shown):
        from matplotlib.ticker import MaxNLocator

        axes.set_xlim(min(shown) - 0.5, max(shown) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    else:
        axes.locator_params(axis="x", nbins=6)


def _curves(drawing: Drawing, figure: CurveFigure, colours: Colours) -> None:
    drawing.set_size_inches(WIDTH, 4.2 + 0.16 * (min(len(figure.curves), CURVES_NAMED) // 2))
    axes = drawing.add_subplot()
    if figure.reference is not None:
        axes.axhline(figure.reference, color=colours.muted, linestyle="--", linewidth=1)
    for number, curve in enumerate(figure.curves):
        colour, style = colours.lines[number % len(colours.lines)], _STYLES[number // len(colours.lines) % len(_STYLES)]
        drawn = "steps-post" if figure.step else "default"
        looks: dict[str, Any] = {
            "color": colour,
            "linestyle": style,
            "linewidth": 1.8,
            "markersize": 4,
            "drawstyle": drawn,
        }
        axes.plot(curve.x, curve.y, marker="o" if len(curve.x) <= 12 and not figure.step else "", **looks)
        # A name that begins with an underscore would be kept out of the legend if it were given to plot().
        axes.lines[-1].set_label(curve.name if not curve.name.startswith("_") else f"\u200b{curve.name}")
        if curve.low and curve.high:
            low, high = (np.array([np.nan if end is None else end for end in side]) for side in (curve.low, curve.high))
            step: Literal["post"] | None = "post" if figure.step else None
            axes.fill_between(curve.x, low, high, color=colour, alpha=0.15, linewidth=0, step=step)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.grid(axis="y", color=colours.muted, alpha=0.25, linewidth=0.6)
    axes.locator_params(axis="x", integer=all(float(x).is_integer() for curve in figure.curves for x in curve.x))
    if figure.share:
        heights = (height for curve in figure.curves for side in (curve.y, curve.low, curve.high) for height in side)
        shown = [height for height in heights if height is not None]
        if shown and min(shown) >= 0 and max(shown) <= 1:
            axes.set_ylim(*_share_limits([*shown, *([] if figure.reference is None else [figure.reference])]))
        _percent(axes.yaxis)
    if len(figure.curves) > 1:
        handles, labels = axes.get_legend_handles_labels()
        drawing.legend(
            handles[:CURVES_NAMED],
            [_shortened(label) for label in labels[:CURVES_NAMED]],
            loc="outside lower center",
            ncols=min(2, len(figure.curves)),
            frameon=False,
        )


def _share_limits(shown: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis of shares: at least ``LEAST_SHARE`` long, and hardly beyond 0 and 1, where nothing can be."""
    low, high = min(shown), max(shown)
    short = max(0.0, LEAST_SHARE - (high - low)) / 2
    low, high = low - short, high + short
    low, high = (low - (high - 1), 1.0) if high > 1 else (0.0, high - low) if low < 0 else (low, high)
    margin = 0.04 * (high - low)
    return max(low - margin, -margin / 2), min(high + margin, 1 + margin / 2)


_SCALES = {"share": formatting.percent, "p": formatting.p_cell, "correlation": formatting.signed}


def _heat(drawing: Drawing, figure: HeatFigure, colours: Colours) -> None:
    from matplotlib.patches import Rectangle

    n_rows, n_columns = len(figure.rows), len(figure.columns)
    drawing.set_size_inches(max(WIDTH, 1.6 + 0.5 * n_columns), 1.4 + 0.42 * n_rows)
    axes = drawing.add_subplot()
    for row, values in enumerate(figure.values):
        for column, value in enumerate(values):
            back, ink = heat_colour(value, figure.scale)
            cell = axes.add_artist(Rectangle((column, row), 1, 1, facecolor=back, edgecolor=colours.paper, linewidth=1))
            words = formatting.ABSENT if value is None else _SCALES[figure.scale](value)
            text = axes.text(column + 0.5, row + 0.5, words, color=ink, ha="center", va="center")
            # Others are within the matrix, whose size does not depend on them.
            at_edge = row in (0, n_rows - 1) or column in (0, n_columns - 1)
            cell.set_in_layout(at_edge)
            text.set_in_layout(at_edge)
    axes.set_xlim(0, max(n_columns, 1))
    axes.set_ylim(max(n_rows, 1), 0)
    _row_labels(axes, np.arange(n_rows, dtype=float) + 0.5, figure.rows)
    slanted = max(map(len, figure.columns), default=0) > 8
    axes.set_xticks(
        np.arange(n_columns) + 0.5,
        [_shortened(name, 20) for name in figure.columns],
        rotation=35 if slanted else 0,
        ha="right" if slanted else "center",
    )
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _percent(axis: Any, unit: str = " %") -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(lambda value, _: f"{round(100 * value, 6) + 0.0:g}{unit}".replace("-", formatting.MINUS))
