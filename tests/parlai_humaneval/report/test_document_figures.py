"""Figures as SVG that may stand in any page: whole, alone, and in the page's colours."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from fake_sections import HOSTILE, fake_section
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.report.render.figures import description, heat_colour, to_svg
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    Figure,
    HeatFigure,
    IntervalFigure,
    IntervalPoint,
)

SVG = "{http://www.w3.org/2000/svg}"
FIGURES = {figure.kind: figure for figure in fake_section().figures()}


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request: pytest.FixtureRequest) -> tuple[Figure, str]:
    figure = FIGURES[request.param]
    return figure, to_svg(figure)


def test_a_figure_is_one_well_formed_element(drawn: tuple[Figure, str]) -> None:
    """With a title and a description, which a screen reader says; no picture, style sheet, link or script in it."""
    figure, svg = drawn
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    names = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert not names & {"image", "style", "script", "metadata", "a", "foreignObject"}
    labels = [root.find(f"{SVG}{name}") for name in ("title", "desc")]
    assert root.attrib["aria-labelledby"].split() == [label.attrib["id"] for label in labels if label is not None]
    assert labels[0] is not None
    assert labels[0].text == figure.title
    assert not re.search(r"https?://(?!www\.w3\.org/)", svg)


def test_names_of_models_stay_text(drawn: tuple[Figure, str]) -> None:
    """Markup is escaped, a dollar is no mathematics."""
    _, svg = drawn
    assert "<script" not in svg
    root = ElementTree.fromstring(svg)
    shown = {text.text for text in root.iter(f"{SVG}text")} | {desc.text or "" for desc in root.iter(f"{SVG}desc")}
    assert any(HOSTILE in (text or "") for text in shown)


def test_references_inside_a_figure_find_their_ids(drawn: tuple[Figure, str]) -> None:
    """Every id is the figure's own, unique, and what is referred to is there."""
    figure, svg = drawn
    ids = re.findall(r'\bid="([^"]+)"', svg)
    assert len(ids) == len(set(ids))
    assert all(one.startswith(f"fig-{figure.key}-") for one in ids)
    assert set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg)) <= set(ids)


def test_colours_are_the_pages(drawn: tuple[Figure, str]) -> None:
    """So that light, dark and print differ; the placeholders are gone."""
    _, svg = drawn
    assert "var(--ink)" in svg
    assert not re.search(r"#(?:01|02|03){3}|#11000\d", svg)


def test_drawing_twice_gives_the_same() -> None:
    """A report made again from the same tables is the same file."""
    figure = FIGURES["curves"]
    assert to_svg(figure) == to_svg(figure)


names = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=40)


@settings(max_examples=6, deadline=None)
@given(st.lists(names, min_size=3, max_size=8), st.floats(0, 1), st.booleans())
def test_any_name_can_be_drawn(models: list[str], value: float, share: bool) -> None:
    """Of whatever letters; with an interval, without one, and with nothing but one point."""
    points = tuple(IntervalPoint(label=name, estimate=value, low=None if share else 0.1, high=0.9) for name in models)
    ElementTree.fromstring(to_svg(IntervalFigure(key="k", title="t", x_label="x", points=points, share=share)))
    curves = tuple(Curve(name=name, x=(1.0,), y=(value,), low=(None,), high=(None,)) for name in models)
    ElementTree.fromstring(
        to_svg(CurveFigure(key="k", title="t", x_label="x", y_label="y", curves=curves, share=share))
    )


def test_nothing_to_draw_is_drawn_as_nothing() -> None:
    """An empty figure does no harm."""
    for figure in (
        IntervalFigure(key="k", title="t", x_label="x", points=()),
        CurveFigure(key="k", title="t", x_label="x", y_label="y", curves=()),
        HeatFigure(key="k", title="t", rows=(), columns=(), values=(), scale="p"),
    ):
        ElementTree.fromstring(to_svg(figure))


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@given(st.floats(-1, 1), st.sampled_from(["share", "p", "correlation"]))
def test_words_in_a_heat_map_can_be_read(value: float, scale: str) -> None:
    """Contrast of at least 4.5 : 1 (WCAG AA), whatever the value."""
    back, ink = heat_colour(value if scale == "correlation" else abs(value), scale)
    light, dark = sorted((luminance(back), luminance(ink)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_significant_cells_stand_out() -> None:
    """White from .05 on, and bluer below each step."""
    backs = [heat_colour(p, "p")[0] for p in (0.5, 0.05, 0.049, 0.009, 0.0009)]
    assert backs[0] == backs[1]
    assert len(set(backs)) == 4
    assert heat_colour(None, "p")[0] == "none"


def ticks(figure: Figure, ending: str) -> list[float]:
    """Numbers on the axes that end so."""
    texts = [text.text or "" for text in ElementTree.fromstring(to_svg(figure)).iter(f"{SVG}text")]
    found = [text.replace("−", "-").removesuffix(ending).strip() for text in texts if text.endswith(ending)]
    return [float(text) for text in found if re.fullmatch(r"-?\d+(\.\d+)?", text)]


def test_shares_end_at_their_ends() -> None:
    """A line at 100 % is no cliff between 96 % and 104 %; an interval beyond the ends is cut there."""
    curve = Curve(name="all", x=(1, 2, 3), y=(1.0, 1.0, 1.0))
    flat = CurveFigure(key="f", title="F", x_label="n", y_label="share", curves=(curve,), share=True)
    shown = ticks(flat, " %")
    assert max(shown) == 100
    assert min(shown) <= 80
    point = IntervalPoint(label="a", estimate=0.66, low=0.29, high=1.04)
    wide = IntervalFigure(key="w", title="W", x_label="rate", points=(point,), share=True)
    assert max(ticks(wide, " %")) <= 100


def test_ticks_of_shares_are_round() -> None:
    """Not 48, 56, 64 %."""
    for low, high in ((0.46, 0.66), (0.31, 0.71), (0.05, 0.33)):
        point = IntervalPoint(label="a", estimate=(low + high) / 2, low=low, high=high)
        figure = IntervalFigure(key="w", title="W", x_label="rate", points=(point,), share=True)
        assert all(tick % 5 == 0 for tick in ticks(figure, " %"))


def test_differences_of_shares_may_be_negative() -> None:
    """They are not cut at 0."""
    point = IntervalPoint(label="a over b", estimate=-0.1, low=-0.3, high=0.1)
    figure = IntervalFigure(key="d", title="D", x_label="gap", points=(point,), share=True, reference=0.0)
    assert min(ticks(figure, " %")) < 0


def test_ranks_are_whole_numbers() -> None:
    """There is no rank 1.4."""
    points = tuple(IntervalPoint(label=str(n), estimate=n, low=1, high=2) for n in (1, 2))
    assert ticks(IntervalFigure(key="r", title="R", x_label="rank", points=points), "") == [1, 2, 1, 2]


def test_a_long_axis_label_is_broken() -> None:
    """Guards a label that is cut at both ends where a figure is as narrow as a phone."""
    point = IntervalPoint(label="a", estimate=0.5, low=0.4, high=0.6)
    label = "chance of being chosen over the average model (Plackett–Luce)"
    figure = IntervalFigure(key="l", title="L", x_label=label, points=(point,), share=True, labels_above=True)
    texts = ["".join(element.itertext()).strip() for element in ElementTree.fromstring(to_svg(figure)).iter()]
    assert label not in texts
    assert any(text.endswith("(Plackett–Luce)") for text in texts if len(text) < 40)


def test_an_interval_of_a_difference_is_drawn_below_zero() -> None:
    """Whoever is ahead stands first, so that no difference is negative; its interval can be, and is not cut off at the line
    that it crosses."""
    points = (IntervalPoint(label="a over b", estimate=0.35, low=-0.19, high=0.73),)
    figure = IntervalFigure(
        key="pairs", title="Pairs", x_label="difference", points=points, reference=0.0, share=True, labels_above=True
    )
    root = ElementTree.fromstring(to_svg(figure))
    texts = [(text.text or "").replace("−", "-") for text in root.iter(f"{SVG}text")]
    assert "-20 %" in texts or "-25 %" in texts
    assert "35 % (-19 to 73 %)" in texts


def test_differences_in_points_have_no_percent() -> None:
    """Guards one unit: where the axis is of percentage points, so are its ticks, the values beside lines and the words."""
    points = (IntervalPoint(label="a over b", estimate=0.33, low=-1.0, high=1.0),)
    figure = IntervalFigure(
        key="p",
        title="P",
        x_label="percentage points",
        points=points,
        reference=0.0,
        share=True,
        in_points=True,
        labels_above=True,
    )
    texts = [(text.text or "") for text in ElementTree.fromstring(to_svg(figure)).iter(f"{SVG}text")]
    assert {"33 (−100 to 100)", "−50", "50"} <= set(texts)
    assert not any("%" in text for text in texts)
    assert description(figure) == "Estimates with intervals, percentage points: a over b 33."


def test_the_band_is_drawn_over_the_paper_behind_names() -> None:
    """Guards against holes in what counts as equal, which the paper behind names and values would cut."""
    points = (IntervalPoint(label="first pair", estimate=0.1, low=-0.4, high=0.5),)
    figure = IntervalFigure(
        key="b", title="B", x_label="x", points=points, band=(-0.1, 0.1), share=True, labels_above=True
    )
    svg = to_svg(figure)
    assert svg.rindex("opacity: 0.15") > svg.rindex("first pair")
