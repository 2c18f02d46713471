"""Tables, figures and methods of the section ``crowd_time``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parlai_humaneval.report.rows import Columns, part_table
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    IntervalPoint,
    Method,
)
from parlai_humaneval.statistics.sequential import SEQUENTIAL_SOURCE

if TYPE_CHECKING:
    from parlai_humaneval.report.sections.crowd_time import CrowdTime, PairTime, SpentTime

MOST_CURVES = 8
"""Curves of one figure: those of the smallest p at the end."""

_SPENT: Columns = (
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("unit", "Unit", "text"),
    ("n", "Units", "count"),
    ("n_workers", "Workers", "count"),
    ("median_seconds", "Median", "seconds"),
    ("mean_seconds", "Mean", "seconds"),
    ("mean_low", "From", "seconds"),
    ("mean_high", "To", "seconds"),
    ("hours", "Hours in all", "number"),
)
_PAIRS: Columns = (
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("kind", "Answers", "text"),
    ("metric", "Metric", "text"),
    ("model_a", "Model A", "text"),
    ("model_b", "Model B", "text"),
    ("n", "Decided", "count"),
    ("hours", "Hours in all", "number"),
    ("first_hours", "First p < .05", "number"),
    ("sustained_hours", "p < .05 to the end", "number"),
    ("anytime_hours", "Allowing for looks", "number"),
    ("p_value", "p at the end", "p"),
    ("p_anytime", "p allowing for looks", "p"),
    ("chunk_sd", "SD over chunks", "share"),
    ("n_chunks", "Chunks", "count"),
)


def data_tables(section: CrowdTime) -> list[DataTable]:
    notes = (
        "Hours until the paper's test was below .05: at the first look, and from which on it stayed there; and of a "
        "p-value that may be looked at after every answer. A dash: never within the time spent.",
    )
    found = [
        part_table("crowd_time_spent", "Time that raters spent", _SPENT, section.spent),
        part_table("crowd_time_pairs", "Rater hours to tell two models apart", _PAIRS, section.pairs, notes),
    ]
    return [table for table in found if table.rows]


def figures(section: CrowdTime) -> list[Figure]:
    """Seconds a unit; and p over rater hours, a figure for each technique, kind and metric."""
    found: list[Figure] = []
    points = tuple(
        IntervalPoint(label=_unit(one), estimate=one.mean_seconds, low=one.mean_low, high=one.mean_high)
        for one in section.spent
        if one.mean_seconds is not None
    )
    if points:
        found.append(
            IntervalFigure(
                key="crowd_time_spent",
                title="Rater time a unit",
                x_label="mean seconds, clustered interval",
                points=points,
            )
        )
    groups: dict[str, list[PairTime]] = {}
    for pair in section.pairs:
        if pair.curve_p:
            groups.setdefault(group_words(pair), []).append(pair)
    for number, (words, pairs) in enumerate(groups.items(), start=1):
        shown = sorted(pairs, key=lambda pair: pair.curve_p[-1])[:MOST_CURVES]
        more = f" ({len(shown)} of {len(pairs)} pairs, the clearest)" if len(shown) < len(pairs) else ""
        found.append(
            CurveFigure(
                key=f"crowd_time_p_{number}",
                title=f"p over rater hours, {words}{more}",
                x_label="rater hours",
                y_label="p-value of the paper's test",
                curves=tuple(
                    Curve(
                        name=f"{pair.model_a} against {pair.model_b}", x=tuple(pair.curve_hours), y=tuple(pair.curve_p)
                    )
                    for pair in shown
                ),
                reference=0.05,
            )
        )
    return found


def group_words(pair: PairTime) -> str:
    """“preference (pw_dialog, self_chat, dialogue)”."""
    return f"{pair.metric} ({', '.join(text for text in (pair.technique, pair.setting, pair.kind) if text)})"


def _unit(one: SpentTime) -> str:
    known = ", ".join(text for text in (one.technique, one.setting) if text)
    return f"{one.unit} ({known})" if known else one.unit


def methods(section: CrowdTime) -> list[Method]:
    found = [
        Method(
            name="Rater time",
            text="From beginning to end of a dialogue or judgement; what has no end has no time. Means with CR1 "
            "intervals clustered by worker.",
            source="Cameron & Miller 2015",
        )
    ]
    if section.pairs:
        found += [
            Method(
                name="Time to significance",
                text="The paper's test after every answer, in the order in which dialogues and judgements began (that of "
                "the table where it is not said): two-sided binomial for comparisons, two-sided t for single models. "
                "A conversation's time is shared among its turns (where only turns are timed each takes its own), ties "
                "take time too, and times that are missing count as the median. All turns count, the first ones too; "
                "onboarding counts once for each worker where it is known. Answers are taken as independent.",
                source="Smith et al. 2022, App. C.7",
            ),
            Method(
                name="Allowing for looks",
                text="A beta-binomial e-process: its p-value may be looked at after every answer, and one may stop "
                "there; it takes answers as independent too.",
                source=SEQUENTIAL_SOURCE,
            ),
            Method(
                name="SD over chunks",
                text="Standard deviation of the win rate (of single models the effective one) over full chunks of 45 "
                "minutes of rater time, the time of collecting judged dialogues left out.",
                source="Smith et al. 2022, App. C.6 (Table 8)",
            ),
        ]
    return found
