"""Which rows of the tables count: those of finished dialogues, and how unfinished ones are made to count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.tables.from_records import Tables

Mask = npt.NDArray[np.bool_]


def finished(rows: pd.DataFrame) -> Mask:
    """Which rows are of complete dialogues; tables from elsewhere, without a status, hold complete ones."""
    return np.asarray(rows["dialogue_status"].fillna("complete").eq("complete"), dtype=bool)


def that_count(rows: pd.DataFrame, include_partial: bool) -> Mask:
    """Which rows the numbers rest on: those of complete dialogues, or all."""
    return np.ones(len(rows), dtype=bool) if include_partial else finished(rows)


def is_set(rows: pd.DataFrame, column: str, missing: int = 0) -> Mask:
    """Where a 0/1 column is 1; ``missing`` is what an empty cell means."""
    return np.asarray(rows[column].fillna(missing).astype(int) == 1, dtype=bool)


def unique(values: pd.Series[Any]) -> list[str]:
    return sorted(str(value) for value in values.dropna().unique())


def median(seconds: pd.Series[Any]) -> float | None:
    known = seconds.dropna()
    return float(known.median()) if len(known) else None


def of_unfinished(dialogue: pd.Series[Any], worker: pd.Series[Any], dialogues: pd.DataFrame) -> Mask:
    """Where the pair of dialogue and worker stands in ``dialogues`` with ``complete`` 0."""
    left = dialogues[(dialogues["complete"] == 0).to_numpy(dtype=bool)]
    if left.empty:
        return np.zeros(len(dialogue), dtype=bool)
    ended = pd.MultiIndex.from_frame(left[["dialogue_id", "worker_id"]])
    return np.asarray(pd.MultiIndex.from_arrays([dialogue, worker]).isin(ended), dtype=bool)


def taken_as_finished(tables: Tables) -> Tables:
    """The tables with every live dialogue finished, so that answered turns of all count; judgements stay as they are."""
    turns, comparisons = tables.turns, tables.comparisons
    of_turns = comparisons["turn"].notna() & comparisons["judgement_id"].isna()
    return replace(
        tables,
        dialogues=tables.dialogues.assign(complete=1, status="complete"),
        turns=turns.assign(dialogue_status=turns["dialogue_status"].where(turns["judgement_id"].notna(), "complete")),
        comparisons=comparisons.assign(
            dialogue_status=comparisons["dialogue_status"].where(~of_turns, "complete"),
        ),
    )
