"""Rankings of the replies of one turn (Ma et al. 2023: preference ranking on a fixed context)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.agreed import agreement_of
from parlai_humaneval.analysis.reports.duels import duels_of
from parlai_humaneval.analysis.reports.facts import LEVEL
from parlai_humaneval.analysis.reports.third_party.types import RankGroup, RankRow
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.correlation import kendall_tau_b, tau_b_of_pairs
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import binomial_test


def rank_groups(turns: pd.DataFrame, pairs: pd.DataFrame, *, seed: int) -> list[RankGroup]:
    """A group for each metric under which replies were ranked."""
    ranked = turns[turns["rank"].notna().to_numpy(dtype=bool)]
    compared = pairs[pairs["rank_a"].notna().to_numpy(dtype=bool)]
    return [
        _group(rows, compared[(compared["metric"] == metric).to_numpy(dtype=bool)], str(metric), seed)
        for metric, rows in ranked.groupby("metric", sort=True)
    ]


def _group(rows: pd.DataFrame, pairs: pd.DataFrame, metric: str, seed: int) -> RankGroup:
    most = int(rows["rank"].max())
    models = [_row(own, str(model), most) for model, own in rows.groupby("model", sort=True)]
    models.sort(key=lambda row: row.mean_rank.estimate or 0)
    picked = [row for row in models if row.own_picked is not None]
    places, shares = [-(row.mean_rank.estimate or 0) for row in picked], [row.own_picked or 0 for row in picked]
    lead = pairs["rank_b"].to_numpy(dtype=float) - pairs["rank_a"].to_numpy(dtype=float)
    who = pairs["item_id"] + "\x00" + pairs["turn"].astype(str) + "\x00" + pairs["model_a"] + "\x00" + pairs["model_b"]
    return RankGroup(
        metric=metric,
        n_rankings=len(rows.drop_duplicates(["dialogue_id", "worker_id", "turn"])),
        n_turns=len(rows.drop_duplicates(["dialogue_id", "turn"])),
        n_workers=int(rows["worker_id"].nunique()),
        models=models,
        pairs=duels_of(pairs, lambda wins, losses: binomial_test(wins, wins + losses, name="wins of A")),
        tau=_tau(pairs, lead),
        tau_of_models=kendall_tau_b(places, shares),
        agreement=agreement_of(who, np.sign(lead), pairs["dialogue_a"], cluster="dialogue", seed=seed),
    )


def _row(rows: pd.DataFrame, model: str, most: int) -> RankRow:
    workers = rows["worker_id"].to_numpy(dtype=object)
    best = rows["selected"].to_numpy(dtype=float)
    name = f"{model} ranked best"
    share = clustered_share(cluster_sums(best, np.ones_like(best), workers), name=name, level=LEVEL)
    own = rows["own_selected"].dropna()
    return RankRow(
        model=model,
        n=len(rows),
        mean_rank=clustered_mean(
            rows["rank"].to_numpy(dtype=float), workers, name=f"mean rank of {model}", limits=(1, most), level=LEVEL
        ),
        best=share.model_copy(update={"p_value": None, "statistic": None}),
        own_picked=float(own.mean()) if len(own) else None,
    )


def _tau(pairs: pd.DataFrame, lead: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Result:
    """Over rankings of turns in which the own rater was asked and picked some of the replies, but not all."""
    asked = pairs["own_winner"].notna().to_numpy(dtype=bool)
    rows = pairs[asked]
    own = (rows["own_winner"] == rows["model_a"]).to_numpy(dtype=float)
    own = own - (rows["own_winner"] == rows["model_b"]).to_numpy(dtype=float)
    ranking = rows["item_id"] + "\x00" + rows["turn"].astype(str) + "\x00" + rows["worker_id"]
    workers = rows.assign(ranking=ranking).drop_duplicates("ranking")["worker_id"].to_numpy(dtype=object)
    tau = tau_b_of_pairs(lead[asked], own, ranking.to_numpy(dtype=object))
    return clustered_mean(tau, workers, name="Kendall's τ-b with the own rater's picks", limits=(-1, 1), level=LEVEL)
