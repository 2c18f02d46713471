"""The proof of a plan: studies with its numbers are made up, analysed, and those that find the gap counted.

Answers of a worker are alike as the ICC says: of each worker the chances of every answer are drawn from a Dirichlet
distribution around the true ones (for two answers: beta-binomial), which makes two answers of a worker correlate with
just that ICC. Scores have a normal effect of each worker and model. Of finished dialogues that are judged several times,
workers and dialogues each have a normal effect on who is ahead. The analysis is that of the report, by the same functions;
or, with no likeness at all, the papers'.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, ndtr, ndtri, stdtr

from parlai_humaneval.planning.designs import SHORT, Contest, Design, OneShare, TwoScores, TwoShares, patterns
from parlai_humaneval.planning.inputs import PlanError, PlanInputs
from parlai_humaneval.planning.layout import Layout, layout
from parlai_humaneval.planning.likeness import Likeness, normal_nodes
from parlai_humaneval.planning.power import rejected_counts
from parlai_humaneval.planning.study_plan import size_of
from parlai_humaneval.statistics.crossed import cluster_totals, two_way_errors
from parlai_humaneval.statistics.extreme_rates import NEAR, ClusteredRate, extreme_rate_test
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.sign_flip import joint_sign_flip_p, sign_flip_p_value

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Numbers = Floats | Ints

REPLICATES = 4_000
_CELLS_AT_ONCE = 2_000_000
JOINT_DRAWS = 999
"""Flips of the signs of a study's workers, of which a report takes more: to count studies so many do."""
_WIDEST = 6.0
"""Standard deviation of a lognormal distribution in which one worker gives nearly everything."""


def simulated_power(
    inputs: PlanInputs,
    *,
    replicates: int = REPLICATES,
    on_progress: Callable[[int], None] | None = None,
) -> Result:
    """Share of ``replicates`` made-up studies of the planned size whose test finds the gap, with its Wilson interval.

    Simulated is one test of the plan (of several pairs: one pair, at its corrected level). ``on_progress`` is told how
    many studies were added.

    Raises:
        PlanError: the gap is more than is possible.
    """
    question = inputs.filled()
    found = layout(question)
    n = size_of(question, found)
    likeness = found.likeness.at(n)
    workers = max(2, math.ceil(found.design.groups(n, found.per_worker) - 1e-9))
    rng = np.random.default_rng(question.seed)
    hits = 0
    for size in _batches(replicates, n, workers, found):
        hits += int(rejections(found.design, n, workers, likeness, found.alpha, size, rng).sum())
        if on_progress:
            on_progress(size)
    return _result(question, hits, replicates, n, workers)


def rejections(
    design: Design,
    n: int,
    workers: int,
    likeness: Likeness,
    alpha: float,
    replicates: int,
    rng: np.random.Generator,
) -> Flags:
    """For each of ``replicates`` studies: does the test find a difference?

    ``n``: observations of each sample; ``workers``: of the whole test, who share them as unequally as ``likeness`` says.
    """
    icc = likeness.icc
    if isinstance(design, TwoScores):
        return _scores(design, n, workers, likeness, alpha, replicates, rng)
    if isinstance(design, Contest) and likeness.reused and (icc or likeness.dialogue_icc):
        return _of_shared_dialogues(design, n, workers, likeness, alpha, replicates, rng)
    if not icc:
        return _independent(design, n, alpha, replicates, rng)
    if isinstance(design, TwoShares):
        half = max(2, workers // 2)
        sizes = shared_out(n, half, likeness.inequality)
        won = [
            _alike(np.array([p, 1 - p]), sizes, icc, replicates, rng)[..., 0] for p in (design.share_a, design.share_b)
        ]
        return _found_difference(won[0], won[1], sizes, alpha, crossed=False)
    sizes = shared_out(n, workers, likeness.inequality)
    if isinstance(design, OneShare):
        chances = np.array([design.share, 1 - design.share])
        return _found_share(_alike(chances, sizes, icc, replicates, rng)[..., 0], sizes, design.baseline, alpha)
    assert isinstance(design, Contest)
    chosen, chances = patterns(design)
    sums = _alike(chances, sizes, icc, replicates, rng) @ chosen
    return _found_lead(sums[..., 0] - sums[..., 1], alpha) if design.df == 1 else _found_among(sums, alpha)


def _found_lead(leads: Floats, alpha: float) -> Flags:
    """Of two models: is the sum of the workers' leads (studies × workers) other than 0?"""
    return np.array([sign_flip_p_value(study) < alpha for study in leads], dtype=bool)


def _found_among(chosen: Floats, alpha: float) -> Flags:
    """Of several models, chosen so often by each worker (studies × workers × models): are some chosen more often?"""
    deviations = chosen - chosen.mean(axis=-1, keepdims=True)
    draws = max(JOINT_DRAWS, math.ceil(50 / alpha) - 1)
    return np.array([joint_sign_flip_p(study, draws=draws) < alpha for study in deviations])


def _found_difference(sums_a: Numbers, sums_b: Numbers, sizes: Ints, alpha: float, *, crossed: bool) -> Flags:
    """Of two models rated one at a time, with these sums (studies × workers): do their means differ?

    ``sizes``: observations of each worker, of both models where the same workers rate both (``crossed``), else of one.
    """
    n = sizes.sum()
    means = [sums.sum(axis=1, keepdims=True) / n for sums in (sums_a, sums_b)]
    difference, weights = means[0] - means[1], sizes / n
    parts = [(sums - mean * sizes) / n for sums, mean in zip((sums_a, sums_b), means, strict=True)]
    if crossed:
        return _found_lead(parts[0] - parts[1] + difference * weights, alpha)
    sides = np.concatenate([parts[0], -parts[1]], axis=1) + difference * np.concatenate([weights, weights]) / 2
    return _found_lead(sides, alpha)


def _found_share(won: Ints, sizes: Ints, baseline: float, alpha: float) -> Flags:
    """Of one model, found good so often by each worker (studies × workers): is its rate other than the baseline?"""
    by_signs = np.full(len(won), NEAR <= baseline <= 1 - NEAR)
    by_signs &= (won * sizes[0] != won[:, :1] * sizes).any(axis=1)  # where all workers agree, there is nothing to flip
    found = np.zeros(len(won), dtype=bool)
    found[by_signs] = _found_lead(won[by_signs] - baseline * sizes, alpha)
    found[~by_signs] = [
        float(extreme_rate_test(ClusteredRate.of(study, sizes), [baseline]).p_values[0]) < alpha
        for study in won[~by_signs]
    ]
    return found


def shared_out(n: int, workers: int, inequality: float = 0.0) -> Ints:
    """``n`` judgements over ``workers``, none without any, and with that coefficient of variation, as near as can be.

    Of equal workers none has two more than another; else what each gives beyond the first judgement is lognormal.
    """
    workers = min(n, workers)
    extra = n - workers
    if not inequality or extra <= 0:
        return _rounded(np.ones(workers), extra)
    normal = ndtri((np.arange(workers) + 0.5) / workers)
    low, high = 0.0, _WIDEST
    while high - low > 1e-3:
        middle = (low + high) / 2
        sizes = _rounded(np.exp(middle * normal), extra)
        low, high = (middle, high) if sizes.std() < inequality * sizes.mean() else (low, middle)
    return _rounded(np.exp(low * normal), extra)


def _rounded(weights: Floats, extra: int) -> Ints:
    """One for each, and ``extra`` more by their weights: whole numbers, the largest fractions rounded up."""
    shares = extra * weights / weights.sum()
    sizes = np.floor(shares + 1e-9).astype(np.int64)
    sizes[np.argsort(sizes - shares, kind="stable")[: extra - int(sizes.sum())]] += 1
    given: Ints = sizes + 1
    return given


def _alike(chances: Floats, sizes: Ints, icc: float, replicates: int, rng: np.random.Generator) -> Ints:
    """Answers of each kind: studies × workers × kinds, Dirichlet-multinomial."""
    if sizes.max() == 1:  # a single answer is as likely as all answers of its kind, whoever gives it
        single: Ints = rng.multinomial(1, chances, size=(replicates, len(sizes)))
        return single
    weights = rng.gamma(chances * (1 - icc) / icc, size=(replicates, len(sizes), len(chances)))
    total = weights.sum(axis=-1, keepdims=True)
    empty = np.argwhere(total[..., 0] == 0)  # with an ICC near 1 all weights may vanish: then one answer has them all
    weights[empty[:, 0], empty[:, 1], rng.choice(len(chances), size=len(empty), p=chances)] = 1.0
    counts: Ints = rng.multinomial(sizes, weights / np.where(total == 0, 1.0, total))
    return counts


def _of_shared_dialogues(
    design: Contest,
    n: int,
    workers: int,
    likeness: Likeness,
    alpha: float,
    replicates: int,
    rng: np.random.Generator,
) -> Flags:
    """Judgements that share workers and dialogues, which are dealt out by chance, once for all studies."""
    codes = [np.repeat(np.arange(min(n, workers)), shared_out(n, workers, likeness.inequality))]
    dialogues = shared_out(n, max(2, round(n / likeness.per_dialogue)))
    codes += [rng.permutation(np.repeat(np.arange(len(dialogues)), dialogues)) for _ in range(likeness.sides)]
    leads = _ordered_leads(design, codes, likeness, replicates, rng)
    return _found_by_both(leads, codes, alpha)


def _found_by_both(leads: Floats, codes: list[Ints], alpha: float) -> Flags:
    """Is the share won of the decided judgements other than one half, by worker and dialogue?

    ``leads``: studies × judgements; ``codes``: the worker and the dialogues of each judgement.
    """
    decided = leads != 0
    total = np.maximum(decided.sum(axis=1), 1)
    shares = (leads > 0).sum(axis=1) / total
    influence = ((leads > 0) - shares[:, None] * decided) / total[:, None]
    error = two_way_errors(influence, codes)
    null_error = error * 0.5 / np.sqrt(np.clip(shares * (1 - shares), 1e-9, None))
    sizes = [cluster_totals(decided.astype(float), code) for code in codes]
    fewest = np.min([each.sum(axis=1) ** 2 / np.maximum((each**2).sum(axis=1), 1e-9) for each in sizes], axis=0)
    t = (shares - 0.5) / np.where(null_error > 0, null_error, np.inf)
    found: Flags = 2 * stdtr(np.maximum(fewest - 1, 1), -np.abs(t)) < alpha
    return found


def _ordered_leads(
    design: Contest, codes: list[Ints], likeness: Likeness, replicates: int, rng: np.random.Generator
) -> Floats:
    """1, 0 or −1 by where a normal score stands between two thresholds: studies × judgements.

    The score is the sum of what worker, dialogues and judgement add; their shares of its variance give the likeness asked
    for to the leads.
    """
    ends = _thresholds(design)
    shares = [_latent(ends, likeness.icc), *[_latent(ends, likeness.dialogue_icc)] * likeness.sides]
    own = 1 - sum(shares)
    if own <= 0:
        raise PlanError(
            f"workers with an ICC of {likeness.icc:g} and dialogues with one of {likeness.dialogue_icc:g} leave no room for "
            "anything else: give a lower --icc or --dialogue-icc"
        )
    score = math.sqrt(own) * rng.standard_normal((replicates, len(codes[0])))
    for share, code in zip(shares, codes, strict=True):
        if share:
            score += math.sqrt(share) * rng.standard_normal((replicates, int(code.max()) + 1))[:, code]
    return (score > ends[1]).astype(float) - (score < ends[0])


def _thresholds(design: Contest) -> tuple[float, float]:
    """Below the first the second model is ahead, above the other one the first."""
    won = (design.discordance + design.gap) / 2
    return float(ndtri(design.discordance - won)), float(ndtri(1 - won))


@lru_cache
def _latent(ends: tuple[float, float], icc: float) -> float:
    """Share of the score's variance with which leads are as alike as ``icc`` says."""
    nodes, weights = normal_nodes()
    chances = ndtr(ends[0]), 1 - ndtr(ends[1])
    mean, variance = chances[1] - chances[0], sum(chances) - (chances[1] - chances[0]) ** 2

    def likeness_of(share: float) -> float:
        rest = math.sqrt(1 - share)
        below = ndtr((ends[0] - math.sqrt(share) * nodes) / rest)
        above = 1 - ndtr((ends[1] - math.sqrt(share) * nodes) / rest)
        return float((weights @ (above - below) ** 2 - mean**2) / variance)

    low, high = 0.0, 1 - 1e-9
    while icc and high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if likeness_of(middle) < icc else (low, middle)
    return low


def _independent(design: Design, n: int, alpha: float, replicates: int, rng: np.random.Generator) -> Flags:
    if isinstance(design, OneShare):
        rejected: Flags = rejected_counts(n, design.baseline, alpha)[rng.binomial(n, design.share, replicates)]
        return rejected
    if isinstance(design, TwoShares):
        a, b = rng.binomial(n, design.share_a, replicates) / n, rng.binomial(n, design.share_b, replicates) / n
        mean = (a + b) / 2
        decided: Flags = (a - b) ** 2 * n > chdtri(1, alpha) * 2 * mean * (1 - mean)
        return decided
    assert isinstance(design, Contest)
    chosen, chances = patterns(design)
    counts = rng.multinomial(n, chances, size=replicates)
    if design.df == 1 and design.picks_one:
        picked: Flags = rejected_counts(n, 0.5, alpha)[counts[:, 1]]
        return picked
    k = len(design.shares)  # Cochran's Q, which is McNemar's χ² for two models, and Pearson's for one pick a turn
    of_turn = chosen.sum(axis=1)
    spread = counts @ (k * of_turn - of_turn**2)
    of_model = counts @ chosen
    q = (k - 1) * (k * (of_model**2).sum(axis=1) - of_model.sum(axis=1) ** 2) / np.where(spread == 0, 1, spread)
    tested: Flags = q > chdtri(k - 1, alpha)
    return tested


def _scores(
    design: TwoScores,
    n: int,
    workers: int,
    likeness: Likeness,
    alpha: float,
    replicates: int,
    rng: np.random.Generator,
) -> Flags:
    icc = likeness.icc
    if not icc:
        ranks = rng.standard_normal((replicates, 2 * n))
        ranks[:, :n] += design.distance
        u = ranks.argsort(axis=1).argsort(axis=1)[:, :n].sum(axis=1) - n * (n - 1) / 2
        z = (np.abs(u - n * n / 2) - 0.5) / math.sqrt(n * n * (2 * n + 1) / 12)
        return np.asarray(z > float(ndtri(1 - alpha / 2)))
    sizes = shared_out(n, workers, likeness.inequality)
    effects = rng.standard_normal((2, replicates, len(sizes))) * math.sqrt(icc) * sizes
    sums = effects + rng.standard_normal((2, replicates, len(sizes))) * np.sqrt((1 - icc) * sizes)
    sums[0] += design.distance * sizes
    return _found_difference(sums[0], sums[1], sizes, alpha, crossed=True)


def _batches(replicates: int, n: int, workers: int, found: Layout) -> list[int]:
    """Sizes that sum to ``replicates``, so that no array fills the memory."""
    design, likeness = found.design, found.likeness
    each = (isinstance(design, TwoScores) and not likeness.icc) or likeness.reused
    kinds = len(patterns(design)[1]) if isinstance(design, Contest) else 2
    size = max(1, min(replicates, _CELLS_AT_ONCE // (2 * n if each else workers * kinds)))
    return [min(size, replicates - start) for start in range(0, replicates, size)]


def _result(question: PlanInputs, hits: int, replicates: int, n: int, workers: int) -> Result:
    from parlai_humaneval.statistics.shares import wilson_interval

    low, high = wilson_interval(hits, replicates) or (None, None)
    missed = high is not None and high < question.power - SHORT
    note = f"the simulated power misses the {question.power:.0%} that were asked for"
    return Result(
        name="simulated power",
        estimate=hits / replicates if replicates else None,
        ci_low=low,
        ci_high=high,
        n=replicates,
        method="share of simulated studies that find the gap, Wilson interval (Monte Carlo error only)",
        assumptions=(
            "workers are as unequal as asked for",
            "answers of a worker, and of a dialogue, are alike as their ICC says",
        ),
        source="beta-binomial (Dirichlet-multinomial) workers, or ordered probit of workers and dialogues",
        notes=(note,) if missed else (),
        details={
            "seed": question.seed,
            "n_workers": workers,
            "n_per_sample": n,
            "icc": question.icc,
            "asked": question.power,
        },
    )
