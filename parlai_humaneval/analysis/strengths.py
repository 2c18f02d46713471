"""Strengths of models from tables: Plackett–Luce of turns, Bradley–Terry of comparisons, with position effects.

They do not depend on the order of dialogues, as TrueSkill does, and their intervals shrink with more data.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.choice_strengths import plackett_luce
from parlai_humaneval.analysis.pair_strengths import bradley_terry
from parlai_humaneval.analysis.strength_results import Strengths
from parlai_humaneval.analysis.turn_tables import ChoiceGroup

__all__ = ["Strengths", "bradley_terry", "comparison_strengths", "plackett_luce", "turn_strengths"]


def turn_strengths(group: ChoiceGroup, *, level: float = 0.95) -> Strengths | None:
    """Plackett–Luce strengths of the models of ``group``, clustered by worker; None where single replies were rated.

    Where positions are known they are modelled; equal replies, shown once, are picked together at the same position.
    See :func:`plackett_luce` for one pick a turn, several picks, and what cannot be estimated.
    """
    if group.kind == "single" or len(group.models) < 2:
        return None
    positions = None if np.isnan(group.positions).all() else group.positions
    turns = group.turns
    return plackett_luce(turns.chosen, turns.workers, positions=positions, models=turns.models, level=level)


def comparison_strengths(comparisons: pd.DataFrame, *, level: float = 0.95) -> Strengths | None:
    """Bradley–Terry strengths, ties counted, of the rows of one metric of a ``comparisons`` table, clustered by worker.

    Which model stood first (left or top) is read from ``side``, else, of two replies, from ``position_a``; where that is
    not known of every row the effect of the place is not modelled. None for a table of no rows.

    Raises:
        ValueError: a winner is neither of the two models nor ``tie``, or a model stands against itself.
    """
    if comparisons.empty:
        return None
    a, b, winner = (comparisons[name].to_numpy(dtype=object) for name in ("model_a", "model_b", "winner"))
    unknown = (winner != a) & (winner != b) & (winner != "tie")
    if unknown.any():
        raise ValueError(f"winner {winner[unknown][0]!r} is neither of the two models nor 'tie'.")
    outcome = np.where(winner == "tie", 0, np.where(winner == a, 1, -1))
    # 1: that of model_a stood first, 2: second. Of more than two replies the other's place is not in the table.
    of_two = comparisons["position_a"].where(comparisons["n_models"].eq(2).fillna(False))
    first = comparisons["side"].fillna(of_two)
    known = bool(first.notna().all())
    swap = (first == 2).fillna(False).to_numpy(dtype=bool)
    return bradley_terry(
        np.where(swap, b, a),
        np.where(swap, a, b),
        np.where(swap, -outcome, outcome),
        comparisons["worker_id"].to_numpy(dtype=object),
        slots=known,
        level=level,
    )
