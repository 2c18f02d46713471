"""The sign-flip test of cluster sums, and the interval of all hypotheses that it does not reject.

Under a hypothesis each cluster (a worker) deviates from it by some sum, as likely to the one side as to the other,
however different the clusters are. p is the share of assignments of signs whose sum is at least as far from 0 as the
observed one. Up to ``EXACT_CLUSTERS`` clusters all are tried; beyond, it is a saddlepoint approximation (Lugannani &
Rice 1980), which needs no random draws and counts half of what is exactly as far, as mid-p does.

An estimate whose clusters add ``parts`` to its error (they sum to 0) and have the ``weights`` (they sum to 1) deviates
from a hypothesis h by parts + (estimate − h)·weights. The interval holds all h that are not rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from parlai_humaneval._util.arrays import Floats, Ints

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
_KEPT_TESTS, _TESTS_AT_ONCE, _ROWS_AT_ONCE, _KINDS_AT_ONCE, _SECANTS = 8_192, 256, 64, 8_192, 8
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
    sizes, reached = np.abs(d), np.abs(d.sum(keepdims=True))
    total = float(sizes.sum())
    if len(d) > EXACT_CLUSTERS:
        known = _KEPT_P.get(d.tobytes())
        return _p_of_each([d])[0] if known is None else known
    if reached[0] <= _SMALL * total:
        return 1.0
    return float((np.abs(_signs_of_one_side(len(d)) @ sizes) >= reached[0] - 1e-9 * total).mean())


def _p_of_each(deviations: Sequence[Floats]) -> list[float]:
    kinds = [np.unique(np.abs(d), return_counts=True) for d in deviations]
    sizes, times = np.zeros((2, len(kinds), max(len(of) for _, of in kinds)))
    for row, (size, of) in enumerate(kinds):
        sizes[row, : len(of)], times[row, : len(of)] = size, of
    p_values: list[float] = _p_values(sizes, times, np.abs([d.sum() for d in deviations])).tolist()
    return p_values


def _p_values(sizes: Floats, times: Floats, reached: Floats) -> Floats:
    """Row by row, of many clusters: ``times`` of them have each of ``sizes``, and ``reached`` is their sum, both without
    signs."""
    at_once = max(1, min(_ROWS_AT_ONCE, _KINDS_AT_ONCE // max(1, sizes.shape[1])))
    if len(sizes) > at_once:
        parts = [slice(start, start + at_once) for start in range(0, len(sizes), at_once)]
        there = [times[part].any(axis=0) for part in parts]
        some = zip(parts, there, strict=True)
        return np.concatenate([_p_values(sizes[of][:, any_], times[of][:, any_], reached[of]) for of, any_ in some])
    total = (times * sizes).sum(axis=1)
    sizes = np.where(sizes > _SMALL * total[:, None], sizes, 0.0) / np.maximum(total, 1e-300)[:, None]
    least = 2.0 ** (1 - (times * (sizes > 0)).sum(axis=1))
    some, between = reached > _SMALL * total, reached < total * (1 - _SMALL)
    p_values, between = np.where(some, least, 1.0), some & between
    if between.any():
        tails = _tails(sizes[between], times[between], reached[between] / total[between])
        p_values[between] = np.minimum(np.maximum(2 * tails, least[between]), 1.0)
    return p_values


def _tails(sizes: Floats, times: Floats, reached: Floats) -> Floats:
    """P(Σ ± sizes ≥ reached) of each row, with all signs of its few large clusters tried, and an approximation for the
    others."""
    rows, tails = np.arange(len(sizes))[:, None], np.empty(len(sizes))
    largest_first = sizes.argsort(axis=1)[:, ::-1]
    sizes, times = sizes[rows, largest_first], times[rows, largest_first]
    squares, up_to = sizes**2, times.cumsum(axis=1)
    is_large = squares > _LARGE_SHARE * (1 - 1e-9) * (times * squares).sum(axis=1, keepdims=True)
    counts = np.minimum((times * is_large).sum(axis=1), _LARGE_CLUSTERS).astype(int)
    for count in set(counts.tolist()):
        of = counts == count
        # The number of each kind that is not among the large ones.
        others = np.minimum(np.maximum(up_to[of] - count, 0.0), times[of])
        goal = reached[of, None]
        large = (up_to[of, None] > np.arange(count)[:, None]).argmax(axis=2)
        beyond = goal - sizes[of][np.arange(len(goal))[:, None], large] @ all_signs(count).T
        beyond[np.abs(beyond) < 1e-9 * goal] = 0.0  # exactly as far, but for rounding: counts half
        there = others.any(axis=0)
        upper = _many_tails(sizes[of][:, there], others[:, there], np.abs(beyond))
        tails[of] = np.where(beyond > 0, upper, 1 - upper).mean(axis=1)
    return tails


def _many_tails(sizes: Floats, times: Floats, reached: Floats) -> Floats:
    """:func:`_saddlepoint` of many ``reached`` a row, right to 1e-8: a polynomial through Chebyshev's nodes, at their
    cost."""
    most = np.minimum(reached.max(axis=1), _OF_POSSIBLE * (times * sizes).sum(axis=1))
    smooth = reached <= most[:, None]
    many = (smooth.sum(axis=1) > 2 * _NODES) & (most > 0)
    steep = ~(smooth & many[:, None])
    nodes = most[many, None] * _AT
    whose = np.concatenate([np.repeat(many.nonzero()[0], _NODES), steep.nonzero()[0]])
    computed = _saddlepoint(sizes[whose], times[whose], np.concatenate([nodes.ravel(), reached[steep]]))
    tails = np.empty(reached.shape)
    if len(nodes):
        parts = _SIGNED / (reached[many, :, None] - nodes[:, None] + 1e-300)  # never by 0, also at a node
        heights = computed[: nodes.size].reshape(nodes.shape)
        both = parts @ np.stack([heights, np.ones(nodes.shape)], axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):  # where it is too steep, which is replaced
            tails[many] = np.minimum(np.maximum(both[..., 0] / both[..., 1], 0.0), 1.0)
    tails[steep] = computed[nodes.size :]
    return tails


def _saddlepoint(sizes: Floats, times: Floats, reached: Floats) -> Floats:
    """P(Σ ± sizes ≥ reached, none below 0) of each row by the saddlepoint of K(t) = Σ log cosh(t·size)."""
    # Near large clusters, most targets are further away than all the others together reach.
    tails, possible = np.zeros(len(reached)), reached < (times * sizes).sum(axis=1) * (1 - _SMALL)
    sizes, times, wanted = sizes[possible], times[possible], reached[possible]
    squares = times * sizes**2
    # Sums of clusters that are close to normal: where the sum is small, or there is nothing left to flip.
    normal = ndtr(-wanted / np.maximum(np.sqrt(squares.sum(axis=1)), 1e-300))
    t = _saddles(sizes, times, wanted)
    exponent = t[:, None] * sizes
    # log cosh and 1 − tanh² of each, from one exponential.
    shrunk = np.exp(-2 * exponent)
    cumulant = ((exponent + np.log1p(shrunk) - np.log(2)) * times).sum(axis=1)
    root = np.sqrt(np.maximum(2 * (t * wanted - cumulant), 0.0))
    standardised = t * np.sqrt((4 * shrunk / (1 + shrunk) ** 2 * squares).sum(axis=1))
    usable = (root > 1e-3) & (standardised > 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.exp(-(root**2) / 2) / np.sqrt(2 * np.pi) * (1 / standardised - 1 / root)
    approximate = np.where(usable, ndtr(-root) + np.where(usable, correction, 0.0), normal)
    tails[possible] = np.minimum(np.maximum(approximate, 0.0), 1.0)
    return tails


def _saddles(sizes: Floats, times: Floats, reached: Floats) -> Floats:
    """The t at which Σ size·tanh(t·size) of each row is what it ``reached``, which is below Σ sizes."""
    wholes, squares, double = times * sizes, times * sizes**2, -2 * sizes
    total = wholes.sum(axis=1)
    # Right where all sizes are equal.
    t = np.arctanh(reached / np.maximum(total, 1e-300)) * (total / np.maximum(squares.sum(axis=1), 1e-300))
    for _ in range(_HALLEY_STEPS):
        shrunk = np.exp(t[:, None] * double)
        more = 1 + shrunk
        tanh, slope = (1 - shrunk) / more, 4 * shrunk / (more * more) * squares
        spread = np.maximum(slope.sum(axis=1), 1e-300)
        newton = (reached - (tanh * wholes).sum(axis=1)) / spread
        # Longer by how the sum of tanh bends, which saves every second step; from above the root it may fall below 0.
        step = newton / np.maximum(1 - newton * (tanh * slope * sizes).sum(axis=1) / spread, 0.3)
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
    key = psi.tobytes(), w.tobytes(), level
    known = _KEPT.get(key)
    if known is None:
        _forget()
        (known,) = _reaches([_kinds(psi, w)], 1 - level)
        _KEPT[key] = known
    return estimate - known[0], estimate + known[1]


_KEPT_P: dict[bytes, float] = {}
_KEPT: dict[tuple[bytes, bytes, float], tuple[float, float]] = {}


def _forget() -> None:
    for kept in (_KEPT, _KEPT_P):
        if len(kept) > _KEPT_TESTS:
            kept.clear()


def keep_tests(asked: Iterable[tuple[Floats, Floats, float]], level: float) -> None:
    """Compute many tests at once, which costs a fraction of what they cost one by one: each of ``parts``, ``weights`` and
    how far the estimate is above the hypothesis. :func:`sign_flip_interval` and :func:`sign_flip_p_value` have them at
    hand."""
    wanted: dict[tuple[bytes, bytes, float], tuple[Floats, Floats]] = {}
    tested: dict[bytes, Floats] = {}
    for psi, w, gap in asked:
        if len(psi) > EXACT_CLUSTERS:
            wanted[psi.tobytes(), w.tobytes(), level] = psi, w
            deviations = psi + gap * w
            tested[deviations.tobytes()] = deviations
    _forget()
    kinds = {key: _kinds(*of) for key, of in wanted.items() if key not in _KEPT}
    keys = sorted(kinds, key=lambda key: len(kinds[key][2]))
    for start in range(0, len(keys), _TESTS_AT_ONCE):
        some = keys[start : start + _TESTS_AT_ONCE]
        _KEPT.update(zip(some, _reaches([kinds[key] for key in some], 1 - level), strict=True))
    every = [key for key in tested if key not in _KEPT_P]
    for start in range(0, len(every), _ROWS_AT_ONCE):
        of = every[start : start + _ROWS_AT_ONCE]
        _KEPT_P.update(zip(of, _p_of_each([tested[key] for key in of]), strict=True))


def _kinds(parts: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Clusters with the same part and weight once, and how many there are of each."""
    kinds, times = np.unique(parts + 1j * weights, return_counts=True)
    return kinds.real, kinds.imag, times.astype(np.float64)


def _reaches(asked: Sequence[tuple[Floats, Floats, Floats]], alpha: float) -> list[tuple[float, float]]:
    """How far below and above each estimate hypotheses are still kept."""
    psi, w, times = np.zeros((3, len(asked), max(len(one[2]) for one in asked)))
    for row, one in enumerate(asked):
        psi[row, : len(one[2])], w[row, : len(one[2])], times[row, : len(one[2])] = one
    reach = np.full((2, len(w)), np.inf)
    ends = _p_values(w, times, np.ones(len(w))) < alpha  # else even a hypothesis without end is kept
    # The observed sum of the deviations from a hypothesis that lies h above the estimate is −h.
    sides = np.concatenate([-psi[ends], psi[ends]]), np.tile(w[ends], (2, 1)), np.tile(times[ends], (2, 1))
    reach[:, ends] = _reach(*sides, alpha).reshape(2, -1)
    return list(zip(*reach.tolist(), strict=True))


def _reach(parts: Floats, weights: Floats, times: Floats, alpha: float) -> Floats:
    """How far from the estimate hypotheses are still kept, upwards for positive ``weights``, row by row."""
    beyond = float(ndtri(alpha / 2))

    def rejects(rows: Ints, distances: Floats) -> Floats:
        """Above 0 where the hypothesis is rejected; on the scale of z, on which it is nearly a line."""
        sizes = np.abs(parts[rows] - distances[:, None] * weights[rows])
        return np.asarray(beyond - ndtri(_p_values(sizes, times[rows], distances) / 2))

    # First sought where the sum of deviations would be so many standard deviations if it were normal.
    square, lean, squares = beyond**2, (times * parts * weights).sum(axis=1), (times * parts**2).sum(axis=1)
    known = 1 - square * (times * weights**2).sum(axis=1)
    ahead = np.sqrt(np.maximum((square * lean) ** 2 + known * square * squares, 0.0)) - square * lean
    start = np.where(known > 0, ahead / np.where(known > 0, known, 1.0), 0.0)
    start = np.where(start == 0, -beyond * np.sqrt(squares), start)
    return _roots(rejects, np.where(start == 0, 1.0, start), beyond)


def _roots(rejects: Callable[[Ints, Floats], Floats], start: Floats, at_0: float) -> Floats:
    """The distances, row by row, at which ``rejects`` turns from below 0 to above, first sought around ``start``."""
    found, tried = np.full(len(start), np.nan), np.full((_SECANTS, 2, len(start)), np.nan)
    before, at_before, here, rows = np.zeros(len(start)), np.full(len(start), at_0), start.copy(), np.arange(len(start))
    # Secants suffice because the function is nearly a line.
    for distance, value in tried:
        at_here = rejects(rows, here[rows])
        distance[rows], value[rows] = here[rows], at_here
        slope = at_here - at_before[rows]
        rows, at_here, slope = (of[np.isfinite(at_here) & (slope != 0)] for of in (rows, at_here, slope))
        step = at_here * (here[rows] - before[rows]) / slope
        near = (np.abs(step) <= start[rows] / 4) & (here[rows] > step)
        rows, step = rows[near], step[near]
        before[rows], at_before[rows], here[rows] = here[rows], at_here[near], here[rows] - step
        exact = np.abs(step) < 1e-6 * start[rows]  # the next step is of the order of this one's square
        found[rows[exact]] = here[rows[exact]]
        rows = rows[~exact]
        if not rows.size:
            break
    rows = np.isnan(found).nonzero()[0]
    distance, value, start = tried[:, 0, rows], tried[:, 1, rows], start[rows]
    high = np.where(value >= 0, distance, np.inf).min(axis=0)
    high = np.where(np.isfinite(high), high, start)
    low = np.where((value < 0) & (distance < high), distance, 0.0).max(axis=0)
    while (short := ((at_high := rejects(rows, high)) < 0) & (high <= 1e12 * start)).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    found[rows] = np.inf
    some = at_high >= 0
    found[rows[some]] = _roots_between(rejects, rows[some], low[some], high[some])
    return found


def _roots_between(rejects: Callable[[Ints, Floats], Floats], rows: Ints, low: Floats, high: Floats) -> Floats:
    """The same by halving: near these roots the p-value jumps, so that no line leads to them."""
    tolerance = 5e-7 * high
    while (of := (high - low > tolerance).nonzero()[0]).size:
        middle = (low[of] + high[of]) / 2
        beyond = rejects(rows[of], middle) >= 0
        high[of[beyond]], low[of[~beyond]] = middle[beyond], middle[~beyond]
    return high


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
