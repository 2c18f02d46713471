"""Tables with only the columns of the exchange format, as a study from elsewhere would bring them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.columns import TABLES
from parlai_humaneval.analysis.frames import Tables
from parlai_humaneval.analysis.table_files import read_tables


def exchange_tables(folder: Path, frames: Mapping[str, pd.DataFrame]) -> Tables:
    """Written as CSV and read back; each frame must hold just the columns that a table from anywhere must have."""
    for name, frame in frames.items():
        wanted = {column.name for column in TABLES[name] if column.exchange}
        assert set(frame.columns) == wanted, f"{name}: {wanted ^ set(frame.columns)}"
        frame.to_csv(folder / f"{name}.csv", index=False)
    return read_tables(folder)


def comparisons_frame(
    chances: Mapping[tuple[str, str], float],
    *,
    n: int = 120,
    workers: int = 15,
    tie: float = 0.1,
    dialogues: int = 20,
    metrics: tuple[str, ...] = ("preference",),
    seed: int = 0,
) -> pd.DataFrame:
    """``n`` judgements of each pair and metric: the first-named model wins with its chance where it is no tie.

    Every second row of a pair is written with the models the other way round.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for metric in metrics:
        for (first, second), chance in chances.items():
            for i in range(n):
                winner = "tie" if rng.random() < tie else first if rng.random() < chance else second
                a, b = (first, second) if i % 2 else (second, first)
                rows.append(
                    {
                        "item_id": f"{first}-{second}-{i}",
                        "worker_id": f"w{rng.integers(workers)}",
                        "metric": metric,
                        "model_a": a,
                        "model_b": b,
                        "dialogue_a": f"{a}{rng.integers(dialogues)}",
                        "dialogue_b": f"{b}{rng.integers(dialogues)}",
                        "winner": winner,
                        "seconds": float(rng.integers(20, 120)),
                    }
                )
    return pd.DataFrame(rows)
