"""Arguments that cannot be are refused in words that say what to give, and never come back as a number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from parlai_humaneval.statistics.core.clustered import cluster_bootstrap, cluster_sums, clustered_share
from parlai_humaneval.statistics.core.clustering_effects import intraclass_correlation
from parlai_humaneval.statistics.core.means import (
    clustered_difference,
    clustered_mean,
    crossed_difference,
    crossed_mean,
)
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import binomial_test, wald_interval, wilson_interval
from parlai_humaneval.statistics.core.two_way import crossed_share, two_way_share
from parlai_humaneval.statistics.preference.tests import mcnemar_test
from parlai_humaneval.statistics.ranking.order import best_of_means, best_set

WORKERS = list("aabbccddeeffgg")
DIALOGUES = list("uvwxyz" * 2 + "uv")
WON = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0] * 2
ONES = [1.0] * 14
SUMS = cluster_sums(WON, ONES, WORKERS)
LEVELS: dict[str, Callable[[float], object]] = {
    "clustered_share": lambda level: clustered_share(SUMS, level=level),
    "clustered_mean": lambda level: clustered_mean(WON, WORKERS, level=level),
    "clustered_difference": lambda level: clustered_difference(WON, WORKERS, ONES, WORKERS, level=level),
    "crossed_share": lambda level: crossed_share(WON, ONES, WORKERS, [DIALOGUES], level=level),
    "crossed_mean": lambda level: crossed_mean(WON, WORKERS, DIALOGUES, level=level),
    "crossed_difference": lambda level: crossed_difference(
        WON, WORKERS, DIALOGUES, ONES, WORKERS, DIALOGUES, level=level
    ),
    "two_way_share": lambda level: two_way_share(WON, ONES, WORKERS, DIALOGUES, level=level),
    "best_set": lambda level: best_set([0.6, 0.4], np.zeros((7, 2)), np.ones(7), level=level),
    "best_of_means": lambda level: best_of_means(WON, ["x", "y"] * 7, WORKERS, level=level),
    "cluster_bootstrap": lambda level: cluster_bootstrap(SUMS, seed=0, level=level),
    "wilson_interval": lambda level: wilson_interval(3, 10, level),
    "wald_interval": lambda level: wald_interval(0, 0, level),
    "binomial_test": lambda level: binomial_test(3, 10, level=level),
    "intraclass_correlation": lambda level: intraclass_correlation(WON, WORKERS, level=level),
}
SHARES: dict[str, Callable[[float], Result]] = {
    "clustered_share": lambda null: clustered_share(SUMS, null=null),
    "crossed_share": lambda null: crossed_share(WON, ONES, WORKERS, [DIALOGUES], null=null),
    "two_way_share": lambda null: two_way_share(WON, ONES, WORKERS, DIALOGUES, null=null),
    "clustered_mean": lambda null: clustered_mean(WON, WORKERS, null=null, limits=(0.0, 1.0)),
    "crossed_mean": lambda null: crossed_mean(WON, WORKERS, DIALOGUES, null=null, limits=(0.0, 1.0)),
}


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("level", [95, 1.0, 0.0, -0.5, math.nan])
def test_a_level_is_a_share(name: str, level: float) -> None:
    """Guards that 95 is not taken for a coverage, of which the interval was nan."""
    with pytest.raises(ValueError, match=r"a 95 % interval is level=0\.95"):
        LEVELS[name](level)


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("null", [2.0, -0.1, math.nan, math.inf])
def test_a_hypothesis_is_possible(name: str, null: float) -> None:
    """Guards that a share of 2, or nan, is not tested: p was 1 or nan."""
    with pytest.raises(ValueError, match="null"):
        SHARES[name](null)


@pytest.mark.parametrize("name", SHARES)
def test_a_share_of_0_may_be_asked_about(name: str) -> None:
    """Guards the ends of what is possible: where some were won, a share of 0 is excluded, without an error."""
    p = SHARES[name](0.0).p_value
    assert p is not None
    assert p < 0.05


def test_a_mean_has_the_limits_it_is_given() -> None:
    """Guards that any finite mean may be tested where there are no limits, and a nan never."""
    assert clustered_mean(WON, WORKERS, null=-3).p_value is not None
    with pytest.raises(ValueError, match="finite"):
        clustered_mean(WON, WORKERS, null=math.nan)


def test_a_share_is_a_part_of_the_whole() -> None:
    """Guards that 15 of 10 is refused: it came back as a share of 1.5."""
    with pytest.raises(ValueError, match="is not a share"):
        clustered_share(cluster_sums([3, 0] * 5, [1] * 10, list("aabbccddee")))
    with pytest.raises(ValueError, match="is not a share"):
        crossed_share([-1.0] * 14, ONES, WORKERS, [DIALOGUES])
    with pytest.raises(ValueError, match="is not a share"):
        two_way_share([2.0] * 14, ONES, WORKERS, DIALOGUES)


def test_counts_are_not_negative() -> None:
    """Guards the words where not all turns are given: “of None turns” says nothing."""
    with pytest.raises(ValueError, match="-1 and 2 turns: expected counts from 0"):
        mcnemar_test(-1, 2)
    with pytest.raises(ValueError, match="3 and 2 of 4 turns"):
        mcnemar_test(3, 2, n=4)
