"""Dialogues that were not finished: which rows are of them, in tables from elsewhere, and how they are made to count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.facts import Mask
from parlai_humaneval.tables.from_records import Tables


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
