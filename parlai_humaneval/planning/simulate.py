"""The proof of a plan: studies with its numbers are made up, analysed, and those that find the gap counted.

Answers of a worker are alike as the ICC says: of each worker the chances of every answer are drawn from a Dirichlet
distribution around the true ones (for two answers: beta-binomial), which makes two answers of a worker correlate with
just that ICC. Scores have a normal effect of each worker and model. The analysis is the clustered test of the report,
or, with ICC 0, the papers'.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, fdtri, ndtr, ndtri, stdtrit

from parlai_humaneval.planning.designs import Contest, Design, OneShare, TwoScores, TwoShares, patterns
from parlai_humaneval.planning.inputs import PlanError, PlanInputs
from parlai_humaneval.planning.layout import Layout, layout
from parlai_humaneval.planning.likeness import Likeness, normal_nodes
from parlai_humaneval.planning.power import rejected_counts
from parlai_humaneval.planning.study_plan import size_of
from parlai_humaneval.statistics.result import Result

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

REPLICATES = 4_000
_CELLS_AT_ONCE = 2_000_000
SURELY = 1e-9
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
    n, likeness = size_of(question, found), found.likeness
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
    if isinstance(design, Contest) and likeness.dialogue_icc:
        return _of_shared_dialogues(design, n, workers, likeness, alpha, replicates, rng)
    if not icc:
        return _independent(design, n, alpha, replicates, rng)
    if isinstance(design, TwoShares):
        half = max(2, workers // 2)
        sizes = shared_out(n, half, likeness.inequality)
        parts = [
            _alike(np.array([p, 1 - p]), sizes, icc, replicates, rng)[..., :1] for p in (design.share_a, design.share_b)
        ]
        means = [part.sum(axis=1) / n for part in parts]
        influence = [
            (part - mean[:, None] * sizes[:, None]) / n * sign
            for part, mean, sign in zip(parts, means, (1, -1), strict=True)
        ]
        return found_by_f(means[0] - means[1], np.concatenate(influence, axis=1), alpha)
    sizes = shared_out(n, workers, likeness.inequality)
    if isinstance(design, OneShare):
        chances, scores, null = np.array([design.share, 1 - design.share]), np.array([[1.0], [0.0]]), design.baseline
    else:
        assert isinstance(design, Contest)
        chosen, chances = patterns(design)
        scores, null = chosen[:, :-1] - chosen[:, -1:], 0.0
    sums = _alike(chances, sizes, icc, replicates, rng) @ scores
    mean = sums.sum(axis=1) / n
    return found_by_f(mean - null, (sums - mean[:, None] * sizes[:, None]) / n, alpha)


def found_by_f(difference: Floats, influence: Floats, alpha: float) -> Flags:
    """The clustered test of many studies: CR1 t with G−1 degrees of freedom, or Hotelling's F of several differences.

    ``difference``: studies × differences, against 0; ``influence``: studies × workers × differences, what each worker
    adds to the error. As in the report: where all workers agree on a difference, the exact sign-flip test decides; where
    they agree on one of several, there is no test, and nothing is found.
    """
    groups, df = influence.shape[1], influence.shape[2]
    covariance = groups / (groups - 1) * np.einsum("rwi,rwj->rij", influence, influence)
    widths = np.linalg.eigvalsh(covariance)
    agreed = widths[:, 0] <= np.maximum(widths[:, -1] * df * np.finfo(float).eps, SURELY**2)
    safe = np.where(agreed[:, None, None], np.eye(df), covariance)
    t2 = np.einsum("ri,ri->r", difference, np.linalg.solve(safe, difference[..., None])[..., 0])
    f = t2 * (groups - df) / (df * (groups - 1))
    flipped = (np.abs(difference[:, 0]) > SURELY) & (df == 1) & (2.0 ** (1 - groups) <= alpha)
    reject: Flags = np.where(agreed, flipped, f > fdtri(df, groups - df, 1 - alpha))
    return reject


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
    return found_by_both(leads, codes, alpha)


def found_by_both(leads: Floats, codes: list[Ints], alpha: float) -> Flags:
    n = leads.shape[1]
    mean = leads.mean(axis=1)
    influence = (leads - mean[:, None]) / n
    total = -(len(codes) - 1) * (influence**2).sum(axis=1) * n / (n - 1)
    floor, df = np.zeros(len(mean)), np.inf
    for code in codes:
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        sums = np.add.reduceat(influence[:, order], starts, axis=1)
        groups = sums.shape[1]
        variance = groups / (groups - 1) * (sums**2).sum(axis=1)
        sizes = np.bincount(code)
        df = min(df, sizes.sum() ** 2 / (sizes**2).sum() - 1)
        total += variance
        floor = np.maximum(floor, variance)
    t = mean / np.sqrt(np.maximum(total, floor))
    return np.asarray(np.abs(t) > stdtrit(df, 1 - alpha / 2))


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
    means = sums.sum(axis=-1, keepdims=True) / n
    influence = (sums - means * sizes) / n
    return found_by_f((means[0] - means[1]), (influence[0] - influence[1])[..., None], alpha)


def _batches(replicates: int, n: int, workers: int, found: Layout) -> list[int]:
    """Sizes that sum to ``replicates``, so that no array fills the memory."""
    design, likeness = found.design, found.likeness
    each = (isinstance(design, TwoScores) and not likeness.icc) or likeness.dialogue_icc
    kinds = len(patterns(design)[1]) if isinstance(design, Contest) else 2
    size = max(1, min(replicates, _CELLS_AT_ONCE // (2 * n if each else workers * kinds)))
    return [min(size, replicates - start) for start in range(0, replicates, size)]


def _result(question: PlanInputs, hits: int, replicates: int, n: int, workers: int) -> Result:
    from parlai_humaneval.statistics.shares import wilson_interval

    low, high = wilson_interval(hits, replicates) or (None, None)
    missed = high is not None and high < question.power
    note = f"the simulated power misses the {question.power:.0%} that were asked for"
    return Result(
        name="simulated power",
        estimate=hits / replicates if replicates else None,
        ci_low=low,
        ci_high=high,
        n=replicates,
        method="share of simulated studies that find the gap, Wilson interval (Monte Carlo error only)",
        assumptions=("workers give about equally many judgements", "answers of a worker are alike as the ICC says"),
        source="beta-binomial (Dirichlet-multinomial) workers; clustered test after Cameron & Miller 2015",
        notes=(note,) if missed else (),
        details={
            "seed": question.seed,
            "n_workers": workers,
            "n_per_sample": n,
            "icc": question.icc,
            "asked": question.power,
        },
    )
