"""How far two runs of one study come to the same: scores of systems, and conclusions on pairs (Ji et al. 2022, §4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parlai_humaneval.statistics.core.correlation import Scores, correlation
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import wilson_interval

PairP = Mapping[tuple[str, str], float | None]
"""(A, B) → one-sided p that A is better than B."""
SOURCE = "Ji et al. 2022, §4.2"


def replication(first: Scores, second: Scores, criteria: Sequence[str] | None = None) -> dict[str, Result]:
    """Pearson's r, for each criterion, of the scores that two runs gave the same models.

    Args:
        first: model → criterion → score.
        second: the same of the other run; models of one run only are left out, and counted in ``details``.
        criteria: which; by default all that stand in ``first``, in their order.

    Raises:
        ValueError: the runs have no model in common.

    Near 1: the second run found what the first did. Assumes that the models are a draw of those one wants to speak
    about.

    Source: Ji et al. 2022, §4.2 and Table 4.

    >>> first = {'a': {'fun': 1.0}, 'b': {'fun': 2.0}, 'c': {'fun': 3.0}}
    >>> second = {'a': {'fun': 1.2}, 'b': {'fun': 1.9}, 'c': {'fun': 3.3}}
    >>> round(replication(first, second)['fun'].estimate, 3)
    0.982
    """
    models = [model for model in first if model in second]
    if not models:
        raise ValueError(
            f"the runs have no model in common: {', '.join(first) or 'none'} against {', '.join(second) or 'none'}"
        )
    names = (
        list(criteria) if criteria is not None else list(dict.fromkeys(c for scores in first.values() for c in scores))
    )
    alone = len(set(first) ^ set(second))
    results = {}
    for name in names:
        x, y = ([run[model].get(name) for model in models] for run in (first, second))
        result = correlation(x, y, name=f"replication of {name}")
        results[name] = result.but(source=SOURCE, details={"models_of_one_run_only": alone})
    return results


def same_conclusions(first: PairP, second: PairP, alpha: float = 0.05) -> Result:
    """Share of pairs of models on which both runs conclude the same: A is better, B is better, or neither.

    ``first``, ``second``: one-sided p-values of both directions of every pair, as a significance matrix has them. A pair
    counts where both runs tested it; with both directions below ``alpha`` the smaller p decides.

    Raises:
        ValueError: ``alpha`` is not between 0 and 1.

    1: both runs tell the same. Pairs share models, so that the interval, which takes them as independent, is too
    narrow.

    Assumes, for the interval, that pairs are independent.

    Source: Ji et al. 2022, §4.2.

    >>> first, second = {('a', 'b'): 0.01, ('b', 'a'): 0.99}, {('a', 'b'): 0.03, ('b', 'a'): 0.97}
    >>> same_conclusions(first, second).estimate
    1.0
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha}: expected more than 0 and less than 1")
    concluded, concluded_again = _conclusions(first, alpha), _conclusions(second, alpha)
    pairs = sorted(set(concluded) & set(concluded_again))
    same = sum(concluded[pair] == concluded_again[pair] for pair in pairs)
    low, high = wilson_interval(same, len(pairs)) or (None, None)
    return Result(
        name=f"pairs with the same conclusion at p < {alpha:g}",
        estimate=same / len(pairs) if pairs else None,
        ci_low=low,
        ci_high=high,
        n=len(pairs),
        method="share of pairs, Wilson interval",
        assumptions=("pairs are independent of each other (they share models, so that the interval is too narrow)",),
        source=SOURCE,
        notes=() if pairs else ("no pair was tested in both runs: nothing can be estimated",),
        details={"alpha": alpha, "same": same},
    )


def _conclusions(matrix: PairP, alpha: float) -> dict[tuple[str, str], str]:
    """Unordered pair → the better model, or "" where neither is; pairs without a p-value are left out."""
    conclusions = {}
    for a, b in {(min(pair), max(pair)) for pair in matrix}:
        ps = [(p, name) for name, other in ((a, b), (b, a)) if (p := matrix.get((name, other))) is not None]
        if ps and a != b:
            p, better = min(ps)
            conclusions[a, b] = better if p < alpha else ""
    return conclusions
