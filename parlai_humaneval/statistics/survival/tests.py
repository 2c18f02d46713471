"""Do two speakers pass for a person equally long? Score and permutation tests for current-status data.

Both compare what each judgement says of the time of being spotted with what the pooled survival has it say: with
S = S(k) and Λ = −ln S, a spotted speaker scores ΛS/(1 − S) and one that was not spotted −Λ. These are the scores of a
group's log hazard ratio at 0. Only what was seen at the same k is compared, so that it does no harm if two speakers
were shown at different lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import chdtrc, ndtri

from parlai_humaneval.statistics.crossed import ABOUT, crossed_mean
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.once_each import HIGH, LOW, VALUE, P, rescaled, with_once_each
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.survival.curve import Floats, Ints, isotonic_shares, seen_by_length

INDEPENDENT = "all judgements are independent of each other, also those of one worker and of one dialogue"
PROPORTIONAL = "the two hazards of being spotted are proportional"
NO_EVENTS = "nobody was spotted, or everybody: nothing tells the groups apart"
ONE_GROUP = "there is only one group: nothing can be compared"
NOTHING = "no observations: nothing can be tested"
APART = "the groups were never seen at comparable lengths: nothing can be compared"
_TINY = 1e-12


@dataclass(frozen=True)
class Scores:
    """Sun's scores of judgements for the comparison of two groups.

    ``in_second``: 1 where a judgement is of the second group (in sorted order), else 0. ``block``: lengths with the same
    S share one. ``information``: of one judgement of each block, Λ²S/(1 − S). ``length``: index of what was shown.
    """

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
        found: Floats = inside / np.maximum(np.bincount(self.block, minlength=size), 1)
        return found

    @property
    def v(self) -> float:
        """Information on the log hazard ratio, once the survival at each length is estimated from the same data.

        Lengths that the estimate pools are one: there the data have one survival to estimate.
        """
        return self._information(self.block)

    @property
    def v_apart(self) -> float:
        """The same as if each length had a survival of its own to estimate, also where they are pooled."""
        return self._information(self.length)

    def _information(self, cells: Ints) -> float:
        inside, number = np.bincount(cells, weights=self.in_second), np.bincount(cells)
        of_cell = np.bincount(cells, weights=self.information[self.block])  # number × information of one
        share = inside / np.maximum(number, 1)
        return float((of_cell * share * (1 - share)).sum())

    @property
    def without_contrast(self) -> tuple[str, ...]:
        """Why the scores say nothing of a difference, if they do not."""
        if not self.score.size:
            return (NOTHING,)
        if len(self.groups) < 2:
            return (ONE_GROUP,)
        if not (np.abs(self.score) > _TINY).any():
            return (NO_EVENTS,)
        return ()

    @property
    def why_nothing(self) -> tuple[str, ...]:
        """Why U and V are 0, if they must be."""
        return self.without_contrast or (() if self.v > _TINY else (APART,))


def sun_scores(k: npt.ArrayLike, spotted: npt.ArrayLike, group: npt.ArrayLike) -> Scores:
    """The score of each judgement under the pooled NPMLE, for at most two groups.

    Raises:
        ValueError: bad ``k`` or ``spotted``, a missing group, or more than two of them.

    Source: Finkelstein 1986; Sun 1996.
    """
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
        raise ValueError(f"{values.size} groups for {n} observations: give one for each.")
    codes, names = pd.factorize(values, sort=True)
    if (codes < 0).any():
        raise ValueError("group has missing values: say for each observation which group it is of.")
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
        group: who the speaker is.
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
    v = scores.v_apart if lengths_apart else scores.v
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
    """Generalised log-rank test of two groups with Sun's scores and their permutation variance (Sun 1996).

    Needs groups that were shown at the same lengths: it permutes them over all lengths. ``details`` hold U and V.

    A small p says that one of the two is spotted sooner. Assumes independent judgements.

    Source: Sun 1996.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> group = ['ada'] * 9 + ['bob'] * 9
    >>> print(permutation_logrank_test(k, spotted, group))
    survival: –, statistic 2.619, p = .11, n = 18 [permutation log-rank test, Sun's scores]
    """
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
    """The score test by clusters, the signs of whose parts of the score are flipped.

    The score of a judgement is centred on its length, as the survival there is estimated from the same data; the sums
    of each cluster give the variance. ``estimate`` as in :func:`survival_score_test`. None of it below three clusters.
    ``dialogues`` of the judgements: where several workers judged the same, the test is by worker and dialogue.

    Assumes independent clusters.

    Source: Finkelstein 1986; Cameron & Miller 2015, §II.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> group = ['ada'] * 9 + ['bob'] * 9
    >>> print(clustered_score_test(k, spotted, group, list('abcdef' * 3)))
    survival: −1.198, 95% interval −1.988 to −0.803, statistic −6.330, p = .031, n = 18 [score test, sign-flip test,
    clustered by worker]
    """
    scores = sun_scores(k, spotted, group)
    nothing = scores.why_nothing
    if nothing:
        base = _chi_square(0.0, 0.0, scores, name, f"score test, sign-flip test, clustered by {cluster}")
        return base.but(statistic=None, level=level)
    names = np.asarray(clusters, dtype=object).ravel()
    if names.size != scores.score.size:
        raise ValueError(f"{names.size} clusters for {scores.score.size} observations: give one for each.")
    influence = scores.score * (scores.in_second - scores.shares[scores.block])
    if dialogues is None:
        result = with_once_each(clustered_mean, influence, names, name=name, null=0.0, level=level, cluster=cluster)
    else:
        result = with_once_each(crossed_mean, influence, names, dialogues, name=name, null=0.0, level=level)
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
    nothing = scores.why_nothing
    return Result(
        name=name,
        statistic=chi2,
        p_value=float(chdtrc(1, chi2)) if v > _TINY else 1.0,
        n=scores.score.size,
        method=method,
        notes=nothing,
        details={"U": u, "V": v, "df": 1},
    )
