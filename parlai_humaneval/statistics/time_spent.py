"""Rater time by technique and setting: how long a dialogue, judgement, segment or comparison took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.tables.counting import is_set
from parlai_humaneval.tables.from_records import Tables


def spent_by_unit(tables: Tables, *, level: float = 0.95) -> list[dict[str, Any]]:
    """A row per technique, setting and unit, from the tables that say most.

    Live dialogues from ``dialogues``, else what ``turns`` say; judgements of finished dialogues from ``judgements``
    (attention checks apart), else from ``segments`` and ``comparisons``. Units without a time do not count. Keys:
    ``technique``, ``setting``, ``unit``, ``n``, ``n_workers``, ``median_seconds``, ``mean_seconds`` with its interval
    clustered by worker (``mean_low``, ``mean_high``), and ``hours``, all of them together.
    """
    parts = list(_units(tables))
    if not parts:
        return []
    units = pd.concat(parts, ignore_index=True)
    units = units[units["seconds"].notna().to_numpy(dtype=bool)]
    units = units.assign(**{name: units[name].fillna("") for name in ("technique", "setting")})
    groups = units.groupby(["technique", "setting", "unit"], sort=True)
    return [_row(own, str(technique), str(setting), str(unit), level) for (technique, setting, unit), own in groups]


def _row(rows: pd.DataFrame, technique: str, setting: str, unit: str, level: float) -> dict[str, Any]:
    seconds = rows["seconds"].to_numpy(dtype=float)
    mean = clustered_mean(seconds, rows["worker_id"].to_numpy(dtype=object), limits=(0.0, np.inf), level=level)
    return {
        "technique": technique,
        "setting": setting,
        "unit": unit,
        "n": len(rows),
        "n_workers": int(rows["worker_id"].nunique()),
        "median_seconds": float(np.median(seconds)),
        "mean_seconds": mean.estimate,
        "mean_low": mean.ci_low,
        "mean_high": mean.ci_high,
        "hours": float(seconds.sum()) / 3600,
    }


def _units(tables: Tables) -> Iterator[pd.DataFrame]:
    if len(tables.dialogues):
        yield _named(tables.dialogues, "dialogue")
    elif len(tables.turns):
        own = tables.turns[tables.turns["judgement_id"].isna().to_numpy(dtype=bool)]
        yield _named(own.drop_duplicates(["dialogue_id", "worker_id", "setting", "metric", "turn"]), "turn")
    if len(tables.judgements):
        checks = is_set(tables.judgements, "gold")
        yield _named(tables.judgements[~checks], "judgement")
        yield _named(tables.judgements[checks], "attention check")
        return
    yield _named(tables.segments.drop_duplicates(["dialogue_id", "worker_id", "k"]), "segment")
    rows = tables.comparisons
    between = (rows["dialogue_a"] != rows["dialogue_b"]).to_numpy(dtype=bool)
    # Replies of one turn are in the time of their dialogue or turn.
    alone = between | (not len(tables.dialogues) and not len(tables.turns))
    yield _named(rows[alone].drop_duplicates(["item_id", "worker_id", "metric"]), "comparison")


def _named(rows: pd.DataFrame, unit: str) -> pd.DataFrame:
    found: pd.DataFrame = rows[["technique", "setting", "worker_id", "seconds"]].assign(unit=unit)
    return found
