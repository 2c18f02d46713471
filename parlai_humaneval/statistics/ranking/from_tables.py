"""Strengths of models from tables: Plackett–Luce of turns, Bradley–Terry of comparisons, with position effects.

Strengths do not depend on the order of dialogues, as TrueSkill does, and their intervals shrink with more data. Where one
ranking leads for all pairs of models, Holm's correction is over its pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import orient_pairs
from parlai_humaneval.statistics.ranking.bradley_terry import FittedPairs, fitted_pairs
from parlai_humaneval.statistics.ranking.fit import Strengths, if_independent
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce
from parlai_humaneval.tables.choices import ComparisonGroup, merged


def turn_strengths(group: ComparisonGroup, *, level: float = 0.95) -> Strengths | None:
    """Plackett–Luce strengths of the models of ``group``, clustered by worker; None where single replies were rated.

    Where positions are known they are modelled; equal replies, shown once, are picked together at the same position.
    See :func:`plackett_luce` for one pick a turn, several picks, and what cannot be estimated.

    Strengths are log-odds: see :class:`Strengths`.

    Assumes that a choice between two replies does not depend on the others shown, and that workers are independent.

    Source: Luce 1959; Plackett 1975.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> from parlai_humaneval.tables.choices import choice_groups
    >>> group = choice_groups(example_tables())[0]
    >>> found = turn_strengths(group)
    >>> [(model.name, round(model.estimate, 2)) for model in found.models]
    [('strength of ada', 1.65), ('strength of bob', -0.47), ('strength of cyd', -1.18)]
    """
    if group.kind == "single" or len(group.models) < 2:
        return None
    positions = None if np.isnan(group.positions).all() else group.positions
    turns = group.turns
    return plackett_luce(turns.chosen, turns.workers, positions=positions, models=turns.models, level=level)


def comparison_strengths(comparisons: pd.DataFrame, *, level: float = 0.95) -> Strengths | None:
    """Bradley–Terry strengths, ties counted, of the rows of one metric of a ``comparisons`` table.

    Clustered by worker, and by dialogue where several workers judged the same, on whichever side it stood.
    Which model stood first (left or top) is read from ``side``, else, of two replies, from ``position_a``; where that is
    not known of every row the effect of the place is not modelled. Empty ``n_models`` means two. None for a table of no
    rows.

    Raises:
        TableError: a winner is neither of the two models nor ``tie``, or a model stands against itself.

    Strengths are log-odds: see :class:`Strengths`. Assumes what :func:`bradley_terry` does.

    Source: Bradley & Terry 1952; Rao & Kupper 1967; Davidson & Beaver 1977.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> found = comparison_strengths(example_tables().comparisons)
    >>> [(model.name, round(model.estimate, 2)) for model in found.models]
    [('strength of ada', 0.39), ('strength of bob', -0.39)]
    """
    return None if comparisons.empty else oriented_strengths(orient_pairs(comparisons), level=level)


def oriented_strengths(rows: pd.DataFrame, *, models: Sequence[str] | None = None, level: float = 0.95) -> Strengths:
    """Strengths from rows as :func:`~parlai_humaneval.analysis.orient_pairs` gives them; ``models`` in this order."""
    return fitted_strengths(rows, models=models, level=level).strengths


def fitted_strengths(rows: pd.DataFrame, *, models: Sequence[str] | None = None, level: float = 0.95) -> FittedPairs:
    """The same, with how each of the ``rows`` moves the strengths."""
    first_a = rows["first_a"].to_numpy(dtype=float)
    a, b, of_a, of_b = (
        rows[name].to_numpy(dtype=object) for name in ("model_a", "model_b", "dialogue_a", "dialogue_b")
    )
    outcome, swap = rows["outcome"].to_numpy(dtype=int), first_a == 0
    return fitted_pairs(
        np.where(swap, b, a),
        np.where(swap, a, b),
        np.where(swap, -outcome, outcome),
        rows["worker_id"].to_numpy(dtype=object),
        slots=not np.isnan(first_a).any(),
        models=models,
        level=level,
        dialogues=(np.where(swap, of_b, of_a), np.where(swap, of_a, of_b)),
    )


ALWAYS = 0.9
"""Models that are shown in at least this share of the turns of their group count as always shown."""


def pooled_strengths(groups: Sequence[ComparisonGroup], *, level: float = 0.95) -> Strengths | None:
    """Of all models of a question's ``groups``; None where all models always stood side by side, and their shares rank them,
    or where single replies were rated."""
    if groups[0].kind == "single" or not _incomplete(groups):
        return None
    return turn_strengths(merged(groups), level=level)


def one_ranking(groups: Sequence[ComparisonGroup], *, level: float = 0.95) -> tuple[ComparisonGroup, Strengths] | None:
    """A question's ``groups`` as one, and its strengths; None where there are none, or where a model may be the best whose
    strength is not finite."""
    strengths = pooled_strengths(groups, level=level)
    return None if strengths is None or strengths.best is None else (merged(groups), strengths)


def _incomplete(groups: Sequence[ComparisonGroup]) -> bool:
    shown = [~np.isnan(group.turns.chosen) for group in groups]
    return len(groups) > 1 or any(table.mean(axis=0).min(initial=1) < ALWAYS for table in shown if len(table))


def strength_tests(strengths: Strengths, family: Family) -> list[tuple[Result, Result]]:
    """Of every two models, in the order of ``combinations``: the test by worker, and if all turns were independent; each
    with Holm's correction over all pairs."""
    families = [family] * len(strengths.pairs)
    of_independent = corrected([if_independent(pair) for pair in strengths.pairs], families)
    return list(zip(corrected(strengths.pairs, families), of_independent, strict=True))
