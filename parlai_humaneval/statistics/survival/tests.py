"""Do two speakers pass for a person equally long? Score, permutation and log-rank tests for current-status data.

With the pooled survival S = S(k) and Λ = −ln S, a spotted speaker scores ΛS/(1 − S) and one that was not spotted −Λ:
the scores of a group's log hazard ratio at 0. Only what was seen at the same k is compared. The log-rank test, and Zhao
& Sun's generalisation to times known only as intervals, are those of Deriu et al. 2020, §3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import chdtrc, ndtri

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import HIGH, LOW, VALUE, P, rescaled, with_once_each
from parlai_humaneval.statistics.core.result import Result, called
from parlai_humaneval.statistics.core.two_way import ABOUT
from parlai_humaneval.statistics.survival.curve import Seen, isotonic_shares, seen_by_length

INDEPENDENT = "all judgements are independent of each other, also those of one rater and of one dialogue"
PROPORTIONAL = "the two hazards of being spotted are proportional"
NO_EVENTS = "nobody was spotted, or everybody: the groups do not differ"
ONE_GROUP = "there is only one group: nothing can be compared"
NOTHING = "no observations: nothing can be tested"
APART = "the groups were never seen at comparable lengths: nothing can be compared"
_TINY = 1e-12


@dataclass(frozen=True)
class Scores:
    """Sun's scores of judgements of two groups. Lengths with the same S share a ``block``, of which each judgement has
    the ``information`` Λ²S/(1 − S); ``in_second``: 1 where it is of the second group."""

    groups: list[object]
    score: Floats
    in_second: Floats
    block: Ints
    information: Floats
    length: Ints

    @property
    def u(self) -> float:
        """Sum of the scores of the second group: above 0 where it is spotted sooner."""
        return float((self.score * self.in_second).sum()) if len(self.groups) == 2 else 0.0

    @property
    def shares(self) -> Floats:
        """Share of the second group in each block."""
        size = len(self.information)
        inside = np.bincount(self.block, weights=self.in_second, minlength=size)
        return inside / np.maximum(np.bincount(self.block, minlength=size), 1)

    @property
    def v(self) -> float:
        """Information on the log hazard ratio, once the survival at each block is estimated from the same data."""
        return self.information_by(self.block)

    def information_by(self, cells: Ints) -> float:
        """The same where each of ``cells`` has a survival of its own to estimate."""
        inside, number = np.bincount(cells, weights=self.in_second), np.bincount(cells)
        of_cell = np.bincount(cells, weights=self.information[self.block])  # number × information of one
        share = inside / np.maximum(number, 1)
        return float((of_cell * share * (1 - share)).sum())

    @property
    def without_contrast(self) -> tuple[str, ...]:
        """The reason why the scores cannot show a difference, if any."""
        if not self.score.size:
            return (NOTHING,)
        if len(self.groups) < 2:
            return (ONE_GROUP,)
        if not (np.abs(self.score) > _TINY).any():
            return (NO_EVENTS,)
        return ()

    @property
    def why_nothing(self) -> tuple[str, ...]:
        """The reason why U and V must be 0, if any."""
        return self.without_contrast or (() if self.v > _TINY else (APART,))


def sun_scores(k: npt.ArrayLike, spotted: npt.ArrayLike, group: npt.ArrayLike) -> Scores:
    """The score of each judgement under the pooled NPMLE, for at most two groups."""
    seen = seen_by_length(k, spotted)
    codes, names = group_codes(group, seen.place.size)
    if len(names) > 2:
        raise ValueError(f"{len(names)} groups: compare two at a time, and correct the p-values for all pairs.")
    shares = isotonic_shares(seen.spotted, seen.total)
    values, blocks = np.unique(shares, return_inverse=True)
    left, certain = 1 - values, (values < _TINY) | (values > 1 - _TINY)
    safe = np.where(certain, 0.5, left)
    hazard = np.where(certain, 0.0, -np.log(safe))  # nobody can be off a survival of 0 or 1: no score
    when_spotted = hazard * safe / (1 - safe)
    block = np.asarray(blocks, dtype=np.int64)[seen.place]
    found = np.asarray(spotted, dtype=float).ravel() == 1
    return Scores(
        groups=names,
        score=np.where(found, when_spotted[block], -hazard[block]),
        in_second=(codes == 1).astype(float),
        block=block,
        information=hazard * when_spotted,
        length=np.asarray(seen.place, dtype=np.int64),
    )


def group_codes(group: npt.ArrayLike, n: int) -> tuple[Ints, list[object]]:
    """Index of each entry's group, and the groups, sorted."""
    values = np.asarray(group, dtype=object).ravel()
    if values.size != n:
        raise ValueError(f"{values.size} groups for {n} observations: expected one per observation.")
    codes, names = pd.factorize(values, sort=True)
    if (codes < 0).any():
        raise ValueError("group has missing values: give the group of every observation.")
    return codes.astype(np.int64), list(names)


def survival_score_test(
    k: npt.ArrayLike,
    spotted: npt.ArrayLike,
    group: npt.ArrayLike,
    *,
    name: str = "survival",
    level: float = 0.95,
    lengths_apart: bool = False,
) -> Result:
    """Score test of a hazard ratio of 1 between two groups, with the pooled NPMLE plugged in (Finkelstein 1986).

    The statistic is U²/V, χ² with one degree of freedom; ``details`` hold U (of the group that sorts last) and V.
    ``estimate`` is U/V, one step towards the log hazard ratio: above 0 where that group is spotted sooner.
    p = 1, U = V = 0 where the data cannot tell the groups apart: one group, nobody spotted, everybody spotted.

    Args:
        k: exchanges shown, an entry a judged speaker.
        spotted: 1 where the speaker was taken for a bot, else 0.
        group: the group of the speaker, such as the model.
        name: of the result.
        level: coverage of the interval.
        lengths_apart: V as if each length had a survival of its own, as is usual with fixed lengths; without it, lengths
            that the estimate pools are one, which holds the level better in small studies. They differ only where
            lengths are pooled.

    Raises:
        ValueError: see :func:`sun_scores`.

    Assumes independent judgements and proportional hazards, of the estimate.

    Source: Finkelstein 1986; Deriu et al. 2020, §3.3.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> group = ['ada'] * 9 + ['bob'] * 9
    >>> print(survival_score_test(k, spotted, group))
    survival: −1.198, 95% interval −2.607 to 0.212, statistic 2.773, p = .096, n = 18 [score test of proportional
    hazards, χ² with 1 df]
    """
    scores = sun_scores(k, spotted, group)
    v = scores.information_by(scores.length) if lengths_apart else scores.v
    nothing = scores.without_contrast or (() if v > _TINY else (APART,))
    u = 0.0 if nothing else scores.u
    result = _chi_square(u, 0.0 if nothing else v, scores, name, "score test of proportional hazards, χ² with 1 df")
    if nothing:
        return result
    half = float(ndtri(0.5 + level / 2)) / v**0.5
    return result.but(
        estimate=u / v,
        ci_low=u / v - half,
        ci_high=u / v + half,
        level=level,
        assumptions=(INDEPENDENT, PROPORTIONAL),
        source="Finkelstein 1986; Deriu et al. 2020, §3.3, for the question",
    )


def permutation_logrank_test(
    k: npt.ArrayLike, spotted: npt.ArrayLike, group: npt.ArrayLike, *, name: str = "survival"
) -> Result:
    """Generalised log-rank test of two groups with Sun's scores and their permutation variance (Sun 1996)."""
    scores = sun_scores(k, spotted, group)
    n, inside = scores.score.size, float(scores.in_second.sum())
    nothing = scores.without_contrast
    spread = float(((scores.score - scores.score.mean()) ** 2).sum()) if n else 0.0
    v = 0.0 if nothing or n < 2 else inside * (n - inside) / (n * (n - 1)) * spread
    result = _chi_square(0.0 if nothing else scores.u, v, scores, name, "permutation log-rank test, Sun's scores")
    assumptions = (INDEPENDENT, "both groups were shown at the same lengths, in the same shares")
    return result.but(assumptions=assumptions, source="Sun 1996; Fay & Shaw 2010")


def clustered_score_test(
    k: npt.ArrayLike,
    spotted: npt.ArrayLike,
    group: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "survival",
    level: float = 0.95,
    cluster: str = "worker",
    dialogues: npt.ArrayLike | None = None,
) -> Result:
    """The score test by clusters, the signs of whose parts of the score are flipped."""
    scores = sun_scores(k, spotted, group)
    nothing = scores.why_nothing
    if nothing:
        base = _chi_square(0.0, 0.0, scores, name, f"score test, sign-flip test, clustered by {called(cluster)}")
        return base.but(statistic=None, level=level)
    names = np.asarray(clusters, dtype=object).ravel()
    if names.size != scores.score.size:
        raise ValueError(f"{names.size} clusters for {scores.score.size} observations: expected one per observation.")
    influence = scores.score * (scores.in_second - scores.shares[scores.block])
    words = {"name": name, "null": 0.0, "level": level, "cluster": cluster}
    result = with_once_each(clustered_mean, influence, names, dialogues=dialogues, **words)
    kept = (f"n_{cluster}s", "n_dialogues", ABOUT, "p_by_worker", VALUE, LOW, HIGH, P)
    scale = scores.score.size / scores.v  # from the mean influence U/n to the one-step log hazard ratio U/V
    result = rescaled(result, lambda value: value * scale)
    return result.but(
        estimate=scores.u / scores.v,
        method=f"score test, {result.method}",
        assumptions=(*result.assumptions, PROPORTIONAL),
        source=f"Finkelstein 1986; {result.source}",
        details={
            **{name: result.details[name] for name in kept if name in result.details},
            "U": scores.u,
            "V": scores.v,
        },
    )


def _chi_square(u: float, v: float, scores: Scores, name: str, method: str) -> Result:
    chi2 = u * u / v if v > _TINY else 0.0
    base = Result.by(method, "", name=name, n=scores.score.size, details={"U": u, "V": v, "df": 1})
    p = float(chdtrc(1, chi2)) if v > _TINY else 1.0
    return base.but(statistic=chi2, p_value=p, notes=scores.why_nothing)


IMPUTATIONS = 1_000
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LogRank:
    """Events beyond what equal hazards would give (``u``, by group) and their covariance (groups × groups)."""

    groups: list[object]
    u: Floats
    v: Floats


def logrank_scores(time: npt.ArrayLike, event: npt.ArrayLike, group: npt.ArrayLike) -> LogRank:
    """The log-rank statistic of right-censored times, for any number of groups (Mantel 1966; Peto & Peto 1972)."""
    times, happened = np.asarray(time, dtype=float).ravel(), np.asarray(event, dtype=float).ravel()
    if times.size != happened.size:
        raise ValueError(f"{times.size} times, but {happened.size} events: expected one of each per observation.")
    if not np.isfinite(times).all() or not np.isin(happened, (0.0, 1.0)).all():
        raise ValueError("time must be a number and event 0 or 1, with none missing.")
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
    """The log-rank test of equal hazards, χ² with groups − 1 degrees of freedom; p = 1 where nothing can be compared."""
    result = _test(logrank_scores(time, event, group), int(np.asarray(time).size), name, "log-rank test")
    assumptions = (INDEPENDENT, "the end of observation is unrelated to the hazard")
    return result.but(assumptions=assumptions, source="Mantel 1966; Peto & Peto 1972")


def zhao_sun_scores(k: npt.ArrayLike, spotted: npt.ArrayLike, group: npt.ArrayLike) -> tuple[list[object], Floats]:
    """The groups, sorted, and U of each: expected events beyond what equal hazards would give, for current-status
    data."""
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
    v = np.zeros((len(grouped.groups), len(grouped.groups)))
    if grouped.moments.size:
        # The mean covariance within the imputed data sets, and 1 + 1/M times that of their U.
        found = grouped.found.astype(np.int64)
        shape = (imputations, *found.shape)
        drawn = np.random.default_rng(seed).multinomial(found, grouped.chances[None], size=shape)
        each, within = _log_rank(*grouped.events(drawn.sum(axis=2).astype(float)))
        apart = each - each.mean(axis=0)
        v = within.mean(axis=0) + (1 + 1 / imputations) * (apart.T @ apart) / (imputations - 1)
    result = _test(LogRank(grouped.groups, u, v), grouped.n, name, f"Zhao & Sun's test, {imputations:,} imputations")
    return result.but(
        assumptions=(INDEPENDENT, "how much was shown does not depend on the speaker"),
        source="Zhao & Sun 2004; Deriu et al. 2020, §3.3",
        details={**result.details, "seed": seed, "imputations": imputations},
    )


@dataclass(frozen=True)
class _Grouped:
    """Counts that the test rests on: groups × lengths that were ``found`` or ``left``; ``chances``: lengths × moments,
    where the event of a speaker spotted by that length lies; ``moments``: lengths at which the survival falls."""

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
    np.divide(all_events * (everybody - all_events), everybody - 1, out=spread, where=everybody > 1 + _TOLERANCE)
    weighted = shares * spread[..., None, :]
    v = weighted.sum(axis=-1)[..., None] * np.eye(u.shape[-1]) - weighted @ np.swapaxes(shares, -1, -2)
    return u, v


def _test(found: LogRank, n: int, name: str, method: str) -> Result:
    v = found.v if found.v.size else np.zeros((0, 0))
    df = int(np.linalg.matrix_rank(v, tol=_TOLERANCE, hermitian=True)) if v.size else 0
    chi2 = float(found.u @ np.linalg.pinv(v, rcond=_TOLERANCE, hermitian=True) @ found.u) if df else 0.0
    notes = () if df else (NOTHING if not n else ONE_GROUP if len(found.groups) < 2 else "the groups do not differ",)
    of_groups = {f"U of {group}": float(u) for group, u in zip(found.groups, found.u, strict=True)}
    details = {"df": df or max(0, len(found.groups) - 1), **of_groups}
    p = float(chdtrc(df, chi2)) if df else 1.0
    return Result.by(method, "", name=name, n=n, details=details).but(statistic=chi2, p_value=p, notes=notes)
