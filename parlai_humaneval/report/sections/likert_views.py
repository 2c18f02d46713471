"""Tables, figures and methods of the section ``likert``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parlai_humaneval.report.rows import Columns, part_table
from parlai_humaneval.report.sections import likert_combos
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    IntervalPoint,
    Method,
)

if TYPE_CHECKING:
    from parlai_humaneval.report.sections.likert import Likert, LikertModel, TurnTerm

_GROUP: Columns = (
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("metric", "Metric", "text"),
    ("criterion", "Criterion", "text"),
)
_MODELS: Columns = (
    ("model", "Model", "text"),
    ("n", "Ratings", "count"),
    ("n_workers", "Workers", "count"),
    ("mean", "Mean", "number"),
    ("ci_low", "From", "number"),
    ("ci_high", "To", "number"),
    ("sd", "SD", "number"),
)
_PAIRS: Columns = (
    ("model_a", "Model A", "text"),
    ("model_b", "Model B", "text"),
    ("difference", "A − B", "number"),
    ("ci_low", "From", "number"),
    ("ci_high", "To", "number"),
    ("p_clustered", "p, clustered", "p"),
    ("p_clustered_holm", "p, clustered, Holm", "p"),
    ("p_value", "p, t test (paper)", "p"),
    ("p_holm", "p, t test, Holm", "p"),
    ("effective_win_rate", "Effective win rate of A", "share"),
    ("effective_low", "From, effective", "share"),
    ("effective_high", "To, effective", "share"),
    ("p_effective", "p, effective", "p"),
    ("p_effective_holm", "p, effective, Holm", "p"),
)
_TERMS: Columns = (
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("model", "Model (none: all)", "text"),
    ("term", "Term", "text"),
    ("estimate", "Coefficient", "number"),
    ("ci_low", "From", "number"),
    ("ci_high", "To", "number"),
    ("p_clustered", "p, clustered", "p"),
    ("paper_low", "From, classical", "number"),
    ("paper_high", "To, classical", "number"),
    ("p_value", "p, classical", "p"),
    ("n", "Dialogues", "count"),
)


def data_tables(section: Likert) -> list[DataTable]:
    found = [
        part_table("likert_models", "Mean ratings", (*_GROUP, *_MODELS), section.models),
        part_table("likert_pairs", "Every two models", (*_GROUP, *_PAIRS), section.pairs),
        part_table("likert_turn_weights", "Which turns weigh in the final ratings", _TERMS, section.regression),
        part_table("likert_combos", "Turns and final rating together", likert_combos.COLUMNS, section.combos),
    ]
    return [table for table in found if table.rows]


def figures(section: Likert) -> list[Figure]:
    """Means with intervals, a figure a criterion; and the coefficient of each turn."""
    found: list[Figure] = []
    for number, models in enumerate(_by_criterion(section.models), start=1):
        points = tuple(
            IntervalPoint(label=one.model, estimate=one.mean, low=one.ci_low, high=one.ci_high)
            for one in models
            if one.mean is not None
        )
        first = models[0]
        known = ", ".join(text for text in (first.technique, first.setting, first.metric) if text)
        title = f"Mean rating, {first.criterion}" + (f" ({known})" if known else "")
        label = "mean rating (more is worse)" if first.reversed else "mean rating"
        if points:
            found.append(IntervalFigure(key=f"likert_means_{number}", title=title, x_label=label, points=points))
    curves = tuple(_curves(section.regression))
    if curves:
        found.append(
            CurveFigure(
                key="likert_turn_weights",
                title="Weight of each turn in the final rating",
                x_label="turn",
                y_label="coefficient",
                curves=curves,
                reference=0.0,
            )
        )
    return found


def _by_criterion(models: list[LikertModel]) -> list[list[LikertModel]]:
    found: dict[tuple[str, str, str, str], list[LikertModel]] = {}
    for one in models:
        found.setdefault((one.technique, one.setting, one.metric, one.criterion), []).append(one)
    return list(found.values())


def _curves(terms: list[TurnTerm]) -> Iterator[Curve]:
    """A line for each model; that of all together has its band."""
    groups: dict[tuple[str, str, str], list[tuple[float, TurnTerm]]] = {}
    for term in terms:
        if term.term.startswith("turn ") and term.estimate is not None:
            place = float(term.term.removeprefix("turn "))
            groups.setdefault((term.technique, term.setting, term.model), []).append((place, term))
    several = len({(technique, setting) for technique, setting, _ in groups}) > 1
    for (_, setting, model), found in groups.items():
        name = model or "all models"
        yield Curve(
            name=f"{name}, {setting}" if several and setting else name,
            x=tuple(x for x, _ in found),
            y=tuple(term.estimate or 0.0 for _, term in found),
            low=() if model else tuple(term.ci_low for _, term in found),
            high=() if model else tuple(term.ci_high for _, term in found),
        )


def methods(section: Likert) -> list[Method]:
    found = [
        Method(
            name="Mean ratings",
            text="Means of the ratings at the end, as given, with CR1 intervals clustered by worker (Student's t with "
            "workers − 1 degrees of freedom).",
            source="Smith et al. 2022, §3.1.4; Cameron & Miller 2015",
        )
    ]
    if section.pairs:
        found += [
            Method(
                name="Difference of two models",
                text="Mean of A minus mean of B, interval and p clustered by worker; beside it the paper's two-sided t "
                "test, which takes all dialogues as independent.",
                source="Smith et al. 2022, App. C.7",
            ),
            Method(
                name="Effective win rate",
                text="Chance that a rating of A is better than one of B, equal ones counting half, over all pairs of "
                "ratings; exact, without resampling; interval clustered by worker.",
                source="Smith et al. 2022, §4.3.1",
            ),
            Method(name="Holm", text="Corrected for all pairs of models on the same criterion.", source="Holm 1979"),
        ]
    if section.combos:
        found.append(likert_combos.METHOD)
    if section.regression:
        found.append(
            Method(
                name="Weight of turns",
                text="Least squares of the final rating on the share of criteria found good at each turn, both means "
                "over criteria, over dialogues of the usual number of turns.",
                source="Smith et al. 2022, App. C.4 (Figure 7)",
            )
        )
    return found
