"""How much rater time tells two models apart (Smith et al. 2022, App. C.6 and C.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.sequential import anytime_p_values, crossing, t_p_values
from parlai_humaneval.statistics.core.shares import binomial_p_values

CHUNK_MINUTES = 45.0  # Smith et al. 2022, Table 8.


@dataclass(frozen=True)
class TimeToSignificance:
    """When a growing study became significant, in the unit of its times: ``first`` look with p < α (optimistic: who
    stops there has looked many times), ``sustained`` (below α to the end), ``anytime`` (of the p that allows for
    looking).
    """

    first: float | None
    sustained: float | None
    p_values: Floats
    anytime: float | None
    total: float | None
    n: int
    anytime_p_values: Floats | None = None


def time_to_significance(
    outcomes: npt.ArrayLike, times: npt.ArrayLike, *, alpha: float = 0.05, p0: float = 0.5, min_looks: int = 1
) -> TimeToSignificance:
    """Time until the two-sided binomial test tells two models apart, looking after every outcome.

    Args:
        outcomes: 1 where A won, 0 where B did, in the order in which they came; ties are left out.
        times: time spent by all raters up to and with each outcome; it never falls. Time of ties, of onboarding and of
            collecting dialogues is part of it (:func:`cumulative_time`, :func:`collection_time`).
        min_looks: earlier looks do not count.

    Raises:
        ValueError: lists of different length, an outcome that is not 0 or 1, a time that is missing or falls.

    Assumes that outcomes are independent, also those of one worker. Source: Smith et al. 2022, App. C.7.

    ``sustained`` is the honest figure: stopping at ``first`` finds differences that are none.

    >>> found = time_to_significance([1, 1, 0, 1, 1, 1, 1, 1, 1, 1], range(10, 101, 10))
    >>> found.first, found.sustained, found.total
    (90.0, 90.0, 100.0)
    """
    x, at = np.asarray(outcomes, dtype=float), _times(times)
    anytime = anytime_p_values(x, p0)
    if len(x) != len(at):
        raise ValueError(f"{len(x)} outcomes but {len(at)} times: each outcome needs its time")
    p = binomial_p_values(np.cumsum(x).astype(np.int64), np.arange(1, len(x) + 1), p0)
    return _crossed(p, at, alpha, min_looks, anytime)


def time_to_difference(
    values: npt.ArrayLike, of_a: npt.ArrayLike, times: npt.ArrayLike, *, alpha: float = 0.05, min_looks: int = 1
) -> TimeToSignificance:
    """Time until the two-sided t test tells the ratings of two models apart, looking after every rating (Smith et al.
    2022, App. C.7); ``of_a``: which values are A's."""
    at, p = _times(times), t_p_values(values, of_a)
    if len(p) != len(at):
        raise ValueError(f"{len(p)} values but {len(at)} times: each value needs its time")
    return _crossed(p, at, alpha, min_looks)


def _crossed(p: Floats, at: Floats, alpha: float, min_looks: int, anytime: Floats | None = None) -> TimeToSignificance:
    looks = crossing(p, alpha, min_looks)
    allowed = None if anytime is None else crossing(anytime, alpha, min_looks).first
    first, sustained, allows = (None if i is None else float(at[i]) for i in (looks.first, looks.sustained, allowed))
    return TimeToSignificance(first, sustained, p, allows, float(at[-1]) if at.size else None, len(p), anytime)


def _times(times: npt.ArrayLike) -> Floats:
    at = np.asarray(times, dtype=float)
    if at.ndim != 1 or not np.isfinite(at).all():
        raise ValueError("times must be a list without missing numbers")
    if (np.diff(at) < 0).any():
        raise ValueError("times must not decrease: give the time spent by all raters so far")
    return at


def cumulative_time(durations: npt.ArrayLike, workers: npt.ArrayLike, *, onboarding: float = 0.0) -> Floats:
    """Time spent up to and with each answer: ``durations`` summed, and ``onboarding`` once for each new worker."""
    spent, names = np.asarray(durations, dtype=float), np.asarray(workers, dtype=object)
    if len(spent) != len(names):
        raise ValueError(f"{len(spent)} durations but {len(names)} raters")
    if not np.isfinite(spent).all() or (spent < 0).any() or onboarding < 0:
        raise ValueError("durations and onboarding must be known and not negative")
    newcomer = ~pd.Series(names, dtype=object).duplicated().to_numpy(dtype=bool)
    return np.asarray(np.cumsum(spent + onboarding * newcomer), dtype=float)


def dialogues_needed(n_judgements: npt.ArrayLike, reuse: int | None = None) -> Ints:
    """Dialogues *of each model* that must be there to make so many judgements of pairs."""
    n = np.asarray(n_judgements, dtype=np.int64)
    if (n < 0).any() or (reuse is not None and reuse < 1):
        raise ValueError("the number of judgements must not be negative, and reuse at least 1")
    needed = np.ceil(np.sqrt(n)).astype(np.int64)
    needed = np.where(needed.astype(float) ** 2 < n, needed + 1, needed)
    return np.asarray(needed if reuse is None else np.maximum(needed, -(-n // reuse)), dtype=np.int64)


def collection_time(n_judgements: npt.ArrayLike, dialogue_time: float, reuse: int | None = None) -> Floats:
    """Time spent on collecting the dialogues of both models for so many judgements, in the unit of ``dialogue_time``."""
    if not dialogue_time >= 0:
        raise ValueError(f"the time of a dialogue must not be negative: {dialogue_time}")
    return np.asarray(2 * dialogue_time * dialogues_needed(n_judgements, reuse), dtype=float)


@dataclass(frozen=True)
class ChunkVariability:
    """Win rate of each full chunk of rater time, and their standard deviation; None where it cannot be estimated."""

    rates: list[float]
    sd: float | None


def chunk_variability(
    outcomes: npt.ArrayLike, durations: npt.ArrayLike, *, chunk: float = CHUNK_MINUTES, ddof: int = 0
) -> ChunkVariability:
    """How much the win rate varies between equal stretches of rater time (Smith et al. 2022, App. C.6, Table 8)."""
    x = np.asarray(outcomes, dtype=float)
    ends = chunk_ends(durations, chunk=chunk)
    if x.ndim != 1 or len(x) != np.size(durations) or not np.isfinite(x).all():
        raise ValueError("outcomes and durations must have the same length, and outcomes must be finite numbers")
    starts = [0, *ends[:-1]] if ends else []
    rates = [float(x[start:end].mean()) for start, end in zip(starts, ends, strict=True)]
    return ChunkVariability(rates, spread(rates, ddof))


def chunk_ends(durations: npt.ArrayLike, *, chunk: float = CHUNK_MINUTES) -> list[int]:
    """Number of answers up to the end of each full chunk; see :func:`chunk_variability`."""
    spent = np.asarray(durations, dtype=float)
    if spent.ndim != 1 or not np.isfinite(spent).all() or (spent < 0).any() or not chunk > 0:
        raise ValueError("outcomes and durations must be known, durations not negative, and chunk above 0")
    totals, ends, before = np.cumsum(spent), [], 0.0
    slack = 1e-9 * chunk  # durations that sum to the chunk up to rounding fill it
    while (end := int(np.searchsorted(totals, before + chunk - slack)) + 1) <= len(spent):
        ends.append(end)
        before = float(totals[end - 1])
    return ends


def spread(rates: Sequence[float | None], ddof: int = 0) -> float | None:
    """Standard deviation of the rates that are known; None with too few of them."""
    known = [rate for rate in rates if rate is not None]
    return float(np.std(known, ddof=ddof)) if len(known) > ddof else None
