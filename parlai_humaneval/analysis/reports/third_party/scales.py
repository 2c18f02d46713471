"""Whole dialogues rated on scales (Ma et al. 2023, Table 3: dimensions and overall quality)."""

from __future__ import annotations

import pandas as pd

from parlai_humaneval.analysis.reports.facts import LEVEL
from parlai_humaneval.analysis.reports.third_party.types import ScaleAgreement, ScaleGroup, ScaleRow
from parlai_humaneval.statistics.agreement import krippendorff_alpha, rating_counts
from parlai_humaneval.statistics.means import clustered_mean


def scale_groups(ratings: pd.DataFrame, *, seed: int) -> list[ScaleGroup]:
    """A group for each setting and metric, of ratings that no own rater gave."""
    alone = ratings[ratings["own_value"].isna().to_numpy(dtype=bool)]
    return [_group(rows, str(s), str(m), seed) for (s, m), rows in alone.groupby(["setting", "metric"], sort=True)]


def _group(rows: pd.DataFrame, setting: str, metric: str, seed: int) -> ScaleGroup:
    return ScaleGroup(
        setting=setting,
        metric=metric,
        n_dialogues=int(rows["dialogue_id"].nunique()),
        n_workers=int(rows["worker_id"].nunique()),
        rows=[
            _row(own, str(model), str(criterion))
            for criterion, of_it in rows.groupby("criterion", sort=False)
            for model, own in of_it.groupby("model", sort=True)
        ],
        agreement=[_agreement(own, str(criterion), seed) for criterion, own in rows.groupby("criterion", sort=False)],
    )


def _row(rows: pd.DataFrame, model: str, criterion: str) -> ScaleRow:
    low, high = rows["minimum"].min(), rows["maximum"].max()
    return ScaleRow(
        model=model,
        criterion=criterion,
        n=len(rows),
        mean=clustered_mean(
            rows["value"].to_numpy(dtype=float),
            rows["worker_id"].to_numpy(dtype=object),
            name=f"{criterion} of {model}",
            limits=None if pd.isna(low) or pd.isna(high) else (float(low), float(high)),
            level=LEVEL,
        ),
    )


def _agreement(rows: pd.DataFrame, criterion: str, seed: int) -> ScaleAgreement:
    counts, values, dialogues = rating_counts(rows["dialogue_id"], rows["value"].to_numpy(dtype=float))
    low, high = rows["minimum"].min(), rows["maximum"].max()
    return ScaleAgreement(
        criterion=criterion,
        minimum=None if pd.isna(low) else float(low),
        maximum=None if pd.isna(high) else float(high),
        alpha=krippendorff_alpha(counts, dialogues, [float(str(value)) for value in values], seed=seed),
    )
