"""How long a speaker passes for a person: the share not spotted within k exchanges (Deriu et al. 2020, §3.3).

A segment of k exchanges tells only whether its speaker was spotted in (0, k] or later: current-status data. Its
non-parametric maximum-likelihood estimate (Turnbull 1974) is isotonic regression of the spotted share, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """What was seen at each length, in rising order: ``spotted`` of ``total`` (numbers, or sums of weights).

    ``place``: for each observation, the index of its length.
    """

    lengths: Ints
    spotted: Floats
    total: Floats
    place: Ints


def seen_by_length(k: npt.ArrayLike, spotted: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Seen:
    """Counts by length; lengths whose weights are all 0 are left out.

    Raises:
        ValueError: unequal lengths of the lists, a missing value, k that is not a whole number from 1, spotted that is
            neither 0 nor 1, a weight below 0.
    """
    exchanges, found = checked(k, spotted)
    weight = np.ones(found.size) if weights is None else np.asarray(weights, dtype=float).ravel()
    if weight.size != found.size:
        raise ValueError(f"{weight.size} weights for {found.size} observations: give one for each.")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("weights must be numbers from 0, none missing.")
    counted = weight > 0
    lengths, place = np.unique(exchanges[counted], return_inverse=True)
    own, size = weight[counted], len(lengths)
    places = np.zeros(found.size, dtype=np.int64)
    places[counted] = place
    return Seen(
        lengths=lengths,
        spotted=np.bincount(place, weights=own * found[counted], minlength=size).astype(float),
        total=np.bincount(place, weights=own, minlength=size).astype(float),
        place=places,
    )


def checked(k: npt.ArrayLike, spotted: npt.ArrayLike) -> tuple[Ints, Floats]:
    """The two as arrays, or a ValueError that says what is wrong."""
    exchanges, found = np.asarray(k, dtype=float).ravel(), np.asarray(spotted, dtype=float).ravel()
    if exchanges.size != found.size:
        raise ValueError(f"{exchanges.size} lengths k, but {found.size} values of spotted: give one of each a segment.")
    if not (np.isfinite(exchanges).all() and (exchanges >= 1).all() and (exchanges % 1 == 0).all()):
        raise ValueError("k is the number of exchanges shown: whole numbers from 1, none missing.")
    if not np.isin(found, (0.0, 1.0)).all():
        raise ValueError("spotted is 1 where the speaker was taken for a bot, else 0; none may be missing.")
    return exchanges.astype(np.int64), found


def isotonic_shares(spotted: npt.ArrayLike, total: npt.ArrayLike) -> Floats:
    """Shares ``spotted`` / ``total`` along the last axis, pooled so that they never fall; any number of rows at once.

    The share at j is the greatest, over beginnings a ≤ j, of the least, over ends b ≥ j, of the pooled shares of a to
    b (the max–min formula of isotonic regression): the result of pool adjacent violators without its loop, at a cost of
    lengths² a row. A length at which nothing was seen takes the share of a neighbour; nan where a row has nothing.
    Source: Robertson, Wright & Dykstra 1988, Th. 1.4.4; Turnbull 1974 for what it estimates.
    """
    above, below = _cumulative(spotted), _cumulative(total)
    sums = above[..., None, 1:] - above[..., :-1, None]  # … × beginning × end
    weights = below[..., None, 1:] - below[..., :-1, None]
    shares: Floats = np.full(sums.shape, np.inf)
    np.divide(sums, weights, out=shares, where=weights > 0)
    size = shares.shape[-1]
    begins, ends = np.arange(size)[:, None], np.arange(size)[None, :]
    shares = np.where(ends >= begins, shares, np.inf)
    least = np.minimum.accumulate(shares[..., ::-1], axis=-1)[..., ::-1]
    least = np.where((begins <= ends) & np.isfinite(least), least, -np.inf)
    found = least.max(axis=-2, initial=-np.inf)
    return np.where(np.isfinite(found), found, np.nan)


def survival_curve(k: npt.ArrayLike, spotted: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> dict[int, float]:
    """Exchanges → share not spotted by then, at the lengths that were shown; empty without observations.

    Where a longer segment was spotted less often than a shorter one, the two are pooled (pool adjacent violators): being
    spotted is for good.

    Args:
        k: exchanges shown, an entry a judged speaker.
        spotted: 1 where the speaker was taken for a bot, else 0.
        weights: how often each counts; None: once.

    Raises:
        ValueError: see :func:`seen_by_length`.

    Assumes that a speaker once spotted would stay so, and that who saw how much does not depend on the speaker.
    Source: Deriu et al. 2020, §3.3; Turnbull 1974.
    """
    seen = seen_by_length(k, spotted, weights)
    shares = isotonic_shares(seen.spotted, seen.total)
    return {int(length): 1 - float(share) for length, share in zip(seen.lengths, shares, strict=True)}


survival = survival_curve
"""The name by which the reports have it; the package has a module of that name, so that it offers the other."""


def _cumulative(values: npt.ArrayLike) -> Floats:
    """Running sums along the last axis, beginning with 0."""
    rows = np.asarray(values, dtype=float)
    sums = np.zeros((*rows.shape[:-1], rows.shape[-1] + 1))
    np.cumsum(rows, axis=-1, out=sums[..., 1:])
    return sums
