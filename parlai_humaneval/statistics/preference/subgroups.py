"""Win rates of two models by a grouping of the study, and whether they differ between its groups at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.core import clustered
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import FAMILY, Column, Count, Estimate, Row, p_columns
from parlai_humaneval.statistics.core.sign_flip import SOURCE as FLIPS_SOURCE
from parlai_humaneval.statistics.core.sign_flip import joint_sign_flip_p

SOURCE = f"Gail & Simon 1985 (interaction of subgroups); {FLIPS_SOURCE}"
FEWEST, MOST_GROUPS, MOST_PAIRS = 10, 12, 10
"""A group with fewer decided answers, or fewer than three raters, is left out. So many groups and pairs are compared."""


class GroupRate(Row):
    """How often A won in one group (``value``) of a column, of decided answers; interval by rater, not corrected."""

    by: Annotated[str, Column("By")]
    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    value: Annotated[str, Column("Group")]
    wins_a: Count
    wins_b: Count
    ties: Count
    win_rate: Annotated[Result, Estimate("Win rate of A", "share", name="win_rate_a", ends="ci")]
    n_workers: Annotated[int, Column()]


class GroupTest(Row):
    """Whether A's win rate over B is the same in all ``groups`` of a column; ``left_out``: answers of smaller groups."""

    by: Annotated[str, Column("By")]
    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    groups: Annotated[int, Column("Groups")]
    left_out: Annotated[int, Column("Answers left out")]
    test: Annotated[
        Result,
        Column("Decided", "count", name="n", path="n"),
        Column(name="statistic", path="statistic"),
        p_columns("p_value", "p_value", "p, same rate in all", "p, same rate in all, Holm", "p_decides"),
        FAMILY,
    ]


def equal_in_groups(won: npt.ArrayLike, groups: npt.ArrayLike, workers: npt.ArrayLike) -> Result:
    """Test that a share is the same in all groups: the interaction of who is compared with where.

    Args:
        won: per decided answer, 1 the first won, 0 the second.
        groups: per answer, its group.
        workers: per answer, who gave it.

    The statistic is the sum over groups of n · (share − share of all)². p is the share of assignments of signs to raters
    whose sums are as long. A small p says that some groups differ, not which; it does not make the best group a finding.

    Raises:
        ValueError: lists of unequal length.

    Assumes that raters are independent; one may answer in several groups. Source: ``SOURCE``.

    >>> won, groups = [1, 1, 1, 0, 0, 0] * 8, ['art', 'art', 'art', 'law', 'law', 'law'] * 8
    >>> print(equal_in_groups(won, groups, [i // 6 for i in range(48)]))
    same win rate in 2 groups: –, statistic 12.000, p = .008, n = 48 [joint sign-flip test, clustered by rater]
    """
    x = np.asarray(won, dtype=float)
    of_group, names = pd.factorize(np.asarray(groups, dtype=object), sort=True)
    of_worker, raters = pd.factorize(np.asarray(workers, dtype=object))
    if not len(x) == len(of_group) == len(of_worker):
        raise ValueError("won, groups and raters must be lists of the same length, one entry per answer")
    how = f"joint {clustered.FLIPPED}, clustered by rater", SOURCE, clustered.independent()
    base = Result.by(*how, name=f"same win rate in {len(names)} groups", n=len(x), details={"n_workers": len(raters)})
    if len(names) < 2:
        return base.but(p_value=1.0 if len(x) else None, notes=("nothing to compare",))
    if len(raters) < clustered.MIN_CLUSTERS:
        return base.but(notes=(clustered.too_few_clusters(),))
    sizes = np.bincount(of_group).astype(float)
    deviations = np.zeros((len(raters), len(names)))
    np.add.at(deviations, (of_worker, of_group), x - x.mean())
    # Each rater moves the rate of a group against that of all, which moves with it.
    parts = (deviations / sizes - deviations.sum(axis=1, keepdims=True) / len(x)) * np.sqrt(sizes)
    return base.but(
        statistic=float((parts.sum(axis=0) ** 2).sum()),
        p_value=joint_sign_flip_p(parts),
        notes=clustered.small_sample_notes(len(raters), "worker", np.bincount(of_worker)),
    )


def group_rates(
    pairs: pd.DataFrame, values: npt.ArrayLike, by: str, *, level: float = 0.95
) -> tuple[list[GroupRate], list[GroupTest]]:
    """Win rates of every pair of models in each group of ``values``, and the test whether they are the same in all.

    ``pairs``: as :func:`.paired_answers` gives them; ``values``: the group of each, None where it has none; ``by``: their
    name. Pairs of models with the most answers come first, at most ``MOST_PAIRS``; one with fewer than two groups large
    enough is left out.
    """
    rates: list[GroupRate] = []
    tests: list[GroupTest] = []
    rows = pairs.assign(value=np.asarray(values, dtype=object))
    for (a, b), own in sorted(rows.groupby(["model_a", "model_b"]), key=lambda item: (-len(item[1]), item[0])):
        names = {"by": by, "model_a": str(a), "model_b": str(b)}
        large = _large(own)
        if len(tests) == MOST_PAIRS or not 1 < len(large) <= MOST_GROUPS:
            continue
        kept = pd.concat(list(large.values()))
        decided = kept[kept["outcome"] != 0]
        test = equal_in_groups(decided["outcome"] > 0, decided["value"], decided["worker_id"])
        tests.append(GroupTest(**names, groups=len(large), left_out=len(own) - len(kept), test=test))
        rates += [rate for value, of in large.items() for rate in _rates(of, str(value), names, level)]
    return rates, tests


def most_groups(pairs: pd.DataFrame, values: npt.ArrayLike) -> int:
    """How many groups are large enough, of the two models that have most of them."""
    rows = pairs.assign(value=np.asarray(values, dtype=object))
    return max((len(_large(own)) for _, own in rows.groupby(["model_a", "model_b"])), default=0)


def _large(rows: pd.DataFrame) -> dict[object, pd.DataFrame]:
    return {
        value: of
        for value, of in rows.groupby("value", sort=True)
        if (of["outcome"] != 0).sum() >= FEWEST and of["worker_id"].nunique() >= clustered.MIN_CLUSTERS
    }


def _rates(rows: pd.DataFrame, value: str, names: dict[str, str], level: float) -> Iterator[GroupRate]:
    outcome = rows["outcome"].to_numpy()
    sums = clustered.cluster_sums(outcome > 0, outcome != 0, rows["worker_id"])
    yield GroupRate(
        **names,
        value=value,
        wins_a=int((outcome > 0).sum()),
        wins_b=int((outcome < 0).sum()),
        ties=int((outcome == 0).sum()),
        win_rate=clustered.clustered_share(sums, name=f"win rate in {value}", level=level),
        n_workers=int(rows["worker_id"].nunique()),
    )
