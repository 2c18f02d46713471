"""Strengths that pairs of models are told by: when one ranking leads, and Holm's correction over its pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.ranking.fit import Strengths, if_independent
from parlai_humaneval.statistics.ranking.from_tables import turn_strengths
from parlai_humaneval.tables.choices import ChoiceGroup, merged

ALWAYS = 0.9
"""Models that are shown in at least this share of the turns of their group count as always shown."""


def pooled_strengths(groups: Sequence[ChoiceGroup], *, level: float = 0.95) -> Strengths | None:
    """Of all models of a question's ``groups``; None where all models always stood side by side, and their shares rank them,
    or where single replies were rated."""
    if groups[0].kind == "single" or not _incomplete(groups):
        return None
    return turn_strengths(merged(groups), level=level)


def one_ranking(groups: Sequence[ChoiceGroup], *, level: float = 0.95) -> tuple[ChoiceGroup, Strengths] | None:
    """A question's ``groups`` as one, and its strengths; None where there are none, or where a model may be the best whose
    strength is not finite."""
    strengths = pooled_strengths(groups, level=level)
    return None if strengths is None or strengths.best is None else (merged(groups), strengths)


def _incomplete(groups: Sequence[ChoiceGroup]) -> bool:
    shown = [~np.isnan(group.turns.chosen) for group in groups]
    return len(groups) > 1 or any(table.mean(axis=0).min(initial=1) < ALWAYS for table in shown if len(table))


def strength_tests(strengths: Strengths, family: Family) -> list[tuple[Result, Result]]:
    """Of every two models, in the order of ``combinations``: the test by worker, and if all turns were independent; each
    with Holm's correction over all pairs."""
    families = [family] * len(strengths.pairs)
    of_independent = corrected([if_independent(pair) for pair in strengths.pairs], families)
    return list(zip(corrected(strengths.pairs, families), of_independent, strict=True))
