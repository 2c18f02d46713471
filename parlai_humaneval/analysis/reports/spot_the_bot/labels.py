"""Who was taken for what, and how far raters agree on it (Deriu et al. 2020, Table 3)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.facts import LEVEL
from parlai_humaneval.analysis.reports.spot_the_bot.types import LabelAgreement, LabelRow
from parlai_humaneval.statistics.agreement import rating_counts
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.tables.schema import LABELS


def label_rows(rows: pd.DataFrame) -> list[LabelRow]:
    """Every model over all lengths, then at each; the one most often taken for a person first."""
    whole = [_label_row(own, str(model), None) for model, own in rows.groupby("model", sort=True)]
    whole.sort(key=lambda row: -(row.taken_for_human.estimate or 0))
    place = {row.model: number for number, row in enumerate(whole)}
    by_length = [_label_row(own, str(m), int(str(k))) for (m, k), own in rows.groupby(["model", "k"], sort=True)]
    return whole + sorted(by_length, key=lambda row: place[row.model])


def _label_row(rows: pd.DataFrame, model: str, k: int | None) -> LabelRow:
    at = model if k is None else f"{model} after {k} exchanges"
    counts = rows["label"].value_counts()
    return LabelRow(
        model=model,
        k=k,
        n=len(rows),
        **{label: int(counts.get(label, 0)) for label in LABELS},
        taken_for_human=_share(rows, "human", f"{at} taken for a person"),
        spotted=_share(rows, "bot", f"{at} spotted"),
    )


def _share(rows: pd.DataFrame, label: str, name: str) -> Result:
    """An estimate, clustered by worker: it is tested against nothing."""
    is_it = (rows["label"] == label).to_numpy(dtype=float)
    sums = cluster_sums(is_it, np.ones_like(is_it), rows["worker_id"].to_numpy(dtype=object))
    return clustered_share(sums, name=name, level=LEVEL).model_copy(update={"p_value": None, "statistic": None})


def label_agreement(rows: pd.DataFrame, speakers: pd.Series[str]) -> list[LabelAgreement]:
    """For each model and label, over pairs of raters of the same speaker in the same segment; clustered by dialogue."""
    counts, labels, names = rating_counts(speakers, rows["label"])
    first = rows.assign(speaker=speakers).drop_duplicates("speaker").set_index("speaker").loc[names]
    models, dialogues = first["model"].to_numpy(dtype=object), first["dialogue_id"].to_numpy(dtype=object)
    raters = counts.sum(axis=1)
    found = []
    for model in sorted(set(models[raters > 1])):
        own = (models == model) & (raters > 1)
        n = raters[own]
        for label in LABELS:
            given = counts[own, labels.index(label)] if label in labels else np.zeros_like(n)
            both = given * (given - 1) / 2
            either = n * (n - 1) / 2 - (n - given) * (n - given - 1) / 2
            name = f"agreement that {model} is {label}"
            share = clustered_share(
                cluster_sums(both, either, dialogues[own]), name=name, level=LEVEL, cluster="dialogue"
            )
            found.append(
                LabelAgreement(
                    model=model,
                    label=label,
                    either=int(either.sum()),
                    both=int(both.sum()),
                    share=share.model_copy(update={"p_value": None, "statistic": None}),
                )
            )
    return found
