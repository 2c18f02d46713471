"""Which rows of tables from elsewhere belong to dialogues that the table of dialogues calls unfinished."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.facts import Mask


def of_unfinished(dialogue: pd.Series[Any], worker: pd.Series[Any], dialogues: pd.DataFrame) -> Mask:
    """Where the pair of dialogue and worker stands in ``dialogues`` with ``complete`` 0."""
    left = dialogues[(dialogues["complete"] == 0).to_numpy(dtype=bool)]
    if left.empty:
        return np.zeros(len(dialogue), dtype=bool)
    ended = pd.MultiIndex.from_frame(left[["dialogue_id", "worker_id"]])
    return np.asarray(pd.MultiIndex.from_arrays([dialogue, worker]).isin(ended), dtype=bool)
