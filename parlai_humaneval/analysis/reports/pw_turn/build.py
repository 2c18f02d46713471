"""Tables of pairwise per-turn choices → one report with every number by name (Smith et al. 2022, §4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.facts import CLUSTERED, LEVEL, common_facts
from parlai_humaneval.analysis.reports.pw_turn import words
from parlai_humaneval.analysis.reports.pw_turn.types import (
    ModelRates,
    PairReport,
    PairwiseReport,
    PositionRow,
    Rate,
    TurnRange,
    TurnRow,
    Unfinished,
)
from parlai_humaneval.analysis.reports.types import Share
from parlai_humaneval.statistics.clustered import cluster_bootstrap, cluster_sums, clustered_share
from parlai_humaneval.statistics.correction import holm
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import binomial_p
from parlai_humaneval.statistics.win_rates import (
    Floats,
    count_dialogues,
    lin,
    outcomes,
    sqr_scores,
    wta_scores,
)
from parlai_humaneval.tables.counting import finished, median
from parlai_humaneval.tables.from_records import Tables

BOOTSTRAP_DRAWS = 2_000

METHODS = [
    "Lin: turns won of turns decided. Sqr: mean over dialogues of x²/(x²+y²). WTA: share of dialogues with more "
    "turns won, a tied dialogue counts half (Smith et al. 2022, §4.1).",
    CLUSTERED + " Bootstrap: percentile interval over resampled workers, as a check.",
    "Binomial p: the two-sided test of Smith et al. 2022, which takes all turns as independent.",
]
HOLM = "Holm: clustered p, corrected for all pairs and metrics of the report."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> PairwiseReport:
    """Who won, how sure that is, and what it rests on, for each pair of models and metric in ``tables``.

    Only complete dialogues count, as who leaves early may not leave at random, and Sqr and WTA compare whole
    dialogues; answered turns of the others are reported beside, and count too with ``include_partial``.
    ``seed``: of the bootstrap. Reads ``comparisons`` (turns of one dialogue only) and ``dialogues``.
    """
    comparisons = tables.comparisons
    turns = comparisons[(comparisons["dialogue_a"] == comparisons["dialogue_b"]).to_numpy(dtype=bool)]
    counted = turns if include_partial else turns[finished(turns)]
    groups = turns.groupby(["metric", "model_a", "model_b"], sort=True)
    pairs = [_pair(rows, key, seed, include_partial) for key, rows in groups]
    _judge(pairs)
    facts = common_facts(tables, include_partial=include_partial, seed=seed)
    return PairwiseReport(
        **{**facts, "median_turn_seconds": median(counted["seconds"])},
        headline=" ".join(pair.headline for pair in pairs) or words.no_pairs(),
        pairs=pairs,
        methods=_methods(pairs),
        bootstrap_draws=BOOTSTRAP_DRAWS,
    )


def _methods(pairs: list[PairReport]) -> list[str]:
    """Notes on what is printed, and on nothing else."""
    corrected = any(pair.p_holm is not None for pair in pairs)
    return [*(METHODS if pairs else []), *([HOLM] if corrected else [])]


def _pair(rows: pd.DataFrame, key: Any, seed: int, include_partial: bool) -> PairReport:
    metric, model_a, model_b = (str(part) for part in key)
    counted = rows if include_partial else rows[finished(rows)]
    rates = ModelRates(
        all_turns=_turn_range(counted, model_a, 1, seed),
        turns_2_to_last=_turn_range(counted, model_a, 2, seed),
    )
    whole = rates.all_turns
    return PairReport(
        model_a=model_a,
        model_b=model_b,
        metric=metric,
        n_dialogues=int(counted["dialogue_a"].nunique()),
        n_workers=int(counted["worker_id"].nunique()),
        n_turns=whole.n_turns,
        wins_a=whole.wins,
        wins_b=whole.losses,
        ties=whole.ties,
        win_rate_a=whole.lin.estimate,
        ci_low=whole.lin.ci_low,
        ci_high=whole.lin.ci_high,
        p_value=whole.binomial_p,
        p_clustered=whole.lin.p_value,
        favoured=_favoured(whole, model_a, model_b),
        win_rates={model_a: rates, model_b: rates.mirrored()},
        by_turn=_by_turn(counted, model_a, model_b),
        by_position=_by_position(counted, model_a, model_b),
        unfinished=_unfinished(rows, model_a, model_b, include_partial),
    )


def _judge(pairs: list[PairReport]) -> None:
    """Holm's correction over all pairs, then the sentences, which rest on it."""
    if sum(pair.p_clustered is not None and pair.n_turns > 0 for pair in pairs) > 1:
        corrected = holm([pair.p_clustered if pair.n_turns else None for pair in pairs])
        for pair, p in zip(pairs, corrected, strict=True):
            pair.p_holm = p
    for pair in pairs:
        pair.headline = words.headline(pair)
        pair.remarks = words.remarks(pair)


def _turn_range(rows: pd.DataFrame, model: str, first_turn: int, seed: int) -> TurnRange:
    counts = count_dialogues(rows, model, first_turn)
    wins, losses, ties = (int(part.sum()) for part in (counts.wins, counts.losses, counts.ties))
    last = rows["turn"].max()
    decided = counts.wins + counts.losses
    once = np.ones_like(decided)
    return TurnRange(
        first_turn=first_turn,
        last_turn=None if pd.isna(last) else int(last),
        n_turns=wins + losses + ties,
        wins=wins,
        losses=losses,
        ties=ties,
        binomial_p=binomial_p(wins, wins + losses),
        lin=_rate(counts.wins, decided, counts.workers, seed),
        sqr=_rate(sqr_scores(counts.wins, counts.losses), once, counts.workers, seed),
        wta=_rate(wta_scores(counts.wins, counts.losses), once, counts.workers, seed),
    )


def _rate(numerators: Floats, denominators: Floats, workers: Any, seed: int) -> Rate:
    sums = cluster_sums(numerators, denominators, workers)
    result = clustered_share(sums, level=LEVEL)
    low, high = cluster_bootstrap(sums, seed=seed, draws=BOOTSTRAP_DRAWS, level=LEVEL) or (None, None)
    return Rate(
        **_share(result).model_dump(),
        p_value=result.p_value,
        bootstrap_low=low,
        bootstrap_high=high,
        n=result.n,
        method=result.method,
        notes=list(result.notes),
    )


def _share(result: Result) -> Share:
    return Share(estimate=result.estimate, ci_low=result.ci_low, ci_high=result.ci_high)


def _by_turn(rows: pd.DataFrame, model_a: str, model_b: str) -> list[TurnRow]:
    table = []
    for _, of_turn in rows.groupby("turn", sort=True):
        won, tied = outcomes(of_turn, model_a)
        sums = cluster_sums(won, 1 - tied, of_turn["worker_id"].to_numpy(dtype=object))
        share = _share(clustered_share(sums, level=LEVEL))
        wins, ties = int(won.sum()), int(tied.sum())
        table.append(
            TurnRow(
                turn=int(of_turn["turn"].iloc[0]),
                n=len(of_turn),
                wins={model_a: wins, model_b: len(of_turn) - wins - ties},
                ties=ties,
                win_rates={model_a: share, model_b: share.mirrored()},
            )
        )
    return table


def _by_position(rows: pd.DataFrame, model_a: str, model_b: str) -> list[PositionRow]:
    """Both positions; turns whose order is not known, and ties, do not count."""
    known = rows[(rows["position_a"].notna() & (rows["winner"] != "tie")).to_numpy(dtype=bool)]
    a_first = known["position_a"].to_numpy(dtype=float) == 1
    a_won, _ = outcomes(known, model_a)
    first_won = np.where(a_first, a_won, 1 - a_won)
    sums = cluster_sums(first_won, np.ones_like(first_won), known["worker_id"].to_numpy(dtype=object))
    result = clustered_share(sums, level=LEVEL)
    share, selected = _share(result), int(first_won.sum())
    n, a_here = len(known), {1: a_first, 2: ~a_first}
    return [
        PositionRow(
            position=position,
            n=n,
            selected=selected if position == 1 else n - selected,
            share=share if position == 1 else share.mirrored(),
            p_value=result.p_value,
            win_rates={
                model_a: _mean(a_won[a_here[position]]),
                model_b: _mean(1 - a_won[~a_here[position]]),
            },
        )
        for position in (1, 2)
    ]


def _unfinished(rows: pd.DataFrame, model_a: str, model_b: str, included: bool) -> Unfinished:
    left = rows[~finished(rows)]
    won, tied = outcomes(rows, model_a)
    wins, losses = float(won.sum()), float((1 - won - tied).sum())
    return Unfinished(
        dialogues=int(left["dialogue_a"].nunique()),
        turns=len(left),
        included=included,
        win_rates_with_them={model_a: lin(wins, losses), model_b: lin(losses, wins)},
    )


def _favoured(whole: TurnRange, model_a: str, model_b: str) -> str | None:
    if whole.wins == whole.losses:
        return None
    return model_a if whole.wins > whole.losses else model_b


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None
