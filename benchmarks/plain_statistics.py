"""The obvious ways to compute what ``analysis`` measures: loops, and packages used row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int_]
Floats = npt.NDArray[np.float64]


def play_matches(first: Ints, second: Ints, result: Ints, n_models: int, orders: Ints) -> Floats:
    """μ of each model after the matches of each order, with the package ``trueskill``."""
    import trueskill

    world = trueskill.TrueSkill(draw_probability=0.10)
    found = []
    for order in orders:
        ratings = [world.create_rating() for _ in range(n_models)]
        for match in order:
            a, b = first[match], second[match]
            ranks = {1: [0, 1], 0: [0, 0], -1: [1, 0]}[int(result[match])]
            (ratings[a],), (ratings[b],) = world.rate([(ratings[a],), (ratings[b],)], ranks=ranks)
        found.append([rating.mu for rating in ratings])
    return np.array(found)


def play_free_for_all(points: Ints, orders: Ints) -> Floats:
    """μ of each model after all dialogues of each order, with the package ``trueskill``."""
    import trueskill

    world = trueskill.TrueSkill(draw_probability=0.10)
    found = []
    for order in orders:
        ratings = [(world.create_rating(),) for _ in range(points.shape[1])]
        for dialogue in order:
            ranks = [int((points[dialogue] > own).sum()) for own in points[dialogue]]
            ratings = world.rate(ratings, ranks=ranks)
        found.append([rating.mu for (rating,) in ratings])
    return np.array(found)


def pandas_bootstrap(turns: pd.DataFrame, draws: int) -> tuple[float, float]:
    """Percentile interval of the share of ``won``; each draw puts the rows of the drawn workers together."""
    rng = np.random.default_rng(0)
    by_worker = dict(list(turns.groupby("worker")))
    names = list(by_worker)
    shares = []
    for _ in range(draws):
        drawn = rng.choice(len(names), len(names))
        shares.append(pd.concat([by_worker[names[i]] for i in drawn])["won"].mean())
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


def binomial_looks(outcomes: Ints) -> Floats:
    """The binomial test after every outcome."""
    from scipy.stats import binomtest

    wins = np.cumsum(outcomes)
    return np.array([binomtest(int(won), look, 0.5).pvalue for look, won in enumerate(wins, start=1)])


def em_survival(k: Ints, spotted: Ints, tolerance: float = 1e-9) -> list[float]:
    """S at each length: mass between lengths, shared out again among what each judgement allows, until it stands still."""
    lengths = np.unique(k)
    place = np.searchsorted(lengths, k)
    inside = np.arange(len(lengths) + 1) <= place[:, None]
    allowed = np.where(spotted[:, None] == 1, inside, ~inside).astype(float)
    mass = np.full(len(lengths) + 1, 1 / (len(lengths) + 1))
    while True:
        weighed = allowed * mass
        again = (weighed / weighed.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(again - mass).max() < tolerance:
            return list(1 - np.cumsum(again)[:-1])
        mass = again


def plain_zhao_sun(k: Ints, spotted: Ints, group: Ints) -> Floats:
    """U of each group: events expected of each judgement at each moment, less its share of those of all."""
    lengths = np.unique(k)
    survival = em_survival(k, spotted)
    falls = -np.diff([1.0, *survival])
    u = np.zeros(2)
    events = np.zeros((2, len(lengths)))
    at_risk = np.zeros((2, len(lengths)))
    for length, found, own in zip(k, spotted, group, strict=True):
        last = int(np.searchsorted(lengths, length))
        if found:
            chances = falls[: last + 1] / falls[: last + 1].sum()
            for moment in range(last + 1):
                events[own, moment] += chances[moment]
                at_risk[own, moment] += chances[moment:].sum()
        else:
            at_risk[own, : last + 1] += 1
    for moment in range(len(lengths)):
        share = at_risk[:, moment] / at_risk[:, moment].sum()
        u += events[:, moment] - events[:, moment].sum() * share
    return u


def conditional_logit(chosen: Floats) -> Floats:
    """Strengths of the models, which sum to 0, with statsmodels; a turn is a group of the replies shown."""
    from statsmodels.discrete.conditional_models import ConditionalLogit

    picks, shown = np.nansum(chosen, axis=1), (~np.isnan(chosen)).sum(axis=1)
    telling = chosen[(picks > 0) & (picks < shown)]
    turns, models = np.nonzero(~np.isnan(telling))
    design = (models[:, None] == np.arange(1, chosen.shape[1])).astype(float)
    fit = ConditionalLogit(telling[turns, models], design, groups=turns).fit(method="newton", disp=0)
    strengths = np.array([0.0, *fit.params])
    return np.asarray(strengths - strengths.mean())
