"""Tables with only the columns of the exchange format, as a study from elsewhere would bring them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from make_live_records import make_ticked

from parlai_humaneval.schema.records import DialogueRecord
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import TABLES


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


def ratings_frame(means: dict[str, float], *, n: int = 40, seed: int = 0, workers: int = 10) -> pd.DataFrame:
    """``n`` dialogues of each model rated 1 to 5 on two criteria; exchange columns only."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "dialogue_id": f"{model}{i}",
            "worker_id": worker,
            "model": model,
            "criterion": criterion,
            "value": float(np.clip(round(rng.normal(mean, 1)), 1, 5)),
            "degraded": "",
        }
        for model, mean in means.items()
        for i in range(n)
        for worker in [f"w{rng.integers(workers)}"]
        for criterion in ("engaging", "human")
    ]
    return pd.DataFrame(rows)


def tick_study(weights: list[float], n: int = 60, seed: int = 3) -> list[DialogueRecord]:
    """Dialogues whose final rating is 1 + Σ weight · (turn was found good), over two criteria."""
    rng = np.random.default_rng(seed)
    records = []
    for i in range(n):
        ticks = [[name for name in ("engaging", "humanlike") if rng.random() < 0.5] for _ in weights]
        score = 1 + sum(w * len(t) / 3 for w, t in zip(weights, ticks, strict=True))
        model = "a" if i % 2 else "b"
        ratings = {"engaging": score - 0.25, "humanlike": score + 0.25}
        records.append(make_ticked(f"d{i}", ticks, model=model, worker=f"w{i % 9}", ratings=ratings))
    return records
