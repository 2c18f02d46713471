"""Plackett–Luce strengths of the models of a group of turns, with the pull of the places at which replies stood."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.report.sections.turns.rows import of_group
from parlai_humaneval.report.sections.turns.types import PullRow, StrengthRow
from parlai_humaneval.report.views import IntervalFigure, IntervalPoint, Method
from parlai_humaneval.statistics.strengths.tables import Strengths, turn_strengths
from parlai_humaneval.tables.choices import ChoiceGroup
from parlai_humaneval.tables.free_for_all import TECHNIQUE as FREE_FOR_ALL

METHOD = Method(
    name="Strengths",
    text="Plackett–Luce, a conditional logit: each reply shown is chosen in proportion to exp(strength + pull of its "
    "place). Strengths and pulls are log-odds against their mean, each free of the other. Intervals and p clustered by "
    "worker (CR1 t). Where several may be picked, given how many were; turns in which none or all were picked say "
    "nothing of strengths.",
    source="Luce 1959; Plackett 1975; McFadden 1974; Chamberlain 1980; Cameron & Miller 2015",
)


def strength_rows(groups: Sequence[ChoiceGroup], level: float) -> tuple[list[StrengthRow], list[PullRow]]:
    """Of each group with several candidates; free-for-alls have them in their own section."""
    strengths: list[StrengthRow] = []
    pulls: list[PullRow] = []
    for group in groups:
        found = None if group.technique == FREE_FOR_ALL else turn_strengths(group, level=level)
        if found is not None:
            strengths += _strengths(group, found)
            pulls += _pulls(group, found)
    return strengths, pulls


def _strengths(group: ChoiceGroup, found: Strengths) -> list[StrengthRow]:
    return [
        StrengthRow(
            **of_group(group),
            model=model,
            n=result.n,
            strength=result.estimate,
            ci_low=result.ci_low,
            ci_high=result.ci_high,
            p_clustered=result.p_value,
            p_all_equal=found.equal.p_value,
            notes=list(dict.fromkeys([*found.notes, *result.notes])),
        )
        for model, result in zip(group.models, found.models, strict=True)
    ]


def _pulls(group: ChoiceGroup, found: Strengths) -> list[PullRow]:
    return [
        PullRow(
            **of_group(group),
            position=result.name.removeprefix("pull of position "),
            pull=result.estimate,
            ci_low=result.ci_low,
            ci_high=result.ci_high,
            p_clustered=result.p_value,
            p_no_effect=None if found.no_position_effect is None else found.no_position_effect.p_value,
        )
        for result in found.positions
    ]


def strength_figure(number: int, name: str, rows: Sequence[StrengthRow]) -> list[IntervalFigure]:
    """Of more than two models, the strongest first; ``rows`` of one group."""
    known = sorted((row for row in rows if row.strength is not None), key=lambda row: -(row.strength or 0.0))
    if len(known) < 3:
        return []
    points = (IntervalPoint(label=r.model, estimate=r.strength or 0.0, low=r.ci_low, high=r.ci_high) for r in known)
    return [
        IntervalFigure(
            key=f"turns_strengths_{number}",
            title=f"Plackett–Luce strengths: {name}",
            x_label="log-odds against the mean, clustered by worker",
            points=tuple(points),
            reference=0.0,
        )
    ]
