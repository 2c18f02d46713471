"""Repeated looks at a growing study: p-values of every look, and anytime-valid ones.

If you check after every answer and stop at the first p < .05, you will find a difference between two equal models in a
third of studies of 400 answers. Bets on which of two models wins may be looked at after every worker: somebody who
holds that neither is the better one lets us stake a share of our capital on the next worker's share of turns, and the
chance of ever having twenty times the capital is then at most one in twenty (Ville's inequality). Several bets find
small and large gaps.

The unit is the worker, folded in once, in an order that does not depend on answers. Nor may a stake: it depends on the
dialogues that a worker was given, not on how many they stayed for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, stdtr

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval._util.errors import InvalidValue

SOURCE = "Waudby-Smith & Ramdas 2024, Estimating means of bounded random variables by betting; Ville 1939"
PRIOR_VARIANCE = 0.05
"""Mean square of what the share of a dialogue's turns that one model wins is away from one half, before anything is known:
some six turns that are a little alike."""
PRIOR_COUNT = 8.0  # the prior is worth this many workers
PRIOR_LIKENESS = 0.3  # Expected correlation of the shares in two dialogues of one worker
SMALLEST = 1e-200
"""The smallest capital, so that processors can count quickly: negligible for a stake of 1."""
LARGEST = 1e200


@dataclass(frozen=True)
class Bets:
    """Bets that are held at once: the ``gains`` that each expects of a dialogue, ``weights`` (parts of the capital),
    and ``most``, the largest stake at which the capital of a worker's single dialogue stays above 0. Expectations and
    the variance seen of earlier workers only shape the stakes: whether a bet is fair does not rest on them.
    """

    gains: Floats
    weights: Floats
    most: float

    def of(self, terms: Terms, variance: Floats) -> Floats:
        """Stakes (bets × …) on one worker's answers, if one dialogue has this ``variance`` (…)."""
        wanted = np.multiply.outer(self.gains, terms.scale(variance))
        return np.asarray(np.minimum(wanted, terms.most(self.most)), dtype=float)


@dataclass(frozen=True)
class Terms:
    """One worker's information (…), in dialogues of the two models alone: its mean, its variance, and its largest
    size."""

    mean: Floats
    square: Floats
    bound: Floats

    def reaching(self, further: Floats) -> Terms:
        """The same terms if a worker's answers can be so much further from 0."""
        return Terms(self.mean, self.square, self.bound + further)

    def scale(self, variance: Floats) -> Floats:
        """The stake that a bet for a gain of 1 wants, if one dialogue has this ``variance`` (…)."""
        return np.asarray(self.mean / np.where(self.mean > 0, self.square * variance, 1.0), dtype=float)

    def most(self, of_one: Floats | float) -> Floats:
        """The largest stake, if that on a single dialogue is ``of_one``."""
        return np.asarray(of_one / 2 / np.maximum(self.bound, 0.25), dtype=float)


def direct_terms(n: Floats) -> Terms:
    """The terms of ``n`` dialogues of the two models, with the expected likeness within a worker."""
    return Terms(n, n * (1 + (n - 1) * PRIOR_LIKENESS), n / 2)


def pooled_terms(direct: Floats, indirect: Floats, bound: Floats) -> Terms:
    """The terms of ``direct`` dialogues, and of halved ``indirect`` ones between one of the two and a third model."""
    mean, liked = direct + indirect / 4, direct + indirect / np.sqrt(8)
    together = liked**2 - direct - indirect / 8
    return Terms(mean, mean + PRIOR_LIKENESS * together, direct / 2 + bound)


def order_bets(margin: float) -> Bets:
    """Bets on the better model, for gaps of about ``margin`` (in win rates: 0.1 for 10 points) and more."""
    return Bets(_half(margin) * np.array([0.9, 1.6, 2.4, 5.0]), np.array([0.5, 0.2, 0.2, 0.1]), 1.9)


def equality_bets(margin: float) -> Bets:
    """Bets on a gap smaller than ``margin``."""
    return Bets(_half(margin) * np.array([0.65, 0.85]), np.array([0.5, 0.5]), 1.7)


def squares(lead: Floats, n: Floats) -> Floats:
    """Workers' information on the variance of one dialogue, where ``n`` dialogues sum to ``lead`` above one half."""
    return np.divide(lead**2, direct_terms(n).square, out=np.zeros_like(lead), where=n > 0)


def variance_seen(total: Floats, count: Floats) -> Floats:
    """The expected variance after so many :func:`squares` that sum to ``total``."""
    return np.asarray((PRIOR_COUNT * PRIOR_VARIANCE + total) / (PRIOR_COUNT + count), dtype=float)


def prediction_weight(together: Floats, predicted: Floats, variance: Floats) -> Floats:
    """How much of a prediction is to be taken off, from 0 to 1, after earlier workers: the least squares slope of what they
    said on what was predicted, drawn towards 0 the less it is known, and 0 where it is at most its standard error.

    ``together``: sum of the products of both. ``predicted``: of the squares of predictions. ``variance``: of what a worker
    says in one dialogue.
    """
    slope = np.divide(together, predicted, out=np.zeros_like(together), where=predicted > 0)
    error = np.divide(variance * predicted, together**2, out=np.ones_like(together), where=together > 0)
    return np.asarray(np.clip(slope * (1 - np.minimum(error, 1.0)), 0.0, 1.0), dtype=float)


def _half(margin: float) -> float:
    if not 0 < margin < 1:
        what = f"the margin must be between 0 and 1, not {margin:g}"
        raise InvalidValue(what, try_="choose one such as 0.1 for ten points")
    return margin / 2


def staked(capital: Floats, stakes: Floats, outcome: Floats) -> Floats:
    """The ``capital`` of each bet (bets × …) after a worker with this ``outcome`` (…)."""
    grown = stakes * outcome
    grown += 1
    grown *= capital
    return np.clip(grown, SMALLEST, LARGEST, out=grown)


def order_evidence(shares: npt.ArrayLike, margin: float = 0.1) -> tuple[Floats, Floats]:
    """E-values after each worker: that A is better than B, and that B is better than A.

    ``shares``: of each worker, in the order in which they came, the share of turns that A won, ties counting half. Of a
    choice from several models, half of 1 plus (picks of A − picks of B) / turns. The first evidence that ever reaches
    2/α decides with a chance of at most α of a wrong answer. ``margin``: the gap that is looked for first.

    Assumes independent workers, whose order does not depend on their answers, each with one share.

    Source: Waudby-Smith & Ramdas 2024, §4; the mixture of bets: Ramdas et al. 2023.

    >>> for_a, for_b = order_evidence([0.8, 0.6, 1, 0.8, 0.6, 1, 0.8, 1, 1])
    >>> for_a.round(1).tolist()
    [1.4, 1.6, 2.7, 3.7, 4.2, 7.0, 9.7, 16.0, 26.0]
    >>> round(float(for_b.max()), 2)
    0.6
    """
    y = _shares(shares)
    bets, one = order_bets(margin), np.ones(len(y))
    stakes = _stakes(bets, y, one, one)
    return _evidence(y - 0.5, stakes, bets), _evidence(0.5 - y, stakes, bets)


def equality_evidence(shares: npt.ArrayLike, margin: float = 0.1) -> Floats:
    """E-values after each worker that the win rates of A and B are less than ``margin`` apart.

    The lower of the two that A is not better by so much, and that B is not, each at its highest so far: where it reaches
    1/β, the two are called equal within the margin with a chance of at most β that they are not.

    Assumes independent workers, whose order does not depend on their answers, each with one share.

    Source: Waudby-Smith & Ramdas 2024, §4; two one-sided tests: Schuirmann 1987.

    >>> equality_evidence([0.5, 0.6, 0.4] * 40, margin=0.2)[[9, 39, 119]].round(1).tolist()
    [4.4, 390.7, 62590472.6]
    """
    y, bets, half = _shares(shares), equality_bets(margin), _half(margin)
    one = np.ones(len(y))
    stakes = _stakes(bets, y, one, one)
    sides = [_evidence(half - (y - 0.5), stakes, bets), _evidence(half + (y - 0.5), stakes, bets)]
    return np.minimum(*(np.maximum.accumulate(side) for side in sides)) if y.size else y


def score_evidence(differences: npt.ArrayLike) -> tuple[Floats, Floats]:
    """E-values after each worker that A is rated higher than B, and that B is, of ``differences`` of standardised
    scores."""
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or not np.isfinite(d).all():
        raise ValueError("differences must be a list of numbers, with nothing missing")
    sizes, weights = np.array([0.25, 0.5, 1.0, 2.0]), np.array([0.25, 0.25, 0.25, 0.25])
    odds = np.tanh(sizes * d[:, None])
    return np.cumprod(1 + odds, axis=0) @ weights, np.cumprod(1 - odds, axis=0) @ weights


def share_interval(
    shares: npt.ArrayLike,
    terms: npt.ArrayLike | None = None,
    *,
    asked: npt.ArrayLike | None = None,
    margin: float = 0.1,
    level: float = 0.95,
    last: bool = False,
) -> tuple[Floats, Floats]:
    """Ends of an anytime-valid interval for the mean share, after each worker.

    All means that no bet has spoken against so far: the same bets as in :func:`order_evidence`, made against each mean,
    so that one half lies outside just when A or B is called better at α = 1 − ``level``. Ends never move apart.

    ``terms``: dialogues behind each share, a part of one where its worker left; without it one each. ``asked``: that
    each worker was given, where some left: stakes go by these, as who likes one model may leave sooner. ``margin``: the
    gap for which the bets are meant. ``last``: only after the last worker, which is quicker.

    Assumes independent workers, whose order does not depend on their answers, with one mean share at all times.

    Source: Waudby-Smith & Ramdas 2024, §4 (hedged capital).

    >>> low, high = share_interval([0.8, 0.6, 1, 0.8, 0.6, 1, 0.8, 1, 0.6, 0.8] * 3)
    >>> low[[9, 29]].round(2).tolist(), high[[9, 29]].round(2).tolist()
    ([0.47, 0.67], [1.0, 0.9])
    """
    y = _shares(shares)
    n = np.ones(len(y)) if terms is None else np.asarray(terms, dtype=float)
    if n.shape != y.shape or not (n > 0).all():
        raise ValueError(
            "terms must hold the number of dialogues behind each share, 1 or more, or the part of one that was answered"
        )
    given = n if asked is None else np.asarray(asked, dtype=float)
    if given.shape != n.shape or (given < n).any():
        raise ValueError("asked must hold the number of dialogues that each rater was given, no fewer than terms")
    if not 0 < level < 1:
        raise ValueError(f"the level must be between 0 and 1: it is {level:g}")
    bar = 2 / (1 - level)
    looks = np.arange(len(y))[-1:] if last else np.arange(len(y))
    bets = order_bets(margin)
    uncapped = Bets(bets.gains, bets.weights, np.inf)
    stakes = _stakes(uncapped, y, n, given)

    def against(mean: float, shares: Floats) -> Floats:
        """Evidence that the mean share is above ``mean``; no more is staked than leaves capital after shares of 0."""
        most = bets.most / 2 / mean / given[:, None]
        return _evidence((shares - mean) * n, np.minimum(stakes, most), bets)

    low, high = (_lowest(partial(against, shares=shares), bar, looks) for shares in (y, 1 - y))
    return low, 1 - high


def _lowest(against: Callable[[float], Floats], bar: float, looks: Ints) -> Floats:
    """At each look the smallest mean against which the evidence never reached ``bar``: found by halving."""
    low, high = np.zeros(len(looks)), np.ones(len(looks))
    while looks.size and (high - low).max() > 1e-4:
        middle = (low + high) / 2
        means, which = np.unique(middle, return_inverse=True)
        refuted = (np.stack([np.maximum.accumulate(against(mean)) for mean in means]) >= bar)[which, looks]
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def _stakes(bets: Bets, y: Floats, n: Floats, given: Floats) -> Floats:
    """Workers × bets; stakes of each on the dialogues that they were ``given``, after the variance of those before."""
    seen = np.cumsum(squares((y - 0.5) * n, n))
    before = np.concatenate([[0.0], seen[:-1]]) if len(y) else seen
    return bets.of(direct_terms(given), variance_seen(before, np.arange(len(y), dtype=float))).T


def _evidence(outcomes: Floats, stakes: Floats, bets: Bets) -> Floats:
    logs = np.cumsum(np.log1p(stakes * outcomes[:, None]), axis=0)
    return np.asarray(np.exp(np.minimum(logs, 460.0)) @ bets.weights, dtype=float)


def _shares(shares: npt.ArrayLike) -> Floats:
    y = np.asarray(shares, dtype=float)
    if y.ndim != 1 or not ((y >= 0) & (y <= 1)).all():
        raise ValueError("shares must be a list of numbers from 0 to 1, one per rater, with nothing missing")
    return y


SEQUENTIAL_SOURCE = (
    "Robbins 1970, Statistical methods related to the law of the iterated logarithm; "
    "Johari, Koomen, Pekelis & Walsh 2022, Always valid inference"
)
PRIOR_WEIGHT = 20.0
"""Answers that the prior of the e-process is worth: differences of about ten points are looked for first."""


def t_p_values(values: npt.ArrayLike, of_a: npt.ArrayLike) -> Floats:
    """The two-sided t test of A against B after every value: two independent samples, equal variances; 1 while
    unknown."""
    y, a = np.asarray(values, dtype=float), np.asarray(of_a, dtype=bool)
    if y.shape != a.shape or y.ndim != 1:
        raise ValueError(f"values and of_a must have the same length: they are {y.shape} and {a.shape}")
    if not np.isfinite(y).all():
        raise ValueError("values hold missing or infinite numbers: leave them out")
    y = y - (y.mean() if y.size else 0.0)  # sums of squares lose no digits to a high mean
    n_a, n_b = np.cumsum(a), np.cumsum(~a)
    sums = [np.cumsum(np.where(own, y, 0.0)) for own in (a, ~a)]
    means = [total / np.maximum(count, 1) for total, count in zip(sums, (n_a, n_b), strict=True)]
    squares = np.cumsum(y**2) - n_a * means[0] ** 2 - n_b * means[1] ** 2
    df = n_a + n_b - 2
    floor = 1e-12 * max(1.0, float((y**2).sum()))
    known = (n_a > 0) & (n_b > 0) & (df > 0) & (squares > floor)
    variance = np.where(known, squares / np.maximum(df, 1), 1.0) * (1 / np.maximum(n_a, 1) + 1 / np.maximum(n_b, 1))
    t = (means[0] - means[1]) / np.sqrt(variance)
    return np.asarray(np.where(known, 2 * stdtr(np.maximum(df, 1), -np.abs(t)), 1.0), dtype=float)


def mean_p_values(values: npt.ArrayLike) -> Floats:
    """The two-sided t test of a mean of 0 after every value, in the order in which they came.

    As long as all values agree there is no t, and signs are flipped: with n values that is 2/2ⁿ. 1 of a single value.

    Right for one look that was fixed beforehand. Assumes independent, normal values.

    Source: Student 1908.

    >>> mean_p_values([0.2, 0.2, 0.2, 0.1, 0.3]).round(3).tolist()
    [1.0, 0.5, 0.25, 0.006, 0.003]
    """
    y = np.asarray(values, dtype=float)
    n = np.arange(1, len(y) + 1)
    mean = np.cumsum(y) / n
    squared = np.maximum(np.cumsum(y**2) - n * mean**2, 0.0)
    error = np.sqrt(squared / np.maximum(n - 1, 1) / n)
    agree = error < 1e-9
    t = np.divide(mean, error, out=np.zeros_like(mean), where=~agree)
    p = 2 * stdtr(np.maximum(n - 1, 1), -np.abs(t))
    return np.where(agree, np.where(np.abs(mean) > 1e-9, 0.5 ** (n - 1), 1.0), p)


def e_values(outcomes: npt.ArrayLike, p0: float = 0.5, *, weight: float = PRIOR_WEIGHT) -> Floats:
    """The beta-binomial e-process after each of ``outcomes`` (0 or 1): how much better they fit a share unlike ``p0``."""
    given = np.asarray(outcomes, dtype=float)
    if given.ndim != 1 or not np.isin(given, (0.0, 1.0)).all():
        raise ValueError("outcomes must be a list of 0 and 1; leave ties out")
    x = given.astype(np.int64)
    if not 0 < p0 < 1 or not weight > 0:
        raise ValueError(f"p0 must be between 0 and 1 and weight above 0: they are {p0} and {weight}")
    k, n = np.cumsum(x), np.arange(1, len(x) + 1)
    a, b = weight * p0, weight * (1 - p0)
    log_e = betaln(a + k, b + n - k) - betaln(a, b) - k * np.log(p0) - (n - k) * np.log1p(-p0)
    return np.asarray(np.exp(np.minimum(log_e, 700.0)), dtype=float)


def anytime_p_values(outcomes: npt.ArrayLike, p0: float = 0.5, *, weight: float = PRIOR_WEIGHT) -> Floats:
    """An anytime-valid p-value after each outcome: 1 over the highest e-value so far.

    Below .05 at any look: the share differs from ``p0``, and one may stop there. Assumes what :func:`e_values` does.

    Source: Howard, Ramdas, McAuliffe & Sekhon 2021, §1; Ville 1939.

    >>> anytime_p_values([1, 1, 0, 1, 1, 1, 1, 1]).round(3).tolist()
    [1.0, 0.955, 0.955, 0.955, 0.929, 0.829, 0.719, 0.606]
    """
    e = e_values(outcomes, p0, weight=weight)
    return np.asarray(np.minimum(1.0, 1 / np.maximum.accumulate(e)), dtype=float) if e.size else e


@dataclass(frozen=True)
class Crossing:
    """Where p fell below α. ``first``: index of the first look; ``sustained``: of the first from which on all are."""

    first: int | None
    sustained: int | None


def crossing(p_values: npt.ArrayLike, alpha: float = 0.05, min_looks: int = 1) -> Crossing:
    """Find where p fell below α; looks before the ``min_looks``-th do not count."""
    p = np.asarray(p_values, dtype=float)
    below = (p < alpha) & (np.arange(1, len(p) + 1) >= min_looks)
    if not below.any():
        return Crossing(None, None)
    above = np.flatnonzero(~below)
    start = int(above[-1]) + 1 if above.size else 0
    return Crossing(int(below.argmax()), start if start < len(p) else None)
