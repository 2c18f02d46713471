"""The sign-flip test of cluster sums, and the interval of all hypotheses that it does not reject.

Under a hypothesis each cluster (a worker) deviates from it by some sum, as likely to the one side as to the other,
however different the clusters are. p is the share of assignments of signs whose sum is at least as far from 0 as the
observed one. Up to ``EXACT_CLUSTERS`` clusters all are tried; beyond, it is a saddlepoint approximation (Lugannani &
Rice 1980), which needs no random draws and counts half of what is exactly as far, as mid-p does.

An estimate whose clusters add ``parts`` to its error (they sum to 0) and have the ``weights`` (they sum to 1) deviates
from a hypothesis h by parts + (estimate − h)·weights. The interval holds all h that are not rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from parlai_humaneval._util.arrays import Floats

EXACT_CLUSTERS = 12  # Up to so many all assignments of signs are tried
JOINT_DRAWS = 9_999
SOURCE = "Canay, Romano & Shaikh 2017 (sign-flip test of cluster sums); Lugannani & Rice 1980 (its distribution)"
_LARGE_CLUSTERS, _LARGE_SHARE = 8, 0.04
"""Beside clusters of more than such a share of the variance no sum is nearly normal: of so many all signs are tried."""
_HALLEY_STEPS, _SMALL = 50, 1e-12
_NODES, _OF_POSSIBLE = 28, 0.9
"""Tails of many sums of the same clusters are a polynomial through so many, up to such a part of what is possible."""
_ANGLES = (2 * np.arange(_NODES) + 1) * np.pi / (2 * _NODES)
_AT, _SIGNED = (1 - np.cos(_ANGLES)) / 2, np.sin(_ANGLES) * (1 - 2 * (np.arange(_NODES) % 2))
_KEPT_INTERVALS, _SECANTS = 4_096, 8
_CELLS_AT_ONCE = 4_000_000


def sign_flip_p_value(deviations: npt.ArrayLike) -> float:
    """Two-sided p-value that the clusters' ``deviations`` (one a cluster) are as likely up as down.

    A small p says that so large a sum would be rare if every deviation could as well have the other sign. Assumes
    independent clusters whose deviations are symmetric about 0, of whatever sizes. 1 where there is no deviation.

    Source: Canay, Romano & Shaikh 2017; Lugannani & Rice 1980.

    >>> sign_flip_p_value([0.5, 0.5, 0.5, 0.5, -0.5])
    0.375
    """
    d = np.asarray(deviations, dtype=float)
    return _p_value(np.abs(d), abs(float(d.sum())))


def _p_value(sizes: Floats, reached: float) -> float:
    """``sizes`` and ``reached``, the sum, both without signs."""
    total = float(sizes.sum())
    if reached <= _SMALL * total:
        return 1.0
    if len(sizes) <= EXACT_CLUSTERS:
        return float((np.abs(_signs_of_one_side(len(sizes)) @ sizes) >= reached - 1e-9 * total).mean())
    flipping = sizes[sizes > _SMALL * total] / total
    least = 2.0 ** (1 - len(flipping))
    if reached >= total * (1 - _SMALL):
        return least
    return min(1.0, max(least, 2 * _tail(flipping, reached / total)))


def _tail(sizes: Floats, reached: float) -> float:
    """P(Σ ± sizes ≥ reached), with all signs of the few large clusters tried, and an approximation for the others."""
    shares = sizes**2 / (sizes**2).sum()
    large = np.zeros(len(sizes), dtype=bool)
    large[shares.argsort()[-_LARGE_CLUSTERS:]] = True
    large &= shares > _LARGE_SHARE
    if not large.any():
        return float(_saddlepoint(sizes, np.array([reached]))[0])
    beyond = reached - all_signs(int(large.sum())) @ sizes[large]
    beyond[np.abs(beyond) < 1e-9 * reached] = 0.0  # exactly as far, but for rounding: counts half
    upper = _many_tails(sizes[~large], np.abs(beyond))
    return float(np.where(beyond > 0, upper, 1 - upper).mean())


def _many_tails(sizes: Floats, reached: Floats) -> Floats:
    """:func:`_saddlepoint` of many ``reached``, right to 1e-8: a polynomial through Chebyshev's nodes, at their cost."""
    most = min(float(reached.max()), _OF_POSSIBLE * float(sizes.sum()))
    smooth = reached <= most
    if int(smooth.sum()) <= 2 * _NODES or most <= 0:
        return _saddlepoint(sizes, reached)
    nodes = most * _AT
    computed = _saddlepoint(sizes, np.concatenate([nodes, reached[~smooth]]))
    gaps = reached[smooth][:, None] - nodes
    parts = _SIGNED / np.where(gaps == 0, 1e-300, gaps)
    tails = np.empty(len(reached))
    tails[smooth] = np.clip(parts @ computed[:_NODES] / parts.sum(axis=1), 0.0, 1.0)
    tails[~smooth] = computed[_NODES:]
    return tails


def _saddlepoint(sizes: Floats, reached: Floats) -> Floats:
    """P(Σ ± sizes ≥ each of ``reached``, none below 0) by the saddlepoint of K(t) = Σ log cosh(t·size)."""
    # Near large clusters, most targets are further away than all the others together reach.
    tails, possible = np.zeros(len(reached)), reached < float(sizes.sum()) * (1 - _SMALL)
    wanted = reached[possible]
    # Sums of clusters that are close to normal: where the sum is small, or there is nothing left to flip.
    normal = ndtr(-wanted / max(float(np.sqrt((sizes**2).sum())), 1e-300))
    t = _saddles(sizes, wanted)
    exponent = t[:, None] * sizes
    # log cosh and 1 − tanh² of each, from one exponential.
    shrunk = np.exp(-2 * exponent)
    cumulant = (exponent + np.log1p(shrunk) - np.log(2)).sum(axis=1)
    root = np.sqrt(np.maximum(2 * (t * wanted - cumulant), 0.0))
    standardised = t * np.sqrt((4 * shrunk / (1 + shrunk) ** 2) @ sizes**2)
    usable = (root > 1e-3) & (standardised > 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.exp(-(root**2) / 2) / np.sqrt(2 * np.pi) * (1 / standardised - 1 / root)
    approximate = np.where(usable, ndtr(-root) + np.where(usable, correction, 0.0), normal)
    tails[possible] = np.clip(approximate, 0.0, 1.0)
    return tails


def _saddles(sizes: Floats, reached: Floats) -> Floats:
    """The t at which Σ size·tanh(t·size) is each of ``reached``, which are below Σ sizes."""
    squares, total = sizes**2, float(sizes.sum())
    # Right where all sizes are equal.
    t = np.arctanh(reached / max(total, 1e-300)) * (total / max(float(squares.sum()), 1e-300))
    for _ in range(_HALLEY_STEPS):
        shrunk = np.exp(np.multiply.outer(t, -2 * sizes))
        more = 1 + shrunk
        tanh, slope = (1 - shrunk) / more, 4 * shrunk / (more * more)
        spread = np.maximum(slope @ squares, 1e-300)
        newton = (reached - tanh @ sizes) / spread
        # Longer by how the sum of tanh bends, which saves every second step; from above the root it may fall below 0.
        step = newton / np.maximum(1 - newton * ((tanh * slope) @ (squares * sizes)) / spread, 0.3)
        step = np.maximum(step, -t / 2)
        t += step
        # The next error is of the order of this step's cube.
        if (np.abs(step) <= 1e-4 * t).all():
            break
    return np.asarray(t)


@cache
def all_signs(groups: int) -> Floats:
    """Every assignment of signs to ``groups`` clusters: 2^groups × groups of −1 and 1; not to be written to."""
    flips = (np.arange(2**groups)[:, None] >> np.arange(groups)) & 1
    signs = np.asarray(1.0 - 2 * flips)
    signs.flags.writeable = False
    return signs


def _signs_of_one_side(groups: int) -> Floats:
    """:func:`all_signs` but for their mirror images, which are as far from 0."""
    return all_signs(groups)[: 2 ** (groups - 1)]


def sign_flip_interval(
    estimate: float, parts: npt.ArrayLike, weights: npt.ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """Ends of all hypotheses whose p-value is not below 1 − ``level``; infinite where no value can be excluded, as by few
    clusters, or one of more than half of the weight."""
    psi, w = np.asarray(parts, dtype=float), np.asarray(weights, dtype=float)
    if not psi.size:
        return -np.inf, np.inf
    if len(psi) <= EXACT_CLUSTERS:
        # Each assignment of signs s is at least as far as the observed sum for the hypotheses between two ends.
        signs = _signs_of_one_side(len(psi))
        a, b = signs @ psi, signs @ w
        # Where B is 1 or −1 all signs are equal, A is 0, and the assignment is as far as the observed sum for every h.
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([-a / (1 + b), a / (1 - b)])
        whole = np.abs(b) > 1 - 1e-12
        low, high = ends.min(axis=0), ends.max(axis=0)
        low[whole], high[whole] = -np.inf, np.inf
        kept = int(np.ceil((1 - level) * len(signs) - 1e-9))
        return (
            estimate - float(np.partition(high, -kept)[-kept]),
            estimate - float(np.partition(low, kept - 1)[kept - 1]),
        )
    down, up = _reaches(psi.tobytes(), w.tobytes(), 1 - level)
    return estimate - down, estimate + up


@lru_cache(maxsize=_KEPT_INTERVALS)
def _reaches(parts: bytes, weights: bytes, alpha: float) -> tuple[float, float]:
    """How far below and above the estimate hypotheses are still kept. Kept, as a report asks for many intervals again."""
    psi, w = np.frombuffer(parts), np.frombuffer(weights)
    # The observed sum of the deviations from a hypothesis that lies h above the estimate is −h.
    return _reach(-psi, w, alpha), _reach(psi, w, alpha)


def _reach(parts: Floats, weights: Floats, alpha: float) -> float:
    """How far from the estimate hypotheses are still kept, upwards for positive ``weights``."""
    error = float(np.sqrt((parts**2).sum()))
    beyond = float(ndtri(alpha / 2))

    def rejects(distance: float) -> float:
        """Above 0 where the hypothesis is rejected; on the scale of z, on which it is nearly a line."""
        return beyond - float(ndtri(_p_value(np.abs(parts - distance * weights), distance) / 2))

    if _p_value(weights, 1.0) >= alpha:
        return np.inf  # even a hypothesis without end is kept
    # First sought where the sum of deviations would be so many standard deviations if it were normal.
    square, lean, known = beyond**2, float(parts @ weights), 1 - beyond**2 * float(weights @ weights)
    start = 0.0
    if known > 0:
        start = (float(np.sqrt((square * lean) ** 2 + known * square * float(parts @ parts))) - square * lean) / known
    return _root_beyond(rejects, start or -beyond * error or 1.0)


def _root_beyond(rejects: Callable[[float], float], start: float) -> float:
    """The distance at which ``rejects`` turns from below 0 to above, first sought around ``start``."""
    at: dict[float, float] = {}

    def seen(distance: float) -> float:
        if distance not in at:
            at[distance] = rejects(distance)
        return at[distance]

    by_secants = _root_by_secants(seen, start)
    if by_secants is not None:
        return by_secants
    high = min([distance for distance, value in at.items() if value >= 0], default=start)
    while seen(high) < 0:
        if high > 1e12 * start:
            return np.inf
        high *= 2
    low = max(distance for distance, value in at.items() if distance < high and value < 0)
    from scipy.optimize import brentq

    # Where the p-value jumps each halving gains one bit.
    return float(brentq(seen, low, high, xtol=5e-7 * high, rtol=5e-7))


def _root_by_secants(rejects: Callable[[float], float], start: float) -> float | None:
    """The same where ``rejects`` is nearly a line around ``start``; None where it is not."""
    before, at_before = 0.0, rejects(0.0)
    here, at_here = start, rejects(start)
    for _ in range(_SECANTS):
        if not np.isfinite(at_here) or at_here == at_before:
            return None
        step = at_here * (here - before) / (at_here - at_before)
        if abs(step) > start / 4 or here - step <= 0:
            return None
        before, at_before, here = here, at_here, here - step
        if abs(step) < 1e-6 * start:  # the next step is of the order of this one's square
            return here
        at_here = rejects(here)
    return None


def joint_sign_flip_p(deviations: npt.ArrayLike, *, seed: int = 0, draws: int = JOINT_DRAWS) -> float:
    """p-value that several sums are all 0: do the clusters' vectors of deviations add up to a longer one than by
    chance?

    ``deviations``: clusters × values. Under flips of the sign of whole clusters: exact up to ``EXACT_CLUSTERS``, else
    from ``draws`` assignments of ``seed``. Of two models whose deviations mirror each other it is
    :func:`sign_flip_p_value`.
    """
    d = np.asarray(deviations, dtype=float)
    d = d[(d != 0).any(axis=1)]
    # In one order whatever that of clusters and values was, so that the drawn signs give one answer.
    d = d[:, np.lexsort(((d**2).sum(axis=0), d.sum(axis=0)))]
    d = d[np.lexsort(d.T)]
    sums = d.sum(axis=0)
    reached = float(sums @ sums) * (1 - 1e-9)
    if reached <= 0:
        return 1.0
    if np.linalg.matrix_rank(d) == 1:
        return sign_flip_p_value(d[:, int(np.abs(sums).argmax())])
    groups = len(d)
    if groups <= EXACT_CLUSTERS:
        return float((((_signs_of_one_side(groups) @ d) ** 2).sum(axis=1) >= reached).mean())
    # For each eight clusters, the sum of their deviations under each of 256 assignments of signs, as the bits of a byte.
    padded = np.pad(d, ((0, -groups % 8), (0, 0))).reshape(-1, 8, d.shape[1])
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    by_byte = np.ascontiguousarray((signs @ padded).transpose(0, 2, 1))
    rng, further, left = np.random.default_rng(seed), 0, draws
    while left > 0:
        size = min(left, max(1, _CELLS_AT_ONCE // groups))
        drawn = np.ascontiguousarray(rng.integers(0, 256, (size, len(by_byte)), dtype=np.uint8).T)
        added = np.zeros((d.shape[1], size))
        for table, byte in zip(by_byte, drawn, strict=True):
            added += table.take(byte, axis=1)
        further += int(((added**2).sum(axis=0) >= reached).sum())
        left -= size
    return (further + 1) / (draws + 1)
