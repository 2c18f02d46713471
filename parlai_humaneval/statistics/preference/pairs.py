"""Who won against whom over comparisons of two models (Smith et al. 2022, §3.1.3 and App. C.7), whichever side a row is.

Two dialogues that are compared are both used again, so that the share won has clusters of two kinds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Objects
from parlai_humaneval.statistics.core.clustered import (
    cluster_sums,
    clustered_share,
    decided_wins,
    sign_flip_p,
    with_dispersion,
)
from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.once_each import with_once_each
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import binomial_test
from parlai_humaneval.statistics.core.two_way import crossed_share, two_way_share
from parlai_humaneval.tables.columns import TableError, Tables
from parlai_humaneval.tables.filters import finished, is_set, nobody_won, of_unfinished
from parlai_humaneval.tables.schema import TIE

ALPHA = 0.05
SOURCE = "Holt & Smith 1979 (post-stratification by place)"
METHOD = "each place counts alike"


def position_balanced(values: npt.ArrayLike, places: npt.ArrayLike) -> Floats | None:
    """A number an observation, whose mean is the mean over places of the mean of ``values`` at each place.

    It is the value's distance from the mean of its place, weighted so that all places count alike, plus that mean of
    means; so the clustered interval of its mean is that of the adjusted estimate (post-stratification). None where that
    is not possible (one place only, or a place that is not known) or not needed (as often at each place). A nan value stays
    nan and does not count.

    Args:
        values: what was found.
        places: where the model stood, or whether it stood before the other.

    Assumes that places were drawn without regard to what is shown there.

    Source: Holt & Smith 1979 (post-stratification).

    >>> won, first = [1, 1, 1, 0, 0, 1], [1, 1, 1, 1, 0, 0]  # first four times of six: won 3 of 4, else 1 of 2
    >>> round(float(position_balanced(won, first).mean()), 3)
    0.625
    """
    x, where = np.asarray(values, dtype=float), np.asarray(places, dtype=float)
    known = ~np.isnan(x)
    if np.isnan(where[known]).any():
        return None
    names, codes = np.unique(where[known], return_inverse=True)
    n = np.bincount(codes).astype(float)
    if len(names) < 2 or np.ptp(n) == 0:
        return None
    means = np.bincount(codes, weights=x[known]) / n
    weights = known.sum() / (len(names) * n)
    balanced: Floats = np.full(x.shape, np.nan)
    balanced[known] = weights[codes] * (x[known] - means[codes]) + means.mean()
    return balanced


def place_outweighs(effect: Result, by_place: float | None, gap: float | None) -> bool:
    """Whether the effect of the place is shown and is larger than the gap between the models.

    ``effect``: the test of the place; ``by_place``: its size on the scale of ``gap``.
    """
    shown = effect.p_value is not None and effect.p_value < ALPHA
    return shown and by_place is not None and gap is not None and abs(by_place) > abs(gap)


GROUP = ("technique", "setting", "kind", "metric")
"""Comparisons are only taken together where these are the same."""
NO_FAMILY = Family("", "", "")


def counted_comparisons(tables: Tables) -> pd.DataFrame:
    """Rows that count: asked, of complete dialogues or judgements, and not a second rating of what was rated before.

    Assumes nothing of the answers: rows are only chosen.

    Source: Smith et al. 2022, §3.1.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> len(counted_comparisons(example_tables()))
    32
    """
    rows = tables.comparisons
    asked = ~is_set(rows, "automatic") & rows["own_worker"].isna().to_numpy(dtype=bool)
    # Tables from elsewhere say only in the table of dialogues which of them were left.
    left = of_unfinished(rows["dialogue_a"], rows["worker_id"], tables.dialogues)
    left &= _same_dialogue(rows)
    kept: pd.DataFrame = rows[finished(rows) & asked & ~left]
    return kept


def orient_pairs(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The comparisons with ``model_a`` first in the alphabet, and what became of each as numbers.

    ``outcome``: 1 A won, −1 B won, 0 a tie. ``first_a``: 1 where A's reply or dialogue was shown first (above or on the
    left), 0 where B's, nan where that is not known. ``kind``: turn, verdict or dialogue. ``technique`` and ``setting``
    are "" where there is none. The index is kept.

    Raises:
        TableError: a model against itself, or a winner who is neither of the two nor ``tie``.

    Assumes nothing of the answers: rows are only turned round.

    Source: Smith et al. 2022, §3.1.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> rows = orient_pairs(counted_comparisons(example_tables()))
    >>> rows[['model_a', 'model_b', 'outcome', 'first_a', 'kind']].astype(object).iloc[0].tolist()
    ['ada', 'bob', -1, 0.0, 'dialogue']
    """
    a, b = (comparisons[name].astype(str).to_numpy(dtype=object) for name in ("model_a", "model_b"))
    winner = comparisons["winner"].to_numpy(dtype=object)
    tied = nobody_won(comparisons)
    _check(comparisons, a, b, winner, tied)
    turned = np.asarray(a > b, dtype=bool)
    outcome = np.where(tied, 0, np.where(winner == a, 1, -1))
    first = _first_a(comparisons)
    dialogue_a, dialogue_b = (comparisons[name].to_numpy(dtype=object) for name in ("dialogue_a", "dialogue_b"))
    whole: pd.DataFrame = comparisons.assign(
        model_a=np.where(turned, b, a),
        model_b=np.where(turned, a, b),
        dialogue_a=np.where(turned, dialogue_b, dialogue_a),
        dialogue_b=np.where(turned, dialogue_a, dialogue_b),
        outcome=np.where(turned, -outcome, outcome),
        first_a=np.where(turned, 1 - first, first),
        kind=_kind(comparisons, _same_dialogue(comparisons)),
        technique=comparisons["technique"].fillna(""),
        setting=comparisons["setting"].fillna(""),
    )
    return whole


def _check(rows: pd.DataFrame, a: Objects, b: Objects, winner: Objects, tied: Flags) -> None:
    for wrong, words in (
        (np.asarray(a == b), "the same model stands on both sides; leave the row out"),
        (
            np.asarray((winner != a) & (winner != b) & ~tied, dtype=bool),
            f"the winner is neither of the models nor {TIE}",
        ),
    ):
        if wrong.any():
            at = int(wrong.argmax())
            raise TableError(
                f"item {rows['item_id'].iloc[at]!r} of worker {rows['worker_id'].iloc[at]!r}: {words} (model_a "
                f"{a[at]!r}, model_b {b[at]!r}, winner {winner[at]!r})",
                where="comparisons",
            )


def _first_a(rows: pd.DataFrame) -> Floats:
    """Of two dialogues ``side`` says it; of two replies their position, which of more than two says too little."""
    side = rows["side"].astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    position = rows["position_a"].astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    two = rows["n_models"].fillna(2).to_numpy(dtype=int) == 2
    place = np.where(np.isnan(side), np.where(two, position, np.nan), side)
    return np.where(np.isin(place, (1.0, 2.0)), (place == 1).astype(float), np.nan)


def is_turn(comparisons: pd.DataFrame) -> Flags:
    """Which rows compare replies of one turn."""
    return np.asarray(_kind(comparisons, _same_dialogue(comparisons)) == "turn", dtype=bool)


def _same_dialogue(rows: pd.DataFrame) -> Flags:
    return np.asarray((rows["dialogue_a"] == rows["dialogue_b"]).to_numpy(dtype=bool))


def _kind(rows: pd.DataFrame, same: Flags) -> Objects:
    verdict = np.array([str(item).endswith(":verdict") for item in rows["item_id"]], dtype=bool)
    return np.where(~same, "dialogue", np.where(verdict, "verdict", "turn")).astype(object)


@dataclass(frozen=True)
class PairWins:
    """All comparisons of two models in one group. Results are about A's wins of those that were decided.

    ``win_rate``: clustered by worker, and by dialogue where several workers judged the same. ``by_worker``: by worker
    alone, as if there were no other dialogues. ``by_dialogue``: by the dialogues of A and those of B. ``paper``: the
    binomial test. ``score``: ties count half, clustered as ``win_rate``. ``p_sign_flip``: of workers. ``adjusted``,
    ``adjusted_score``: win rate and score with both places counting alike, where the one shown first wins so much more (or
    less) often that this outweighs the difference of the two models; else None.
    """

    model_a: str
    model_b: str
    wins_a: int
    wins_b: int
    ties: int
    both_bad: int
    n_workers: int
    n_dialogues: int
    win_rate: Result
    by_worker: Result
    by_dialogue: Result
    paper: Result
    score: Result
    p_sign_flip: float | None
    adjusted: Result | None = None
    adjusted_score: Result | None = None


def wins_of_pairs(
    rows: pd.DataFrame, *, family: Family = NO_FAMILY, level: float = 0.95, seed: int = 0
) -> list[PairWins]:
    """Every pair of models in ``rows``, and Holm's correction over them.

    Win rates leave ties out, as in the paper; a pair in which all is tied has p = 1 and no estimate, and does not count
    towards the family.

    Args:
        rows: comparisons of one group, as :func:`orient_pairs` gives them.
        family: what the group is of.
        level: coverage of the intervals.
        seed: may still be given, and changes nothing: no signs are drawn any more.

    ``win_rate`` above .5: A is the better one; its p is by worker, and by dialogue where several workers judged the same;
    ``paper`` holds the test that takes every comparison as independent.

    Assumes that comparisons without a common worker or dialogue are independent; ``paper`` that all are.

    Source: Smith et al. 2022, §3.1.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> rows = orient_pairs(counted_comparisons(example_tables()))
    >>> pair = wins_of_pairs(rows)[0]
    >>> pair.wins_a, pair.wins_b, round(pair.win_rate.estimate, 3)
    (22, 10, 0.688)
    """
    habit = first_shown(rows, level=level)
    pairs = [
        _adjusted(_pair(own, str(a), str(b), level), own, habit)
        for (a, b), own in rows.groupby(["model_a", "model_b"], sort=True)
    ]
    tests = [
        corrected([getattr(pair, name) for pair in pairs], [family] * len(pairs))
        for name in ("win_rate", "by_worker", "by_dialogue", "paper")
    ]
    leading = corrected([pair.adjusted or pair.win_rate for pair in pairs], [family] * len(pairs))
    return [
        replace(
            pair,
            win_rate=win_rate,
            by_worker=by_worker,
            by_dialogue=by_dialogue,
            paper=paper,
            adjusted=pair.adjusted and leads,
        )
        for pair, win_rate, by_worker, by_dialogue, paper, leads in zip(pairs, *tests, leading, strict=True)
    ]


def _adjusted(pair: PairWins, rows: pd.DataFrame, habit: Result) -> PairWins:
    """The pair with both places counting alike, where ``habit``, what the one shown first wins, outweighs its gap."""
    by_place = None if habit.estimate is None else habit.estimate - 0.5
    gap = None if pair.win_rate.estimate is None else pair.win_rate.estimate - 0.5
    if not place_outweighs(habit, by_place, gap):
        return pair
    outcome, first = (rows[name].to_numpy(dtype=float) for name in ("outcome", "first_a"))
    won = np.where(outcome == 0, np.nan, outcome > 0)
    rate, score = (
        _with_places(values, first, rows, result)
        for values, result in ((won, pair.win_rate), ((outcome + 1) / 2, pair.score))
    )
    return pair if rate is None or score is None else replace(pair, adjusted=rate, adjusted_score=score)


def _with_places(values: Floats, first: Floats, rows: pd.DataFrame, unadjusted: Result) -> Result | None:
    """The mean of ``values`` with both places counting alike; None where places are not known, or were alike."""
    balanced = position_balanced(values, first)
    if balanced is None:
        return None
    known = (~np.isnan(balanced)).astype(float)
    workers, *shown = (rows[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_a", "dialogue_b"))
    parts = (np.nan_to_num(balanced), known, workers, shown)
    result = with_once_each(crossed_share, *parts, name=unadjusted.name, level=unadjusted.level)
    return result.but(method=f"{result.method}, {METHOD}", source=f"{result.source}; {SOURCE}")


def _pair(rows: pd.DataFrame, model_a: str, model_b: str, level: float) -> PairWins:
    outcome = rows["outcome"].to_numpy(dtype=float)
    won, decided = (outcome > 0).astype(float), (outcome != 0).astype(float)
    workers, ones = rows["worker_id"].to_numpy(dtype=object), np.ones(len(rows))
    name = f"win rate of {model_a} over {model_b}"
    sums = cluster_sums(won, decided, workers)
    shown = [rows[side].to_numpy(dtype=object) for side in ("dialogue_a", "dialogue_b")]
    wins, losses = int(won.sum()), int((decided - won).sum())
    return PairWins(
        model_a=model_a,
        model_b=model_b,
        wins_a=wins,
        wins_b=losses,
        ties=len(rows) - wins - losses,
        both_bad=int(is_set(rows, "both_bad").sum()),
        n_workers=int(rows["worker_id"].nunique()),
        n_dialogues=int(pd.concat([rows["dialogue_a"], rows["dialogue_b"]]).nunique()),
        win_rate=with_dispersion(
            with_once_each(crossed_share, won, decided, workers, shown, name=name, level=level),
            *decided_wins(outcome, workers),
        ),
        by_worker=clustered_share(sums, name=name, level=level),
        by_dialogue=two_way_share(won, decided, *shown, name=name, level=level),
        paper=binomial_test(wins, wins + losses, name=name, level=level),
        score=crossed_share((outcome + 1) / 2, ones, workers, shown, name=f"{name}, ties counting half", level=level),
        p_sign_flip=sign_flip_p(sums),
    )


@dataclass(frozen=True)
class ModelWins:
    """One model against all its opponents: its ``win_rate`` of decided comparisons, clustered as that of a pair."""

    model: str
    wins: int
    losses: int
    ties: int
    win_rate: Result


def model_wins(rows: pd.DataFrame, *, level: float = 0.95) -> list[ModelWins]:
    """Every model of ``rows`` (as :func:`orient_pairs`), the most often winning first; weaker opponents mean more wins.

    Assumes, for the interval, that comparisons without a common worker or dialogue are independent.

    Source: Smith et al. 2022, §3.1.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> rows = orient_pairs(counted_comparisons(example_tables()))
    >>> [(wins.model, wins.wins, wins.losses) for wins in model_wins(rows)]
    [('ada', 22, 10), ('bob', 10, 22)]
    """
    a, b = (rows[name].to_numpy(dtype=object) for name in ("model_a", "model_b"))
    workers, outcome = rows["worker_id"].to_numpy(dtype=object), rows["outcome"].to_numpy(dtype=float)
    shown = [rows[side].to_numpy(dtype=object) for side in ("dialogue_a", "dialogue_b")]
    standings = []
    for model in sorted({*a, *b}):
        took_part = (a == model) | (b == model)
        is_a = (a == model)[took_part]
        score = np.where(is_a, outcome[took_part], -outcome[took_part])
        won, decided = (score > 0).astype(float), (score != 0).astype(float)
        of_a, of_b = (dialogues[took_part] for dialogues in shown)
        sides = [np.where(is_a, of_a, of_b), np.where(is_a, of_b, of_a)]
        rate = crossed_share(won, decided, workers[took_part], sides, name=f"win rate of {model}", level=level)
        standings.append(ModelWins(model, int(won.sum()), int((decided - won).sum()), int((1 - decided).sum()), rate))
    return sorted(standings, key=_win_rate, reverse=True)


def _win_rate(standing: ModelWins) -> float:
    return -1.0 if standing.win_rate.estimate is None else standing.win_rate.estimate


def first_shown(rows: pd.DataFrame, *, level: float = 0.95) -> Result:
    """How often the one shown first (above or on the left) won, of decided comparisons where that is known.

    Tested against one half, clustered by worker: sides were drawn by chance, so that more is a habit of raters.

    Assumes independent workers.

    Source: Smith et al. 2022, App. C.7.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> rows = orient_pairs(counted_comparisons(example_tables()))
    >>> print(first_shown(rows))
    the one shown first won: 0.562, 95% interval 0.375 to 0.750, statistic 0.798, p = .69, n = 32 [sign-flip test,
    clustered by worker]
    """
    side, outcome = rows["first_a"].to_numpy(dtype=float), rows["outcome"].to_numpy(dtype=float)
    known = ~np.isnan(side) & (outcome != 0)
    won = np.where(side[known] == 1, outcome[known] > 0, outcome[known] < 0).astype(float)
    sums = cluster_sums(won, np.ones_like(won), rows["worker_id"].to_numpy(dtype=object)[known])
    return clustered_share(sums, name="the one shown first won", level=level)
