"""Wins and losses between models over comparisons of two models (Smith et al. 2022, §3.1.3 and App. C.7), whichever
side a row is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Objects
from parlai_humaneval.statistics.core import multiplicity
from parlai_humaneval.statistics.core import rows as cells
from parlai_humaneval.statistics.core.clustered import (
    ClusterSums,
    cluster_sums,
    clustered_share,
    keep_shares,
    sign_flip_p,
    with_dispersion,
)
from parlai_humaneval.statistics.core.result import Result, called
from parlai_humaneval.statistics.core.shares import binomial_test
from parlai_humaneval.statistics.core.two_way import crossed_share, of_questions, two_way_share
from parlai_humaneval.statistics.preference.win_rates import complement
from parlai_humaneval.tables.columns import TableError, Tables
from parlai_humaneval.tables.filters import finished, is_set, nobody_won, of_unfinished
from parlai_humaneval.tables.schema import TIE

ALPHA = 0.05
SOURCE = "Holt & Smith 1979 (post-stratification by position)"
METHOD = "each position counts equally"


def position_balanced(values: npt.ArrayLike, places: npt.ArrayLike) -> Floats | None:
    """A number an observation, whose mean is the mean over places of the mean of ``values`` at each place."""
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
    """Whether the ``effect`` of the place is shown and, on the scale of ``gap``, larger than the gap between the
    models."""
    shown = effect.p_value is not None and effect.p_value < ALPHA
    return shown and by_place is not None and gap is not None and abs(by_place) > abs(gap)


GROUP = ("technique", "setting", "kind", "metric")  # Comparisons are only taken together where these are the same


def counted_comparisons(tables: Tables) -> pd.DataFrame:
    """Rows that count: asked, from complete dialogues or judgements, and not a second rating of the same dialogue."""
    rows = tables.comparisons
    asked = ~is_set(rows, "automatic") & rows["own_worker"].isna().to_numpy(dtype=bool)
    # Tables from elsewhere say only in the table of dialogues which of them were left.
    left = of_unfinished(rows["dialogue_a"], rows["worker_id"], tables.dialogues)
    left &= _same_dialogue(rows)
    return rows[finished(rows) & asked & ~left]


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
    for wrong, words in (
        (np.asarray(a == b), "the same model is on both sides; leave the row out"),
        (
            np.asarray((winner != a) & (winner != b) & ~tied, dtype=bool),
            f"the winner is neither of the models nor {TIE}",
        ),
    ):
        if wrong.any():
            at = int(wrong.argmax())
            item, worker = (comparisons[name].iloc[at] for name in ("item_id", "worker_id"))
            named = f"model_a {a[at]!r}, model_b {b[at]!r}, winner {winner[at]!r}"
            raise TableError(f"item {item!r} of rater {worker!r}: {words} ({named})", where="comparisons")
    turned = np.asarray(a > b, dtype=bool)
    outcome = np.where(tied, 0, np.where(winner == a, 1, -1))
    # ``side`` gives the order of two dialogues, the position that of two replies; with more replies it says too little.
    side, position = (
        comparisons[name].astype("Float64").to_numpy(dtype=float, na_value=np.nan) for name in ("side", "position_a")
    )
    of_two = comparisons["n_models"].fillna(2).to_numpy(dtype=int) == 2
    place = np.where(np.isnan(side), np.where(of_two, position, np.nan), side)
    first = np.where(np.isin(place, (1.0, 2.0)), (place == 1).astype(float), np.nan)
    dialogue_a, dialogue_b = (comparisons[name].to_numpy(dtype=object) for name in ("dialogue_a", "dialogue_b"))
    return comparisons.assign(
        model_a=np.where(turned, b, a),
        model_b=np.where(turned, a, b),
        dialogue_a=np.where(turned, dialogue_b, dialogue_a),
        dialogue_b=np.where(turned, dialogue_a, dialogue_b),
        outcome=np.where(turned, -outcome, outcome),
        first_a=np.where(turned, 1 - first, first),
        kind=_kind(comparisons),
        technique=comparisons["technique"].fillna(""),
        setting=comparisons["setting"].fillna(""),
    )


def is_turn(comparisons: pd.DataFrame) -> Flags:
    """Which rows compare replies of one turn."""
    return np.asarray(_kind(comparisons) == "turn", dtype=bool)


def _same_dialogue(rows: pd.DataFrame) -> Flags:
    return np.asarray((rows["dialogue_a"] == rows["dialogue_b"]).to_numpy(dtype=bool))


def _kind(rows: pd.DataFrame) -> Objects:
    verdict = np.array([str(item).endswith(":verdict") for item in rows["item_id"]], dtype=bool)
    return np.where(~_same_dialogue(rows), "dialogue", np.where(verdict, "verdict", "turn")).astype(object)


LEAD_A = cells.Estimate(kind="points", name="lead_a", ends="lead", of="lead")
SCORE = cells.Estimate(kind="share", name="score_a", ends="score", end_labels=("From, superiority", "To, superiority"))
"""For two models of which one won: how far the first is ahead, and how often it does better, ties counting half."""


class DecidedPair(cells.Row):
    """Two compared models; ``model_a`` is alphabetically first.

    ``win_rate``: wins of A of the decided comparisons, tested against one half; clustered by rater, and by dialogue where
    several workers judged the same. ``paper``: the paper's test of them, which takes all for independent. Both are
    corrected over the ``family`` (``…_holm``). ``score``: the probability of superiority of A, in which ties count half,
    clustered likewise. ``adjusted``, ``adjusted_score``: both with each position weighted equally, if the position bias
    outweighs the effect of the models; then the report leads with these. ``lead_a``: wins of A minus those of B, as a
    share of the decided ones, which is twice the win rate minus one.
    """

    model_a: Annotated[str, cells.Column()]
    model_b: Annotated[str, cells.Column()]
    wins_a: cells.Count
    wins_b: cells.Count
    ties: cells.Count
    win_rate: Annotated[
        Result,
        cells.Estimate(kind="share", name="win_rate_a", ends="ci"),
        cells.Key(name="win_rate_b", of="win_rate_b", path="estimate"),
        LEAD_A,
    ]
    score: Annotated[Result, SCORE, cells.p_columns(of="win_rate"), cells.family_keys("win_rate")]
    paper: Annotated[
        Result,
        cells.p_columns("p_value", "p_value", "p, binomial", "p, binomial, Holm"),
        cells.once_columns("Every rater once", "share", of="win_rate"),
    ]
    adjusted: Annotated[
        Result | None,
        cells.interval_keys("win_rate_adjusted", "adjusted"),
        cells.Key(name="p_adjusted", path="p_value"),
        cells.Key(name="p_adjusted_holm", path="p_decides"),
    ] = None
    adjusted_score: Annotated[Result | None, cells.interval_keys("score_adjusted", "score_adjusted")] = None

    @property
    def told(self) -> Result:
        """The win rate that the report leads with: the adjusted one if there is one."""
        return self.adjusted or self.win_rate

    @property
    def a_leads(self) -> bool:
        return self.wins_a >= self.wins_b if self.adjusted is None else (self.adjusted.estimate or 0.0) >= 0.5

    @property
    def leader(self) -> str:
        return self.model_a if self.a_leads else self.model_b

    @property
    def other(self) -> str:
        return self.model_b if self.a_leads else self.model_a

    @property
    def lead(self) -> Result:
        """The win rate as a difference: 0 where both win as often, 1 where A always does."""
        return as_lead(self.win_rate)

    @property
    def win_rate_b(self) -> Result:
        return complement(self.win_rate)

    def names(self) -> str:
        return f"{self.model_a} against {self.model_b}"


def as_lead(rate: Result) -> Result:
    return multiplicity.rescaled(rate, lambda share: 2 * share - 1)


ALIKE = ("From, positions balanced", "To, positions balanced")
SUPERIORITY_ALIKE = ("From, superiority, positions balanced", "To, superiority, positions balanced")


def _alone(whose: str) -> tuple[cells.Column, ...]:
    """The interval and the p of a win rate that is clustered by rater, or by dialogue, alone."""
    low = cells.Column(f"From, by {called(whose)} alone", "share", name=f"{whose}_low", of=f"by_{whose}", path="ci_low")
    high = replace(low, label=f"To, by {called(whose)} alone", name=f"{whose}_high", path="ci_high")
    label = f"p, by {called(whose)} alone"
    return low, high, *cells.p_columns("p_value", f"p_{whose}", label, f"{label}, Holm", of=f"by_{whose}")


class PairOutcome(DecidedPair):
    """All comparisons of two models in one group; A's wins of those that were decided.

    ``win_rate`` and ``score`` are clustered by rater, and by dialogue where several workers judged the same.
    ``by_worker``: the win rate by worker alone, which ``p_sign_flip`` is of too; ``by_dialogue``: by the dialogues of A
    and of B alone. ``paper``: the binomial test.
    """

    ties: Annotated[int, cells.Column(), cells.Column("Both bad", "count", name="both_bad", of="both_bad")]
    win_rate: Annotated[
        Result,
        cells.Estimate(kind="share", name="win_rate_a", ends="ci"),
        cells.Column("Win rate of B", "share", name="win_rate_b", of="win_rate_b", path="estimate"),
        LEAD_A,
        cells.p_columns(),
        cells.FAMILY,
        cells.Column("p, sign flip", "p", name="p_sign_flip", of="p_sign_flip"),
        _alone("worker"),
        _alone("dialogue"),
        cells.Key(name="notes", path="notes"),
    ]
    score: Annotated[
        Result, cells.p_columns("p_value", "p_value", "p, binomial (paper)", "p, binomial, Holm", of="paper"), SCORE
    ]
    paper: Annotated[Result, cells.once_columns("Every rater once", "share", of="win_rate")]
    adjusted: Annotated[
        Result | None,
        cells.Estimate(
            "Win rate of A, positions balanced", "share", name="win_rate_adjusted", ends="adjusted", end_labels=ALIKE
        ),
        cells.p_columns("p_value", "p_adjusted", "p, positions balanced", "p, positions balanced, Holm"),
    ] = None
    adjusted_score: Annotated[
        Result | None,
        cells.Estimate(
            "Superiority of A, positions balanced", "share", name="score_adjusted", end_labels=SUPERIORITY_ALIKE
        ),
    ] = None
    n: int
    tie_rate: float | None
    both_bad: Annotated[int | None, cells.UNSEEN]
    p_sign_flip: Annotated[float | None, cells.UNSEEN]
    by_worker: Annotated[Result, cells.UNSEEN]
    by_dialogue: Annotated[Result, cells.UNSEEN]
    n_workers: Annotated[int, cells.Column(last=True)]
    n_dialogues: Annotated[int, cells.Column(last=True)]


def wins_of_pairs(
    rows: pd.DataFrame, *, family: multiplicity.Family = multiplicity.NO_FAMILY, level: float = 0.95, seed: int = 0
) -> list[PairOutcome]:
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
    of_pairs = list(rows.groupby(["model_a", "model_b"], sort=True))
    keep_shares((_sums(own, by) for _, own in of_pairs for by in (own["worker_id"], _shown(own)[0])), level)
    pairs = [_adjusted(_pair(own, str(a), str(b), level), own, habit) for (a, b), own in of_pairs]
    leading = multiplicity.corrected([pair.told for pair in pairs], [family] * len(pairs))
    pairs = multiplicity.corrected_fields(pairs, family, "win_rate", "by_worker", "by_dialogue", "paper")
    for pair, leads in zip(pairs, leading, strict=True):
        pair.adjusted = pair.adjusted and leads
    return pairs


def _adjusted(pair: PairOutcome, rows: pd.DataFrame, habit: Result) -> PairOutcome:
    """The pair with both positions weighted equally, where ``habit``, what the one shown first wins, outweighs its gap."""
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
    if rate is not None and score is not None:
        pair.adjusted, pair.adjusted_score = rate, score
    return pair


def _with_places(values: Floats, first: Floats, rows: pd.DataFrame, unadjusted: Result) -> Result | None:
    """The mean of ``values`` with both positions weighted equally; None where places are not known, or were alike."""
    balanced = position_balanced(values, first)
    if balanced is None:
        return None
    known = (~np.isnan(balanced)).astype(float)
    workers, shown = rows["worker_id"].to_numpy(dtype=object), _shown(rows)
    parts = (np.nan_to_num(balanced), known, workers, shown)
    result = multiplicity.with_once_each(crossed_share, *parts, name=unadjusted.name, level=unadjusted.level)
    return _in_words(rows)(result.but(method=f"{result.method}, {METHOD}", source=f"{result.source}; {SOURCE}"))


def _pair(rows: pd.DataFrame, model_a: str, model_b: str, level: float) -> PairOutcome:
    outcome = rows["outcome"].to_numpy(dtype=float)
    ones = np.ones(len(rows))
    name = f"win rate of {model_a} over {model_b}"
    won, decided = (outcome > 0).astype(float), (outcome != 0).astype(float)
    workers, shown = rows["worker_id"].to_numpy(dtype=object), _shown(rows)
    sums, wins, losses = _sums(rows, workers), int(won.sum()), int((decided - won).sum())
    ties, said = len(rows) - wins - losses, _in_words(rows)
    score = crossed_share((outcome + 1) / 2, ones, workers, shown, name=f"{name}, ties counting half", level=level)
    rate = multiplicity.with_once_each(crossed_share, won, decided, workers, shown, name=name, level=level)
    return PairOutcome(
        model_a=model_a,
        model_b=model_b,
        wins_a=wins,
        wins_b=losses,
        ties=ties,
        n=len(rows),
        tie_rate=ties / len(rows),
        both_bad=int(is_set(rows, "both_bad").sum()),
        n_workers=int(rows["worker_id"].nunique()),
        n_dialogues=int(pd.concat([rows["dialogue_a"], rows["dialogue_b"]]).nunique()),
        win_rate=with_dispersion(said(rate), np.where(outcome == 0, np.nan, won), workers),
        by_worker=clustered_share(sums, name=name, level=level),
        by_dialogue=said(two_way_share(won, decided, *shown, name=name, level=level)),
        paper=binomial_test(wins, wins + losses, name=name, level=level),
        score=said(score),
        p_sign_flip=sign_flip_p(sums),
    )


def _sums(rows: pd.DataFrame, clusters: npt.ArrayLike) -> ClusterSums:
    """A's wins of the comparisons that were decided."""
    outcome = rows["outcome"].to_numpy(dtype=float)
    return cluster_sums(outcome > 0, outcome != 0, clusters)


def _shown(rows: pd.DataFrame) -> list[Objects]:
    """What answers have in common besides their worker: the dialogues on both sides, or the question that they answer, where
    that is known of all rows and is not the same in all."""
    if _is_by_question(rows):
        return [rows["start"].to_numpy(dtype=object)] * 2
    return [rows[side].to_numpy(dtype=object) for side in ("dialogue_a", "dialogue_b")]


def _is_by_question(rows: pd.DataFrame) -> bool:
    return "start" in rows.columns and bool(rows["start"].notna().all()) and rows["start"].nunique() > 1


def _in_words(rows: pd.DataFrame) -> Callable[[Result], Result]:
    return of_questions if _is_by_question(rows) else lambda result: result


class ModelOutcome(cells.Row):
    """One model against all its opponents: its ``win_rate`` of decided comparisons, clustered as that of a pair."""

    model: cells.Name
    wins: Annotated[int, cells.Column("Won")]
    losses: Annotated[int, cells.Column("Lost")]
    ties: cells.Count
    win_rate: Annotated[Result, cells.Estimate(kind="share", ends="ci")]


def model_wins(rows: pd.DataFrame, *, level: float = 0.95) -> list[ModelOutcome]:
    """Every model of ``rows`` (as :func:`orient_pairs`), the most often winning first; weaker opponents mean more
    wins."""
    a, b = (rows[name].to_numpy(dtype=object) for name in ("model_a", "model_b"))
    workers, outcome = rows["worker_id"].to_numpy(dtype=object), rows["outcome"].to_numpy(dtype=float)
    shown = _shown(rows)
    standings = []
    for model in sorted({*a, *b}):
        took_part = (a == model) | (b == model)
        is_a = (a == model)[took_part]
        score = np.where(is_a, outcome[took_part], -outcome[took_part])
        won, decided = (score > 0).astype(float), (score != 0).astype(float)
        of_a, of_b = (dialogues[took_part] for dialogues in shown)
        sides = [np.where(is_a, of_a, of_b), np.where(is_a, of_b, of_a)]
        rate = crossed_share(won, decided, workers[took_part], sides, name=f"win rate of {model}", level=level)
        standings.append(
            ModelOutcome(
                model=model,
                wins=int(won.sum()),
                losses=int((decided - won).sum()),
                ties=int((1 - decided).sum()),
                win_rate=_in_words(rows)(rate),
            )
        )
    rates = {of.model: -1.0 if of.win_rate.estimate is None else of.win_rate.estimate for of in standings}
    return sorted(standings, key=lambda of: rates[of.model], reverse=True)


def first_shown(rows: pd.DataFrame, *, level: float = 0.95) -> Result:
    """How often the model shown first (above or on the left) won, over decided comparisons with known positions."""
    side, outcome = rows["first_a"].to_numpy(dtype=float), rows["outcome"].to_numpy(dtype=float)
    known = ~np.isnan(side) & (outcome != 0)
    won = np.where(side[known] == 1, outcome[known] > 0, outcome[known] < 0).astype(float)
    sums = cluster_sums(won, np.ones_like(won), rows["worker_id"].to_numpy(dtype=object)[known])
    return clustered_share(sums, name="the one shown first won", level=level)
