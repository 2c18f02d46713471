"""What was collected: a line for each technique, setting and metric."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from parlai_humaneval.report.document import Design
from parlai_humaneval.tables.build import Tables

HUMAN = "human"
"""In segments the people whose dialogues were judged; in other tables a model may have this name."""
Cell = tuple[str, str, str]
"""Technique, setting, metric; empty where a table does not say."""

_MODEL_COLUMNS = {
    "turns": ("model",),
    "comparisons": ("model_a", "model_b"),
    "ratings": ("model",),
    "segments": ("model", "opponent"),
}
"""Tables of answers; ``points`` repeats turns."""


def models_in(tables: Tables) -> set[str]:
    """Every model that was rated; people whose dialogues were rated are none."""
    return {name for table, columns in _MODEL_COLUMNS.items() for name in _model_names(getattr(tables, table), table)}


def designs_of(tables: Tables) -> list[Design]:
    """Sorted by technique, setting and metric."""
    rows: dict[Cell, dict[str, int]] = {}
    models: dict[Cell, set[str]] = {}
    workers: dict[Cell, set[str]] = {}
    for table, columns in _MODEL_COLUMNS.items():
        for cell, own in _cells(getattr(tables, table)[["technique", "setting", "metric", "worker_id", *columns]]):
            rows.setdefault(cell, {})[table] = len(own)
            models.setdefault(cell, set()).update(_model_names(own, table))
            workers.setdefault(cell, set()).update(map(str, own["worker_id"].unique()))
    return [
        Design(
            technique=cell[0],
            setting=cell[1],
            metric=cell[2],
            models=sorted(models[cell]),
            workers=len(workers[cell]),
            tables=rows[cell],
        )
        for cell in sorted(rows)
    ]


def _cells(frame: pd.DataFrame) -> Iterator[tuple[Cell, pd.DataFrame]]:
    keys = frame[["technique", "setting", "metric"]].fillna("").astype(str)
    for cell, own in frame.groupby([keys["technique"], keys["setting"], keys["metric"]], sort=True):
        technique, setting, metric = map(str, cell)
        yield (technique, setting, metric), own


def _model_names(frame: pd.DataFrame, table: str) -> Iterator[str]:
    for column in _MODEL_COLUMNS[table]:
        for cell in frame[column].dropna().unique():
            yield from (name for name in str(cell).split(";") if table != "segments" or name != HUMAN)
