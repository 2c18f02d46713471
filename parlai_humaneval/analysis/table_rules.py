"""What must hold within a row, and between the rows of one turn, beyond the type of each column.

The messages name table, column and row, what stands there and what was expected, as those of
:mod:`parlai_humaneval.analysis.columns` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.columns import TableError, TableName, refuse
from parlai_humaneval.analysis.table_rows import TIE

LEAST: Mapping[TableName, Mapping[str, int]] = {
    "turns": {"turn": 1, "position": 0, "seconds": 0, "latency_s": 0, "rank": 1},
    "dialogues": {"seconds": 0, "n_turns": 0, "n_turns_started": 0, "final_seconds": 0},
    "comparisons": {"seconds": 0, "turn": 1, "position_a": 0, "side": 1, "rank_a": 1, "rank_b": 1},
    "ratings": {"seconds": 0},
    "points": {"points": 0, "rank": 1, "n_turns": 0},
    "segments": {"k": 1, "seconds": 0},
    "judgements": {"seconds": 0},
}
"""Table → column → smallest value that it may have."""

_TURN = ["dialogue_id", "worker_id", "setting", "metric", "turn", "judgement_id"]


def check_rules(table: TableName, frame: pd.DataFrame) -> None:
    """Refuse a table (as :func:`~parlai_humaneval.analysis.columns.typed` gives it) with rows that cannot be.

    Empty cells are never refused here. Nothing is changed.

    Raises:
        TableError: a value below the least possible one; a winner that is neither model nor tie; a model compared
            with itself; a rating outside its own scale; a time that is no ISO 8601 time; rows of one turn that
            contradict each other (several replies with which the dialogue went on, different seconds …).
    """
    if frame.empty:
        return
    for column, least in LEAST[table].items():
        refuse(table, column, frame[column], _holds(frame[column] < least), f"{least} or more")
    for check in _CHECKS.get(table, ()):
        check(frame)


def _holds(mask: pd.Series[Any]) -> pd.Series[bool]:
    """A comparison with a missing value is no fault."""
    held: pd.Series[bool] = mask.fillna(False).astype(bool)
    return held


def _two_models(frame: pd.DataFrame) -> None:
    models, winner = frame[["model_a", "model_b"]], frame["winner"]
    same = models["model_a"] == models["model_b"]
    refuse("comparisons", "model_b", models["model_b"], same, "another model than model_a; a model has no winner alone")
    known = (winner == models["model_a"]) | (winner == models["model_b"]) | (winner == TIE)

    def wanted(place: int) -> str:
        return f"{models['model_a'].iloc[place]!r} (model_a), {models['model_b'].iloc[place]!r} (model_b) or {TIE!r}"

    refuse("comparisons", "winner", winner, ~known, wanted)


def _own_scale(frame: pd.DataFrame) -> None:
    value, low, high = (frame[name] for name in ("value", "minimum", "maximum"))
    refuse("ratings", "maximum", high, _holds(high < low), lambda place: f"{low.iloc[place]:g} (minimum) or more")
    refuse("ratings", "value", value, _holds(value < low), lambda place: f"{low.iloc[place]:g} (minimum) or more")
    refuse("ratings", "value", value, _holds(value > high), lambda place: f"{high.iloc[place]:g} (maximum) or less")


def _started(table: TableName) -> Callable[[pd.DataFrame], None]:
    def check(frame: pd.DataFrame) -> None:
        times = frame["started"]
        known = pd.to_datetime(times, errors="coerce", utc=True, format="ISO8601").notna()
        refuse(table, "started", times, ~(known | times.isna()), "an ISO 8601 time, like 2024-05-01T09:30:00+00:00")

    return check


def _one_turn(frame: pd.DataFrame) -> None:
    """Rows of one turn agree, and the dialogue went on in one way."""
    turn = frame.groupby(_TURN, dropna=False, sort=False).ngroup()
    for column in ("seconds", "written"):
        _same_within(frame, turn, column)
    continued = _holds(frame["continued"] == 1)
    single = continued & ~_holds(frame["continued_each"] == 1)
    counts = np.bincount(turn.to_numpy(), weights=single.to_numpy(dtype=float))
    _refuse_several(frame, turn, single & (counts[turn.to_numpy()] > 1))
    refuse(
        "turns",
        "continued",
        frame["continued"],
        continued & _holds(frame["written"] == 1),
        "0, as written is 1: the dialogue went on with what the rater wrote",
    )


def _same_within(frame: pd.DataFrame, turn: pd.Series[int], column: str) -> None:
    values = frame[column]
    codes = turn.to_numpy()
    first = np.unique(codes, return_index=True)[1][codes]
    leader = values.iloc[first].set_axis(frame.index)
    differs = ~(_holds(values == leader) | (values.isna() & leader.isna()))

    def wanted(place: int) -> str:
        there = leader.iloc[place]
        return f"{'an empty cell' if pd.isna(there) else there} as in row {first[place] + 1} of the same turn"

    refuse("turns", column, values, differs, wanted)


def _refuse_several(frame: pd.DataFrame, turn: pd.Series[int], several: pd.Series[bool]) -> None:
    if several.any():
        places = np.flatnonzero(several.to_numpy())
        first = places[0]
        rows = [int(place) + 1 for place in places if turn.iloc[place] == turn.iloc[first]]
        raise TableError(
            f"turns.continued: 1 in rows {', '.join(map(str, rows))}, which are one turn (dialogue_id "
            f"{frame['dialogue_id'].iloc[first]!r}, turn {frame['turn'].iloc[first]}); a dialogue goes on with one "
            "reply. Put 0 in the others, or 1 in continued_each where every model went on with its own.",
            places.tolist(),
        )


_CHECKS: Mapping[TableName, tuple[Callable[[pd.DataFrame], None], ...]] = {
    "turns": (_one_turn,),
    "dialogues": (_started("dialogues"),),
    "comparisons": (_two_models,),
    "ratings": (_own_scale,),
    "points": (_started("points"),),
    "judgements": (_started("judgements"),),
}
