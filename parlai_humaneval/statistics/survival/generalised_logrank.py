"""The log-rank test, and Zhao & Sun's generalisation to times known only as intervals (Deriu et al. 2020, §3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.survival.curve import Floats, Seen, isotonic_shares, seen_by_length
from parlai_humaneval.statistics.survival.tests import INDEPENDENT, NOTHING, ONE_GROUP, group_codes

IMPUTATIONS = 1_000
_TINY = 1e-9


@dataclass(frozen=True)
class LogRank:
    """Events beyond what equal hazards would give (``u``, by group) and their covariance (groups × groups)."""

    groups: list[object]
    u: Floats
    v: Floats


def logrank_scores(time: npt.ArrayLike, event: npt.ArrayLike, group: npt.ArrayLike) -> LogRank:
    """The log-rank statistic of right-censored times, for any number of groups (Mantel 1966; Peto & Peto 1972).

    Args:
        time: until the event, or until observation ended.
        event: 1 where it happened, 0 where observation ended without it.
        group: what is compared.

    Raises:
        ValueError: lists of unequal length, missing values, ``event`` other than 0 or 1.

    U above 0: more events than equal hazards would give. Assumes that observation ended for reasons of its own.

    Source: Mantel 1966; Peto & Peto 1972.

    >>> found = logrank_scores([1, 2, 3, 4], [1, 1, 1, 0], list('aabb'))
    >>> found.groups, found.u.round(3).tolist()
    (['a', 'b'], [1.167, -1.167])
    """
    times, happened = np.asarray(time, dtype=float).ravel(), np.asarray(event, dtype=float).ravel()
    if times.size != happened.size:
        raise ValueError(f"{times.size} times, but {happened.size} events: give one of each an observation.")
    if not np.isfinite(times).all() or not np.isin(happened, (0.0, 1.0)).all():
        raise ValueError("time must be numbers and event 0 or 1, none missing.")
    codes, names = group_codes(group, times.size)
    moments, place = np.unique(times, return_inverse=True)
    size, cells = len(moments), codes * len(moments) + place
    deaths = np.bincount(cells, weights=happened, minlength=len(names) * size).reshape(len(names), size)
    leaving = np.bincount(cells, minlength=len(names) * size).reshape(len(names), size)
    at_risk = np.cumsum(leaving[:, ::-1], axis=1)[:, ::-1].astype(float)
    u, v = _log_rank(deaths.astype(float), at_risk)
    return LogRank(names, u, v)


def logrank_test(
    time: npt.ArrayLike, event: npt.ArrayLike, group: npt.ArrayLike, *, name: str = "all groups"
) -> Result:
    """The log-rank test of equal hazards, χ² with groups − 1 degrees of freedom; p = 1 where nothing can be compared.

    Not for segments: these say only whether a speaker was spotted by their end, and this test then rejects nearly
    every true null if two speakers were shown at different lengths (:func:`survival_score_test` does not).

    A small p says that the hazards differ. Assumes independent times.

    Source: Mantel 1966.

    >>> print(logrank_test([1, 2, 3, 4, 5, 6], [1, 1, 1, 1, 0, 1], list('aaabbb')))
    all groups: –, statistic 5.052, p = .025, n = 6 [log-rank test]
    """
    found = logrank_scores(time, event, group)
    result = _test(found, int(np.asarray(time).size), name, "log-rank test")
    assumptions = (INDEPENDENT, "who stops being observed says nothing of the hazard")
    return result.but(assumptions=assumptions, source="Mantel 1966; Peto & Peto 1972")


def zhao_sun_scores(k: npt.ArrayLike, spotted: npt.ArrayLike, group: npt.ArrayLike) -> tuple[list[object], Floats]:
    """The groups, sorted, and U of each: expected events beyond what equal hazards would give, for current-status data.

    A speaker spotted in (0, k] counts at each earlier length by its chance there, under the survival of all groups
    together. Source: Zhao & Sun 2004, §2; Deriu et al. 2020, §3.3.

    Assumes that the length of a segment says nothing of when its speaker would be spotted.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> group = ['ada'] * 9 + ['bob'] * 9
    >>> groups, u = zhao_sun_scores(k, spotted, group)
    >>> groups, u.round(3).tolist()
    (['ada', 'bob'], [1.807, -1.807])
    """
    grouped = _grouped(k, spotted, group)
    u, _ = _log_rank(*grouped.events(grouped.found @ grouped.chances))
    return grouped.groups, u


def zhao_sun_test(
    k: npt.ArrayLike,
    spotted: npt.ArrayLike,
    group: npt.ArrayLike,
    *,
    imputations: int = IMPUTATIONS,
    seed: int = 0,
    name: str = "survival",
) -> Result:
    """Zhao & Sun's (2004) generalised log-rank test of the survival of two or more groups.

    U as :func:`zhao_sun_scores` has it. Its covariance adds the mean log-rank covariance of ``imputations`` data sets,
    in which each spotted speaker's time is drawn from the survival of all groups, to 1 + 1/M times the covariance
    between their U. The statistic is U'V⁻U, χ² with groups − 1 degrees of freedom; p = 1 where nothing can be compared.
    Times are drawn as counts by group and length, so that the cost does not depend on the number of judgements.

    Raises:
        ValueError: bad ``k``, ``spotted`` or ``group``, or fewer than two imputations.

    Assumes independent judgements, and lengths that do not depend on the speaker.

    A small p says that the speakers are not spotted equally soon.

    Source: Zhao & Sun 2004; Deriu et al. 2020, §3.3.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> group = ['ada'] * 9 + ['bob'] * 9
    >>> print(zhao_sun_test(k, spotted, group, imputations=100))
    survival: –, statistic 1.982, p = .16, n = 18 [Zhao & Sun's test, 100 imputations]
    """
    if imputations < 2:
        raise ValueError(f"{imputations} imputations: at least 2 are needed for a variance.")
    grouped = _grouped(k, spotted, group)
    u, _ = _log_rank(*grouped.events(grouped.found @ grouped.chances))
    v = _imputed_covariance(grouped, imputations, seed)
    result = _test(LogRank(grouped.groups, u, v), grouped.n, name, f"Zhao & Sun's test, {imputations:,} imputations")
    assumptions = (INDEPENDENT, "how much was shown does not depend on the speaker")
    source = "Zhao & Sun 2004; Deriu et al. 2020, §3.3"
    details = {**result.details, "seed": seed, "imputations": imputations}
    return result.but(assumptions=assumptions, source=source, details=details)


def _imputed_covariance(grouped: _Grouped, imputations: int, seed: int) -> Floats:
    """Mean covariance within the imputed data sets, and 1 + 1/M times that of their U."""
    size = len(grouped.groups)
    if not grouped.moments.size:
        return np.zeros((size, size))
    drawn = np.random.default_rng(seed).multinomial(
        grouped.found.astype(np.int64), grouped.chances[None], size=(imputations, *grouped.found.shape)
    )
    each, within = _log_rank(*grouped.events(drawn.sum(axis=2).astype(float)))
    apart = each - each.mean(axis=0)
    covariance: Floats = within.mean(axis=0) + (1 + 1 / imputations) * (apart.T @ apart) / (imputations - 1)
    return covariance


@dataclass(frozen=True)
class _Grouped:
    """Counts that the test rests on.

    ``found`` and ``left``: groups × lengths, how many were spotted or not; ``chances``: lengths × moments, where the
    event of a speaker spotted by that length lies; ``moments``: indices of lengths at which the survival falls.
    """

    groups: list[object]
    n: int
    found: Floats
    left: Floats
    chances: Floats
    moments: npt.NDArray[np.int64]

    def events(self, of_found: Floats) -> tuple[Floats, Floats]:
        """Events and numbers at risk (… × groups × moments), from when each group's spotted speakers had theirs."""
        remaining = np.cumsum(self.left[:, ::-1], axis=1)[:, ::-1][:, self.moments]
        return of_found, np.cumsum(of_found[..., ::-1], axis=-1)[..., ::-1] + remaining


def _grouped(k: npt.ArrayLike, spotted: npt.ArrayLike, group: npt.ArrayLike) -> _Grouped:
    seen: Seen = seen_by_length(k, spotted)
    codes, names = group_codes(group, seen.place.size)
    size, shape = len(seen.lengths), (len(names), len(seen.lengths))
    cells, events = codes * size + seen.place, np.asarray(spotted, dtype=float).ravel()
    found = np.bincount(cells, weights=events, minlength=len(names) * size).reshape(shape)
    total = np.bincount(cells, minlength=len(names) * size).reshape(shape)
    masses = np.diff(isotonic_shares(seen.spotted, seen.total), prepend=0.0)
    moments = np.flatnonzero(masses > 1e-12)
    possible = np.where(moments[None, :] <= np.arange(size)[:, None], masses[moments][None, :], 0.0)
    whole = possible.sum(axis=1, keepdims=True)
    chances = np.zeros_like(possible)
    np.divide(possible, whole, out=chances, where=whole > 0)
    return _Grouped(names, seen.place.size, found.astype(float), (total - found).astype(float), chances, moments)


def _log_rank(events: Floats, at_risk: Floats) -> tuple[Floats, Floats]:
    """U (… × groups) and its hypergeometric covariance (… × groups × groups), of … × groups × moments."""
    all_events, everybody = events.sum(axis=-2), at_risk.sum(axis=-2)
    shares: Floats = np.zeros(at_risk.shape)
    np.divide(at_risk, everybody[..., None, :], out=shares, where=everybody[..., None, :] > 0)
    u = (events - shares * all_events[..., None, :]).sum(axis=-1)
    spread: Floats = np.zeros(everybody.shape)
    np.divide(all_events * (everybody - all_events), everybody - 1, out=spread, where=everybody > 1 + _TINY)
    weighted = shares * spread[..., None, :]
    v = weighted.sum(axis=-1)[..., None] * np.eye(u.shape[-1]) - weighted @ np.swapaxes(shares, -1, -2)
    return u, v


def _test(found: LogRank, n: int, name: str, method: str) -> Result:
    v = found.v if found.v.size else np.zeros((0, 0))
    df = int(np.linalg.matrix_rank(v, tol=_TINY, hermitian=True)) if v.size else 0
    chi2 = float(found.u @ np.linalg.pinv(v, rcond=_TINY, hermitian=True) @ found.u) if df else 0.0
    notes = (
        () if df else (NOTHING if not n else ONE_GROUP if len(found.groups) < 2 else "nothing tells the groups apart",)
    )
    return Result(
        name=name,
        statistic=chi2,
        p_value=float(chdtrc(df, chi2)) if df else 1.0,
        n=n,
        method=method,
        notes=notes,
        details={
            "df": df or max(0, len(found.groups) - 1),
            **{f"U of {group}": float(u) for group, u in zip(found.groups, found.u, strict=True)},
        },
    )
