"""Win rates over the turns of dialogues: Lin, Sqr and winner-takes-all (Smith et al. 2022, §4.1).

A dialogue in which a model won x turns and lost y counts x : y (Lin), x² : y² (Sqr) or, in the limit, everything to the
winner (WTA). Lin pools all turns; Sqr and WTA are means over dialogues. Single models are compared by their scores:
effective win rates. The probability of superiority is one effect size for all techniques, ties counting half.

And win rates by a grouping of the study, and whether they differ between its groups at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core import clustered
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.means import clustered_difference
from parlai_humaneval.statistics.core.result import Result, called
from parlai_humaneval.statistics.core.rows import FAMILY, Column, Count, Estimate, Row, p_columns
from parlai_humaneval.statistics.core.sign_flip import SOURCE as FLIPS_SOURCE
from parlai_humaneval.statistics.core.sign_flip import joint_sign_flip_p
from parlai_humaneval.statistics.core.two_way import crossed_share

Ties = Literal["half", "exclude", "loss"]
EqualScores = Literal["half", "exclude", "strict"]
WinsLosses = Sequence[tuple[int, int]] | Sequence[Sequence[int]] | npt.NDArray[np.generic]
EFFECTIVE_SOURCE = "Smith et al. 2022, §4.3.1; DeLong, DeLong & Clarke-Pearson 1988 (variance from placements)"


def linear_win_rate(wins: float, losses: float) -> float | None:
    """wins / (wins + losses); None where nothing was decided.

    Assumes that all turns weigh the same, and that ties say nothing.

    Source: Smith et al. 2022, §4.1.

    >>> linear_win_rate(3, 1)
    0.75
    """
    return wins / (wins + losses) if wins + losses else None


def lin_pooled(dialogues: WinsLosses) -> float | None:
    """Lin over the turns of all ``dialogues``, rows of (wins, losses)."""
    wins, losses = _columns(dialogues)
    return linear_win_rate(float(wins.sum()), float(losses.sum()))


def squared_win_rate(dialogues: WinsLosses) -> float | None:
    """Mean over ``dialogues`` of wins² / (wins² + losses²); undecided dialogues are left out.

    Between Lin and winner-takes-all: clear dialogues weigh more.

    Assumes that all dialogues weigh the same.

    Source: Smith et al. 2022, §4.1.

    >>> squared_win_rate([(3, 1), (1, 1)])
    0.7
    """
    return _mean(sqr_scores(*_columns(dialogues)))


def winner_takes_all(dialogues: WinsLosses, ties: Ties = "half") -> float | None:
    """Share of ``dialogues`` with more wins than losses.

    ``ties``: a dialogue with as many wins as losses counts half, is left out, or counts as lost.

    Every dialogue counts as much, however clear it was.

    Assumes that all dialogues weigh the same.

    Source: Smith et al. 2022, §4.1.

    >>> winner_takes_all([(3, 1), (1, 1)])
    0.75
    """
    return _mean(wta_scores(*_columns(dialogues), ties=ties))


def sm_wta(dialogues: WinsLosses) -> float | None:
    """Share of a single model's ``dialogues``, rows of (successes, turns), with at least half of the turns marked."""
    return _mean(sm_wta_scores(*_columns(dialogues)))


def sm_wta_scores(successes: Floats, turns: Floats) -> Floats:
    """1 for each dialogue with at least half of its ``turns`` marked, else 0; nan for a dialogue without turns."""
    if ((successes < 0) | (successes > turns)).any():
        raise ValueError("a dialogue needs 0 ≤ successes ≤ turns")
    return np.where(turns > 0, (2 * successes >= turns).astype(float), np.nan)


def effective_win_rate(a: npt.ArrayLike, b: npt.ArrayLike, ties: EqualScores = "half") -> float | None:
    """How often a score of A is higher than one of B, over all pairs of the two (Smith et al. 2022, §4.3.1)."""
    above, equal = _pairs_won(*(_scores(values) for values in (a, b)))
    pairs = float(np.size(a) * np.size(b))
    counted = pairs - float(equal.sum()) if ties == "exclude" else pairs
    won = float(above.sum()) + (float(equal.sum()) / 2 if ties == "half" else 0.0)
    return won / counted if counted else None


def placements(a: Floats, b: Floats) -> Floats:
    """For each score of ``a`` the share of ``b`` that it beats, equal ones counting half."""
    above, equal = _pairs_won(_scores(a), _scores(b))
    return np.asarray((above + equal / 2) / max(1, np.size(b)), dtype=float)


def pw_combo_score(rate_turn: float, rate_dialog: float, w_turn: float = 1, w_dialog: float = 5) -> float:
    """The win rate of ratings drawn from two techniques at ``w_turn`` : ``w_dialog``."""
    if min(w_turn, w_dialog) < 0 or w_turn + w_dialog == 0:
        raise ValueError(f"weights {w_turn} and {w_dialog}: expected two from 0 up, not both 0")
    return (w_turn * rate_turn + w_dialog * rate_dialog) / (w_turn + w_dialog)


def sm_combo_score(
    turn_scores: npt.ArrayLike,
    likert: npt.ArrayLike,
    w_turn: float = 1,
    w_dialog: float = 5,
    *,
    scale: tuple[float, float] = (1, 5),
) -> Floats:
    """A score of each of a single model's conversations: weighted mean of its turns (0–1) and of its rating at the end,
    brought to 0–1 (Smith et al. 2022, App. C.8, which finds 1:5 and 1:10 the most sensitive)."""
    turns, ratings, (low, high) = _scores(turn_scores), _scores(likert), scale
    if turns.shape != ratings.shape:
        raise ValueError(f"{turns.size} scores of turns and {ratings.size} ratings: give one of each per conversation")
    if ((turns < 0) | (turns > 1)).any() or ((ratings < low) | (ratings > high)).any():
        raise ValueError(f"expected scores of turns from 0 to 1 and ratings from {low} to {high}")
    whole = pw_combo_score(0, 1, w_turn, w_dialog)
    return np.asarray((1 - whole) * turns + whole * (ratings - low) / (high - low), dtype=float)


def sqr_scores(wins: Floats, losses: Floats) -> Floats:
    """wins² / (wins² + losses²) of each dialogue; nan where nothing was decided."""
    squares = wins**2 + losses**2
    scores = np.full(squares.shape, np.nan)
    np.divide(wins**2, squares, out=scores, where=squares > 0)
    return scores


def wta_scores(wins: Floats, losses: Floats, ties: Ties = "half") -> Floats:
    """1, 0 or the value of a tie for each dialogue; nan where it does not count."""
    tied = {"half": 0.5, "exclude": np.nan, "loss": 0.0}[ties]
    scores = np.where(wins > losses, 1.0, np.where(wins < losses, 0.0, tied))
    return np.where(wins + losses > 0, scores, np.nan)


def _scores(values: npt.ArrayLike) -> Floats:
    scores = np.asarray(values, dtype=float).ravel()
    if np.isnan(scores).any():
        raise ValueError("a score is missing: leave out what was not rated")
    return scores


def _pairs_won(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """For each of ``a`` how many of ``b`` it beats and how many it equals; by ranks, so that memory stays small."""
    ordered = np.sort(b)
    above = np.searchsorted(ordered, a, side="left")
    return above.astype(float), (np.searchsorted(ordered, a, side="right") - above).astype(float)


def _columns(dialogues: WinsLosses) -> tuple[Floats, Floats]:
    table = np.asarray(dialogues, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _mean(scores: Floats) -> float | None:
    counted = scores[~np.isnan(scores)]
    return float(counted.mean()) if counted.size else None


def effective_win_test(
    scores_a: npt.ArrayLike,
    clusters_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    clusters_b: npt.ArrayLike,
    *,
    name: str = "effective win rate",
    level: float = 0.95,
    cluster: str = "worker",
    dialogues: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> Result:
    """Chance that a score of A is higher than one of B, equal ones counting half, clustered, tested against ½.

    The share of B that each score of A beats, and of A that beats each score of B, are what an observation adds to
    the estimate; the signs of their sums by cluster are flipped. A cluster may
    hold scores of both. p = 1 with no scores of one of them, and no estimate. ``dialogues``, those of the scores of A and
    of B: where several workers judged the same, the test is by rater and dialogue.

    Raises:
        ValueError: a score is missing, or not every score has its cluster.

    Above .5: scores of A tend to be higher. Assumes independent clusters.

    Source: Smith et al. 2022, §4.3.1; DeLong, DeLong & Clarke-Pearson 1988 (variance).

    >>> print(effective_win_test([5, 4, 4, 3], list('abcd'), [3, 4, 2, 3], list('abcd')))
    effective win rate: 0.812, 95% interval 0.353 to 1.000, statistic 2.165, p = .12, n = 8 [CR1 t, clustered by
    rater]
    """
    a, b = np.asarray(scores_a, dtype=float), np.asarray(scores_b, dtype=float)
    if len(a) != np.size(clusters_a) or len(b) != np.size(clusters_b):
        raise ValueError(f"expected a {called(cluster)} for each score of A and of B")
    rate = effective_win_rate(a, b)
    # Each value deviates as its placement does, and the difference of the two means is the rate less ½.
    of_a, of_b = placements(a, b) - 0.5, (rate or 0.0) - (1 - placements(b, a))
    sides, limits = (of_a, clusters_a, of_b, clusters_b), (-0.5, 0.5)
    centred = clustered_difference(*sides, name=name, limits=limits, level=level, cluster=cluster, dialogues=dialogues)
    return centred.but(
        estimate=rate,
        ci_low=None if centred.ci_low is None else centred.ci_low + 0.5,
        ci_high=None if centred.ci_high is None else centred.ci_high + 0.5,
        source=EFFECTIVE_SOURCE,
        details={**centred.details, "null": 0.5},
    )


SUPERIORITY_SOURCE = "Grissom & Kim 2001; McGraw & Wong 1992; Smith et al. 2022, §4.3.1"
SUPERIORITY = "probability of superiority"


def paired_superiority(
    gaps: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = SUPERIORITY,
    dialogues: Sequence[npt.ArrayLike] = (),
    level: float = 0.95,
) -> Result:
    """How often the first of two models did better in a judgement of both, ties counting half; tested against ½."""
    scores = (np.sign(np.asarray(gaps, dtype=float)) + 1) / 2
    known = (~np.isnan(scores)).astype(float)
    shares = (np.nan_to_num(scores), known, clusters)
    if dialogues:
        return crossed_share(*shares, dialogues, name=name, level=level).but(source=SUPERIORITY_SOURCE)
    return clustered_share(cluster_sums(*shares), name=name, level=level).but(source=SUPERIORITY_SOURCE)


def superiority_of_difference(difference: Result) -> Result:
    """The probability of superiority of a difference of two selected rates: ½ plus half of it."""
    estimate, low, high = (
        None if end is None else 0.5 + end / 2 for end in (difference.estimate, difference.ci_low, difference.ci_high)
    )
    return difference.but(estimate=estimate, ci_low=low, ci_high=high, source=SUPERIORITY_SOURCE)


def complement(share: Result) -> Result:
    """The share of the other model of two: 1 minus this share."""
    estimate, low, high = (None if end is None else 1 - end for end in (share.estimate, share.ci_high, share.ci_low))
    return share.but(estimate=estimate, ci_low=low, ci_high=high)


SOURCE = f"Gail & Simon 1985 (interaction of subgroups); {FLIPS_SOURCE}"
FEWEST, MOST_GROUPS, MOST_PAIRS = 10, 12, 10
"""A group with fewer decided answers, or fewer than three raters, is left out. So many groups and pairs are compared."""


class GroupRate(Row):
    """How often A won in one group (``value``) of a column, of decided answers; interval by rater, not corrected."""

    by: Annotated[str, Column("By")]
    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    value: Annotated[str, Column("Group")]
    wins_a: Count
    wins_b: Count
    ties: Count
    win_rate: Annotated[Result, Estimate("Win rate of A", "share", name="win_rate_a", ends="ci")]
    n_workers: Annotated[int, Column()]


class GroupTest(Row):
    """Whether A's win rate over B is the same in all ``groups`` of a column; ``left_out``: answers of smaller groups."""

    by: Annotated[str, Column("By")]
    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    groups: Annotated[int, Column("Groups")]
    left_out: Annotated[int, Column("Answers left out")]
    test: Annotated[
        Result,
        Column("Decided", "count", name="n", path="n"),
        Column(name="statistic", path="statistic"),
        p_columns("p_value", "p_value", "p, same rate in all", "p, same rate in all, Holm", "p_decides"),
        FAMILY,
    ]


def equal_in_groups(won: npt.ArrayLike, groups: npt.ArrayLike, workers: npt.ArrayLike) -> Result:
    """Test that a share is the same in all groups: the interaction of models and groups.

    Args:
        won: per decided answer, 1 the first won, 0 the second.
        groups: per answer, its group.
        workers: per answer, who gave it.

    The statistic is the sum over groups of n · (share − share of all)². p is the share of assignments of signs to raters
    whose sums are as long. A small p says that some groups differ, not which; it does not make the best group a finding.

    Raises:
        ValueError: lists of unequal length.

    Assumes that raters are independent; one may answer in several groups. Source: ``SOURCE``.

    >>> won, groups = [1, 1, 1, 0, 0, 0] * 8, ['art', 'art', 'art', 'law', 'law', 'law'] * 8
    >>> print(equal_in_groups(won, groups, [i // 6 for i in range(48)]))
    same win rate in 2 groups: –, statistic 12.000, p = .008, n = 48 [joint sign-flip test, clustered by rater]
    """
    x = np.asarray(won, dtype=float)
    of_group, names = pd.factorize(np.asarray(groups, dtype=object), sort=True)
    of_worker, raters = pd.factorize(np.asarray(workers, dtype=object))
    if not len(x) == len(of_group) == len(of_worker):
        raise ValueError("won, groups and raters must be lists of the same length, one entry per answer")
    how = f"joint {clustered.FLIPPED}, clustered by rater", SOURCE, clustered.independent()
    base = Result.by(*how, name=f"same win rate in {len(names)} groups", n=len(x), details={"n_workers": len(raters)})
    if len(names) < 2:
        return base.but(p_value=1.0 if len(x) else None, notes=("nothing to compare",))
    if len(raters) < clustered.MIN_CLUSTERS:
        return base.but(notes=(clustered.too_few_clusters(),))
    sizes = np.bincount(of_group).astype(float)
    deviations = np.zeros((len(raters), len(names)))
    np.add.at(deviations, (of_worker, of_group), x - x.mean())
    # Each rater moves the rate of a group against that of all, which moves with it.
    parts = (deviations / sizes - deviations.sum(axis=1, keepdims=True) / len(x)) * np.sqrt(sizes)
    return base.but(
        statistic=float((parts.sum(axis=0) ** 2).sum()),
        p_value=joint_sign_flip_p(parts),
        notes=clustered.small_sample_notes(len(raters), "worker", np.bincount(of_worker)),
    )


def group_rates(
    pairs: pd.DataFrame, values: npt.ArrayLike, by: str, *, level: float = 0.95
) -> tuple[list[GroupRate], list[GroupTest]]:
    """Win rates of every pair of models in each group of ``values``, and the test whether they are the same in all.

    ``pairs``: as :func:`.paired_answers` gives them; ``values``: the group of each, None where it has none; ``by``: their
    name. Pairs of models with the most answers come first, at most ``MOST_PAIRS``; one with fewer than two groups large
    enough is left out.
    """
    rates: list[GroupRate] = []
    tests: list[GroupTest] = []
    rows = pairs.assign(value=np.asarray(values, dtype=object))
    for (a, b), own in sorted(rows.groupby(["model_a", "model_b"]), key=lambda item: (-len(item[1]), item[0])):
        names = {"by": by, "model_a": str(a), "model_b": str(b)}
        large = _large(own)
        if len(tests) == MOST_PAIRS or not 1 < len(large) <= MOST_GROUPS:
            continue
        kept = pd.concat(list(large.values()))
        decided = kept[kept["outcome"] != 0]
        test = equal_in_groups(decided["outcome"] > 0, decided["value"], decided["worker_id"])
        tests.append(GroupTest(**names, groups=len(large), left_out=len(own) - len(kept), test=test))
        rates += [rate for value, of in large.items() for rate in _rates(of, str(value), names, level)]
    return rates, tests


def most_groups(pairs: pd.DataFrame, values: npt.ArrayLike) -> int:
    """The largest number of large enough groups that two models have."""
    rows = pairs.assign(value=np.asarray(values, dtype=object))
    return max((len(_large(own)) for _, own in rows.groupby(["model_a", "model_b"])), default=0)


def _large(rows: pd.DataFrame) -> dict[object, pd.DataFrame]:
    return {
        value: of
        for value, of in rows.groupby("value", sort=True)
        if (of["outcome"] != 0).sum() >= FEWEST and of["worker_id"].nunique() >= clustered.MIN_CLUSTERS
    }


def _rates(rows: pd.DataFrame, value: str, names: dict[str, str], level: float) -> Iterator[GroupRate]:
    outcome = rows["outcome"].to_numpy()
    sums = clustered.cluster_sums(outcome > 0, outcome != 0, rows["worker_id"])
    yield GroupRate(
        **names,
        value=value,
        wins_a=int((outcome > 0).sum()),
        wins_b=int((outcome < 0).sum()),
        ties=int((outcome == 0).sum()),
        win_rate=clustered.clustered_share(sums, name=f"win rate in {value}", level=level),
        n_workers=int(rows["worker_id"].nunique()),
    )
