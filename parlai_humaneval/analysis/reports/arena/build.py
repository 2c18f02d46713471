"""Tables of verdicts → the report of an arena (two partners side by side, each with its own history)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.arena import words
from parlai_humaneval.analysis.reports.arena.types import ArenaModel, ArenaPair, ArenaReport
from parlai_humaneval.analysis.reports.facts import CLUSTERED, LEVEL, common_facts, methods_of
from parlai_humaneval.analysis.reports.types import PlaceRow
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.correction import holm
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import binomial_p
from parlai_humaneval.statistics.win_rates import Floats, outcomes
from parlai_humaneval.tables.counting import finished, is_set, that_count, unique
from parlai_humaneval.tables.from_records import Tables

METHODS = [
    "Win rate: verdicts for the model, of those for either; ties and “both bad” are left out of it, and counted beside.",
    CLUSTERED + " Tested against one half.",
    "Binomial p: two-sided, takes all verdicts as independent.",
]
HOLM = "Holm: clustered p, corrected for all pairs of the report."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> ArenaReport:
    """Who was found better, for each pair of models, setting and metric; reads ``comparisons`` of whole dialogues.

    Only complete dialogues count unless ``include_partial`` (a verdict may be given before the last question).
    """
    verdicts = tables.comparisons
    verdicts = verdicts[verdicts["turn"].isna().to_numpy(dtype=bool)]
    verdicts = verdicts.assign(setting=verdicts["setting"].fillna(""))
    keys = ["setting", "metric", "model_a", "model_b"]
    pairs = [_pair(rows, key, include_partial) for key, rows in verdicts.groupby(keys, sort=True)]
    _correct(pairs)
    counted = verdicts[that_count(verdicts, include_partial)]
    for pair in pairs:
        pair.headline = words.headline(pair)
        pair.remarks = words.remarks(pair, include_partial)
    return ArenaReport(
        **common_facts(tables, include_partial=include_partial, seed=seed),
        headline=" ".join(pair.headline for pair in pairs) or words.NOTHING,
        models=[
            _model(rows, str(setting), str(metric), model)
            for (setting, metric), rows in counted.groupby(["setting", "metric"], sort=True)
            for model in unique(pd.concat([rows["model_a"], rows["model_b"]]))
        ],
        pairs=pairs,
        methods=methods_of(METHODS if pairs else [], HOLM, [pair.win_rate_a for pair in pairs]),
    )


def _pair(rows: pd.DataFrame, key: tuple[object, ...], include_partial: bool) -> ArenaPair:
    setting, metric, model_a, model_b = (str(part) for part in key)
    counted = rows[that_count(rows, include_partial)]
    won, tied = outcomes(counted, model_a)
    bad = int(is_set(counted, "both_bad").sum())
    wins, ties = int(won.sum()), int(tied.sum())
    losses = len(counted) - wins - ties
    return ArenaPair(
        setting=setting,
        metric=metric,
        model_a=model_a,
        model_b=model_b,
        n_verdicts=len(counted),
        n_workers=int(counted["worker_id"].nunique()),
        wins_a=wins,
        wins_b=losses,
        ties=ties - bad,
        both_bad=bad,
        win_rate_a=_rate(won, 1 - tied, counted, f"win rate of {model_a} over {model_b}"),
        binomial_p=binomial_p(wins, wins + losses),
        by_position=_by_position(counted, won, tied),
        unfinished_dialogues=int((~finished(rows)).sum()),
    )


def _rate(won: Floats, decided: Floats, rows: pd.DataFrame, name: str) -> Result:
    workers = rows["worker_id"].to_numpy(dtype=object)
    return clustered_share(cluster_sums(won, decided, workers), name=name, level=LEVEL)


def _by_position(rows: pd.DataFrame, won: Floats, tied: Floats) -> list[PlaceRow]:
    """How often the partner at each side won, of verdicts for either whose sides are known."""
    known = rows["position_a"].notna().to_numpy(dtype=bool) & (tied == 0)
    a_first = rows["position_a"].to_numpy(dtype=float, na_value=np.nan)[known] == 1
    first_won: Floats = np.where(a_first, won[known], 1 - won[known])
    return [
        PlaceRow(
            position=place,
            shown=int(known.sum()),
            chosen=int(chosen.sum()),
            share=_rate(chosen, np.ones_like(chosen), rows[known], f"position {place}"),
        )
        for place, chosen in ((1, first_won), (2, 1 - first_won))
    ]


def _model(rows: pd.DataFrame, setting: str, metric: str, model: str) -> ArenaModel:
    own = rows[((rows["model_a"] == model) | (rows["model_b"] == model)).to_numpy(dtype=bool)]
    won, tied = outcomes(own, model)
    bad = int(is_set(own, "both_bad").sum())
    return ArenaModel(
        setting=setting,
        metric=metric,
        model=model,
        wins=int(won.sum()),
        losses=int((1 - won - tied).sum()),
        ties=int(tied.sum()) - bad,
        both_bad=bad,
        win_rate=_rate(won, 1 - tied, own, f"win rate of {model}"),
    )


def _correct(pairs: list[ArenaPair]) -> None:
    tested = [pair for pair in pairs if pair.win_rate_a.n and pair.win_rate_a.p_value is not None]
    if len(tested) > 1:
        for pair, p in zip(tested, holm([pair.win_rate_a.p_value for pair in tested]), strict=True):
            pair.win_rate_a = pair.win_rate_a.model_copy(update={"p_holm": p})
