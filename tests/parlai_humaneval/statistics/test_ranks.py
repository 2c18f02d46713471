"""Rank ranges of bootstraps, and clusters of overlapping ones: the reference, plain counterparts, symmetry."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from parlai_humaneval.statistics.core.ranks import rank_clusters, rank_range, rank_range_shortest, ranks_of

RANKS = st.lists(st.integers(1, 6), min_size=1, max_size=80)
RANGES = st.dictionaries(
    st.sampled_from("abcdefg"), st.tuples(st.integers(1, 9), st.integers(0, 4)).map(lambda p: (p[0], p[0] + p[1]))
)


def test_reference(gold_cases):
    """The published cases of central range, shortest range and clusters."""
    functions = {"rank_range": rank_range, "rank_range_shortest": rank_range_shortest, "clusters": rank_clusters}
    cases = [case for case in gold_cases if case["function"] in functions]
    assert len(cases) >= 6
    for case in cases:
        found = functions[case["function"]](*case["args"])
        assert (list(found) if isinstance(found, tuple) else found) == case["expected"]


def test_the_central_range_cuts_both_ends():
    """Of 40 ranks one is cut from each end, of 39 none; rounding of 1 − .9 must not cost one."""
    ranks = [1] + [2] * 38 + [9]
    assert rank_range(ranks) == (2, 2)
    assert rank_range(ranks[1:]) == (2, 9)
    assert rank_range([1] + [2] * 18 + [9], 0.9) == (2, 2)


def test_without_ranks_there_is_no_range():
    """No resamples: nothing is claimed; missing values are refused."""
    assert rank_range([]) is None
    assert rank_range_shortest([]) is None
    with pytest.raises(ValueError, match="missing values"):
        rank_range([1.0, float("nan")])
    with pytest.raises(ValueError, match="level 95"):
        rank_range([1, 2], 95)


@settings(max_examples=150, deadline=None)
@given(RANKS, st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_the_shortest_range_is_that_of_trying_all(ranks, level):
    """All ranges that hold enough, the shortest, and of these the best."""
    counts, enough = Counter(ranks), level * len(ranks) - 1e-9
    holding = [
        (high - low, low, high)
        for low in range(1, 7)
        for high in range(low, 7)
        if sum(counts[rank] for rank in range(low, high + 1)) >= enough
    ]
    assert rank_range_shortest(ranks, level) == min(holding)[1:]


@settings(max_examples=100, deadline=None)
@given(RANKS)
def test_both_ranges_hold_enough_and_mirror(ranks):
    """At least 95 % of the resamples lie inside; turned round, the central range turns with them."""
    for low, high in (rank_range(ranks), rank_range_shortest(ranks)):
        assert np.mean([low <= rank <= high for rank in ranks]) >= 0.95 - 1e-9
    low, high = rank_range(ranks)
    assert rank_range([7 - rank for rank in ranks]) == (7 - high, 7 - low)


@settings(max_examples=150, deadline=None)
@given(RANGES, st.randoms())
def test_clusters_are_the_connected_parts(ranges, random):
    """As a walk over overlapping pairs finds them; the order in which models are given changes nothing."""

    def overlap(a, b):
        return ranges[a][0] <= ranges[b][1] and ranges[b][0] <= ranges[a][1]

    clusters = rank_clusters(ranges)
    assert sorted(name for own in clusters for name in own) == sorted(ranges)
    for own in clusters:
        reached = {own[0]}
        for _ in own:
            reached |= {name for name in ranges if any(overlap(name, other) for other in reached)}
        assert reached == set(own)
    lowest = [min(ranges[name][0] for name in own) for own in clusters]
    assert lowest == sorted(lowest), "best first"
    shuffled = list(ranges.items())
    random.shuffle(shuffled)
    assert rank_clusters(dict(shuffled)) == clusters


def test_a_range_that_ends_before_it_begins_is_refused():
    """The error names the model."""
    with pytest.raises(ValueError, match="'a' ends before"):
        rank_clusters({"a": (3, 1)})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=6))
def test_ranks_are_those_of_scipy(scores):
    """More is better, equal ones share the better rank, each replicate by itself."""
    expected = [rankdata([-score for score in row], method="min") for row in scores]
    assert ranks_of(scores).tolist() == np.array(expected, dtype=int).tolist()
