"""Shares, means and differences of dialogues that several workers judged, clustered by worker and by dialogue.

A test by worker alone takes the dialogues at hand for all there are: where 150 workers judge 30 dialogues, whose
quality has an SD of .7 log-odds, it rejects a true null in .13 to .33 of studies. :func:`by_both` adds the variances by
worker and by dialogue, takes off that of both together, and is never below the larger of them; t has the smallest
*effective* number of clusters less one as degrees of freedom. A share's variance is scaled to the hypothesis, as in
Wilson's interval. Over 2,000 null studies each it rejects in .01 to .07 (``python -m benchmarks.inference``); the
larger of both p, or no floor, would in up to .13. Where no dialogue has several workers the answer is the one by
worker, to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr, stdtrit

from parlai_humaneval._util.arrays import Codes, Floats
from parlai_humaneval.statistics.core import clustered
from parlai_humaneval.statistics.core.multiplicity import answer_weights
from parlai_humaneval.statistics.core.result import Result, called, check_level, check_null, check_share

FEW_DIALOGUES, FEW_OF_A_MODEL = 20, 10
"""Below so many (effective) dialogues, or so many of a model, the answer is said to be about these dialogues."""
ABOUT = "about_dialogues"  # The detail of a result that says how few dialogues it is about; others have no such detail
ABOUT_THESE = "the answer is about"  # How the note of such a result begins
QUESTION = "question"  # What answers have in common besides their worker where it is not the dialogue
OF_BOTH = "clustered by rater and dialogue"
BY_BOTH = f"two-way t, {OF_BOTH}"
CROSSED_SOURCE = "Cameron, Gelbach & Miller 2011, Robust inference with multiway clustering"


def crossed_share(
    won: npt.ArrayLike,
    counted: npt.ArrayLike,
    workers: npt.ArrayLike,
    dialogues: Sequence[npt.ArrayLike],
    *,
    name: str = "share",
    null: float = 0.5,
    level: float = 0.95,
    once: bool = False,
) -> Result:
    """Σ won / Σ counted, tested against ``null``: by worker, and by dialogue where several workers judged the same."""
    x, n = np.asarray(won, dtype=float), np.asarray(counted, dtype=float)
    used = ~np.isnan(x) & (n > 0)
    x, n, raters = x[used], n[used], np.asarray(workers, dtype=object)[used]
    weights = answer_weights(raters, once=once, sizes=n)
    x, n = x * (weights / n), weights
    by_worker = clustered.clustered_share(clustered.cluster_sums(x, n, raters), name=name, null=null, level=level)
    influence = (x - (by_worker.estimate or 0.0) * n) / max(float(n.sum()), 1.0)
    seen = [np.asarray(of, dtype=object)[used] for of in dialogues]
    return by_both(by_worker, influence, raters, seen, null=null, limits=clustered.SHARE_LIMITS, sizes=n, share=True)


def by_both(
    by_worker: Result,
    influence: Floats,
    workers: npt.ArrayLike,
    dialogues: Sequence[npt.ArrayLike],
    *,
    null: float | None,
    limits: clustered.Limits = None,
    sizes: Floats | None = None,
    models: npt.ArrayLike | None = None,
    share: bool = False,
) -> Result:
    """``by_worker`` with the interval and test of both; unchanged if no dialogue has several workers.

    ``influence``: what each observation adds to the error of the estimate; ``sizes``: how much it counts;
    ``dialogues``: an array a dialogue that was seen; ``models``: of each observation, where a dialogue belongs to one
    of several; ``share``: the variance depends on the value.
    """
    if by_worker.estimate is None:
        return by_worker
    weights = np.ones(len(influence)) if sizes is None else sizes
    raters = _codes(workers)
    shown = list(map(_codes, dialogues))
    judged_by_several: list[Codes] = []  # each once: both replies of a turn stem from the same dialogue
    for codes in shown:
        if not _inside(codes, raters) and not any((codes == other).all() for other in judged_by_several):
            judged_by_several.append(codes)
    if not judged_by_several:
        return by_worker
    n_dialogues = len(pd.unique(np.concatenate([np.asarray(of, dtype=object) for of in dialogues])))
    of_model = np.zeros(len(weights), dtype=np.intp) if models is None else _codes(models)
    several = [(codes, model) for codes in judged_by_several for model in range(of_model.max() + 1)]
    least_of_model = min(len(np.unique(codes[of_model == model])) for codes, model in several)
    effective = min(clustered.effective_clusters(np.bincount(codes, weights=weights)) for codes in judged_by_several)
    few = few_dialogues([least_of_model], effective, n_dialogues)
    few_notes = tuple(about_words(n) for n in few.values())
    counted = [codes for codes in judged_by_several if codes.max() + 1 >= clustered.MIN_CLUSTERS]
    if not counted or raters.max() + 1 < clustered.MIN_CLUSTERS:
        return by_worker.but(notes=(*by_worker.notes, *few_notes), details={**by_worker.details, **few})
    numbers = {"n_dialogues": n_dialogues, **few, "p_by_worker": by_worker.p_value}
    clusterings = [raters, *counted]
    tested = _tested(by_worker, influence, clusterings, weights, null, limits, share=share)
    many = [codes for codes in clusterings if codes.max() + 1 >= clustered.FLIPPED_CLUSTERS or tested is None]
    least = max((clustered.least_p(codes, models) for codes in many), default=0.0)
    if tested is None:
        details = {**by_worker.details, **numbers}
        alike = _without_variance(by_worker, clusterings, weights, null, least, share=share)
        return alike.but(details={**alike.details, **details}, notes=(*alike.notes, *few_notes))
    tested = clustered.not_below(tested, least, null)
    of_workers = np.bincount(raters, weights=weights)
    return tested.but(
        method=BY_BOTH,
        assumptions=("answers without a common rater or dialogue are independent",),
        source=CROSSED_SOURCE,
        notes=(*clustered.small_sample_notes(len(of_workers), "worker", of_workers), *few_notes, *tested.notes),
        details={**tested.details, **numbers},
    )


def two_way_share(
    won: npt.ArrayLike,
    counted: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    name: str = "share",
    null: float = 0.5,
    level: float = 0.95,
    cluster: str = "dialogue",
) -> Result:
    """Σ won / Σ counted, with an interval and test clustered by ``first`` and by ``second``."""
    check_level(level)
    check_null(null, clustered.SHARE_LIMITS)
    x, n = np.asarray(won, dtype=float), np.asarray(counted, dtype=float)
    used = n > 0
    x, n = x[used], n[used]
    clusterings = [_codes(np.asarray(of, dtype=object)[used]) for of in (first, second)]
    by_one: dict[str, Any] = {"name": name, "null": null, "level": level, "cluster": cluster}
    if bool((clusterings[0] == clusterings[1]).all()):
        return clustered.clustered_share(clustered.cluster_sums(x, n, clusterings[0]), **by_one)
    groups, total = [int(codes.max()) + 1 for codes in clusterings], float(n.sum())
    check_share(float(x.sum()), total)
    share = float(x.sum()) / total
    assumed = f"comparisons without a common {called(cluster)} are independent"
    details = {"n_first": groups[0], "n_second": groups[1], "null": null}
    how = f"two-way t, clustered by {called(cluster)} on both sides", CROSSED_SOURCE, assumed
    base = Result.by(*how, name=name, n=round(total), level=level, estimate=share, details=details)
    if min(groups) < clustered.MIN_CLUSTERS:
        return base.but(notes=(clustered.too_few_clusters(cluster),))
    tested = _tested(base, (x - share * n) / total, clusterings, n, null, clustered.SHARE_LIMITS, share=True)
    if tested is None:  # the fewer of both count, one answer each
        fewest = min(clusterings, key=lambda codes: int(codes.max()))
        alike = clustered.clustered_share(clustered.cluster_sums(x, n, fewest), **by_one)
        return alike.but(details={**base.details, **alike.details})
    least = 2.0 ** (1 - min(groups)) if min(groups) >= clustered.FLIPPED_CLUSTERS else 0.0
    tested = clustered.not_below(tested, least, null)
    sums = min((np.bincount(codes, weights=n) for codes in clusterings), key=clustered.effective_clusters)
    return tested.but(notes=(*clustered.small_sample_notes(min(groups), cluster, sums), *tested.notes))


def two_way_error(influence: Floats, clusterings: Sequence[Codes]) -> float:
    """The standard error of the sum of ``influence``, by all ``clusterings`` at once, each with cluster numbers."""
    variances = {}
    for size in range(1, len(clusterings) + 1):
        for chosen in combinations(range(len(clusterings)), size):
            totals = cluster_totals(influence[None], _common([clusterings[place] for place in chosen]))[0]
            variances[chosen] = float(len(totals) / (len(totals) - 1) * (totals**2).sum())
    signed = [variance if len(chosen) % 2 else -variance for chosen, variance in variances.items()]
    return float(np.sqrt(max(float(np.sum(signed)), *(variances[(place,)] for place in range(len(clusterings))))))


def either_side_covariances(
    influence: Floats, workers: Codes, dialogues: tuple[Codes, Codes]
) -> tuple[Floats, Floats, Floats]:
    """Covariances of the row sums of ``influence``: by rater and dialogue, by worker alone, by dialogue alone."""
    by_worker, by_dialogue = _covariances(influence, workers), dialogue_covariances(influence, dialogues)
    return by_worker + by_dialogue - dialogue_covariances(influence, dialogues, workers), by_worker, by_dialogue


def dialogue_covariances(influence: Floats, dialogues: tuple[Codes, Codes], *within: Codes) -> Floats:
    """Covariances of the row sums of ``influence``, by dialogue on either side, and ``within`` other clusters."""
    first, second = dialogues
    of_two = np.flatnonzero(first != second)
    rows = np.concatenate([np.arange(len(first)), of_two])
    seen = np.concatenate([first, second[of_two]])
    covariances = _covariances(influence[:, rows], _common([seen, *(codes[rows] for codes in within)]))
    if len(of_two):
        ends = np.sort(np.stack([first[of_two], second[of_two]]), axis=0)
        covariances -= _covariances(influence[:, of_two], _common([*ends, *(codes[of_two] for codes in within)]))
    return covariances


def numbered(clusterings: Sequence[npt.ArrayLike]) -> list[Codes]:
    """Number the clusters of several arrays from 0, with the same number for a name in all of them."""
    arrays = [np.asarray(of, dtype=object) for of in clusterings]
    return np.split(_codes(np.concatenate(arrays)), np.cumsum([len(of) for of in arrays])[:-1])


def are_reused(dialogues: tuple[Codes, Codes], workers: Codes) -> bool:
    """Whether several workers judged the same dialogue, on either side."""
    return not _inside(np.concatenate(dialogues), np.concatenate([workers, workers]))


def few_dialogues(numbers: Sequence[int], effective: float, n: int) -> dict[str, int]:
    """The detail of a result on ``n`` dialogues where they are few, by ``numbers`` a model or by their ``effective``
    one."""
    return {ABOUT: n} if min(numbers) < FEW_OF_A_MODEL or effective < FEW_DIALOGUES - 1e-9 else {}


def cluster_totals(values: Floats, codes: Codes) -> Floats:
    """Sums by cluster of several studies with the same clusters, numbered from 0: studies × clusters."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[:, order], starts, axis=1))


def _tested(
    base: Result,
    influence: Floats,
    clusterings: Sequence[Codes],
    sizes: Floats,
    null: float | None,
    limits: clustered.Limits,
    *,
    share: bool,
) -> Result | None:
    """Interval and test by Student's t; None where nothing differs. A share's error is scaled to each value tested."""
    error = two_way_error(influence, clusterings)
    if error < clustered.NO_VARIANCE:
        return None
    df = max(1.0, min(clustered.effective_clusters(np.bincount(codes, weights=sizes)) for codes in clusterings) - 1)
    return by_t(base, error, df, null, limits, share=share)


def by_t(base: Result, error: float, df: float, null: float | None, limits: clustered.Limits, *, share: bool) -> Result:
    """``base`` with interval and test by Student's t, of a standard error with ``df`` degrees of freedom."""
    estimate = base.estimate or 0.0
    critical = float(stdtrit(df, 0.5 + base.level / 2))
    spread = estimate * (1 - estimate)
    share = share and spread > clustered.NO_VARIANCE
    if share:
        squared = (critical * error) ** 2 / spread
        middle = (estimate + squared / 2) / (1 + squared)
        half = float(np.sqrt(squared * spread + squared**2 / 4)) / (1 + squared)
    else:
        middle, half = estimate, critical * error
    low, high, cut = clustered.limited(middle - half, middle + half, limits)
    details = {**base.details, "df": df, "standard_error": error}
    interval = base.but(ci_low=low, ci_high=high, notes=cut, details=details)
    if null is None:
        return interval
    scale = float(np.sqrt(null * (1 - null) / spread)) if share else 1.0
    if not scale:  # some were won and some lost: a share of 0 or 1 is impossible
        return interval.but(statistic=None, p_value=0.0)
    t = (estimate - null) / (error * scale)
    return interval.but(statistic=t, p_value=float(2 * stdtr(df, -abs(t))))


def _without_variance(
    by_worker: Result, clusterings: Sequence[Codes], weights: Floats, null: float | None, least: float, *, share: bool
) -> Result:
    """Nothing differs. Where all was won, or all lost, the fewer of workers and dialogues count, one answer each."""
    estimate = by_worker.estimate or 0.0
    fewest = min(range(len(clusterings)), key=lambda place: int(clusterings[place].max()))
    if not share or null is None or fewest == 0 or 1e-9 < estimate < 1 - 1e-9:
        return clustered.not_below(by_worker.but(method=f"{clustered.EXACT_FLIPS}, {OF_BOTH}"), least, null)
    sums = clustered.cluster_sums(round(estimate) * weights, weights, clusterings[fewest])
    return clustered.clustered_share(sums, name=by_worker.name, null=null, level=by_worker.level, cluster="dialogue")


def is_by_both(result: Result) -> bool:
    """Whether the test of ``result`` is by rater and dialogue, or question."""
    return in_words(OF_BOTH, shared_by(result)) in result.method


def shared_by(*results: Result) -> str:
    """The second cluster of answers in these tests: the dialogue, or the question."""
    return QUESTION if any(QUESTION in result.method for result in results) else "dialogue"


def in_words(said: str, shared: str = QUESTION) -> str:
    """Change words about dialogues to words about ``shared``."""
    others = "dialogues of the same models" if shared == QUESTION else "dialogues"
    return said.replace(others, f"{shared}s").replace("dialogue", shared)


def of_questions(result: Result) -> Result:
    """``result`` with words about questions instead of dialogues."""
    words = {name: tuple(map(in_words, getattr(result, name))) for name in ("assumptions", "notes")}
    return result.but(method=in_words(result.method), **words)


def about_words(n: int) -> str:
    """The words for an answer from few dialogues."""
    these = f"these {n:,} dialogues" if n > 1 else "this one dialogue"
    return f"{ABOUT_THESE} {these}: with other dialogues of the same models, it might be different"


def _codes(clusters: npt.ArrayLike) -> Codes:
    codes, _ = pd.factorize(np.asarray(clusters, dtype=object))
    return np.asarray(codes, dtype=np.intp)


def _common(clusterings: Sequence[Codes]) -> Codes:
    first, *others = clusterings
    for other in others:
        codes, _ = pd.factorize(first * (other.max() + 1) + other)
        first = np.asarray(codes, dtype=np.intp)
    return first


def _inside(inner: Codes, outer: Codes) -> bool:
    return bool(_common([inner, outer]).max() == inner.max())


def _covariances(influence: Floats, codes: Codes) -> Floats:
    totals = cluster_totals(influence, codes)
    groups = totals.shape[1]
    return np.asarray(groups / max(1, groups - 1) * totals @ totals.T)
