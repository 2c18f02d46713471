"""Win rates over the turns of dialogues: Lin, Sqr and winner-takes-all (Smith et al. 2022, §4.1).

A dialogue in which a model won x turns and lost y counts x : y (Lin), x² : y² (Sqr) or, in the limit,
everything to the winner (WTA). Lin pools all turns; Sqr and WTA are means over dialogues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Ties = Literal["half", "exclude", "loss"]
WinsLosses = Sequence[tuple[int, int]] | Sequence[Sequence[int]] | npt.NDArray[np.generic]


def lin(wins: float, losses: float) -> float | None:
    """wins / (wins + losses); None where nothing was decided."""
    return wins / (wins + losses) if wins + losses else None


def lin_pooled(dialogues: WinsLosses) -> float | None:
    """Lin over the turns of all ``dialogues``, rows of (wins, losses)."""
    wins, losses = _columns(dialogues)
    return lin(float(wins.sum()), float(losses.sum()))


def sqr(dialogues: WinsLosses) -> float | None:
    """Mean over ``dialogues`` of wins² / (wins² + losses²); undecided dialogues are left out."""
    return _mean(sqr_scores(*_columns(dialogues)))


def wta(dialogues: WinsLosses, ties: Ties = "half") -> float | None:
    """Share of ``dialogues`` with more wins than losses.

    ``ties``: a dialogue with as many wins as losses counts half, is left out, or counts as lost.
    """
    return _mean(wta_scores(*_columns(dialogues), ties=ties))


def sqr_scores(wins: Floats, losses: Floats) -> Floats:
    """wins² / (wins² + losses²) of each dialogue; nan where nothing was decided."""
    squares = wins**2 + losses**2
    scores = np.full(squares.shape, np.nan)
    np.divide(wins**2, squares, out=scores, where=squares > 0)
    return scores


def wta_scores(wins: Floats, losses: Floats, ties: Ties = "half") -> Floats:
    """1, 0 or the value of a tie for each dialogue; nan where it does not count."""
    tied = {"half": 0.5, "exclude": np.nan, "loss": 0.0}[ties]
    scores = np.where(wins > losses, 1.0, np.where(wins < losses, 0.0, tied))
    return np.where(wins + losses > 0, scores, np.nan)


@dataclass(frozen=True)
class DialogueCounts:
    """One entry a dialogue: its worker, and the turns that a model won, lost and tied."""

    workers: npt.NDArray[np.object_]
    wins: Floats
    losses: Floats
    ties: Floats


def count_dialogues(comparisons: pd.DataFrame, model: str, first_turn: int = 1) -> DialogueCounts:
    """Wins, losses and ties of ``model`` in each dialogue, from turn ``first_turn`` on.

    ``comparisons``: rows of two models only (columns ``dialogue_a``, ``worker_id``, ``winner``, ``turn``).
    """
    rows = comparisons[_from_turn(comparisons, first_turn)]
    codes, dialogues = pd.factorize(rows["dialogue_a"])
    won, tied = outcomes(rows, model)
    size = len(dialogues)
    workers = np.full(size, "", dtype=object)
    workers[codes] = rows["worker_id"].to_numpy(dtype=object)
    wins = np.bincount(codes, weights=won, minlength=size).astype(float)
    ties = np.bincount(codes, weights=tied, minlength=size).astype(float)
    losses = np.bincount(codes, minlength=size).astype(float) - wins - ties
    return DialogueCounts(workers=workers, wins=wins, losses=losses, ties=ties)


def _from_turn(comparisons: pd.DataFrame, first_turn: int) -> npt.NDArray[np.bool_]:
    """Which rows belong to turn ``first_turn`` or later; rows without a turn belong to turn 1."""
    turns = comparisons["turn"].to_numpy(dtype=float, na_value=1)
    return np.asarray(turns >= first_turn, dtype=bool)


def outcomes(comparisons: pd.DataFrame, model: str) -> tuple[Floats, Floats]:
    """For each row 1 where ``model`` won, and 1 where it was a tie."""
    winner = comparisons["winner"].to_numpy(dtype=object)
    return (winner == model).astype(float), (winner == "tie").astype(float)


def _columns(dialogues: WinsLosses) -> tuple[Floats, Floats]:
    table = np.asarray(dialogues, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _mean(scores: Floats) -> float | None:
    counted = scores[~np.isnan(scores)]
    return float(counted.mean()) if counted.size else None
