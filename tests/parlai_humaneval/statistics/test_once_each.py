"""Every worker counts once: the same estimators on the means of workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.means import (
    clustered_difference,
    clustered_mean,
    crossed_difference,
    crossed_mean,
)
from parlai_humaneval.statistics.core.multiplicity import (
    corrected,
    counts_matter,
    once_each_of,
    rescaled,
    with_once_each,
)
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import crossed_share


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0]), min_size=1, max_size=6),
        min_size=6,
        max_size=10,
    )
)
def test_it_is_the_estimate_of_the_workers_means(ratings):
    """With as many answers as they like, each worker adds one mean; dialogues of their own change nothing."""
    values = np.concatenate([np.array(own) for own in ratings])
    workers = np.repeat(np.arange(len(ratings)), [len(own) for own in ratings])
    means = [float(np.mean(own)) for own in ratings]
    expected = clustered_mean(means, range(len(means)), null=2.5)
    for found in (
        clustered_mean(values, workers, null=2.5, once=True),
        crossed_mean(values, workers, np.arange(len(values)), null=2.5, once=True),
    ):
        assert found.estimate == pytest.approx(float(np.mean(means)))
        assert found.p_value == pytest.approx(expected.p_value)
        assert (found.ci_low, found.ci_high) == pytest.approx((expected.ci_low, expected.ci_high), nan_ok=True)


def _worker_means(values, workers):
    return np.array([values[workers == worker].mean() for worker in np.unique(workers)])


def test_shares_and_differences():
    """Of shares the mean share; of differences that of the means; with dialogues, by both."""
    won, workers = np.array([1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0.0]), np.array([*"aaaabcdefgh", "i"])
    shares = _worker_means(won, workers)
    found = crossed_share(won, np.ones(12), workers, [np.arange(12)], once=True)
    assert found.estimate == pytest.approx(shares.mean())
    assert found.p_value == clustered_share(cluster_sums(shares, np.ones(9), range(9))).p_value
    a, b = np.arange(24) % 5.0, np.arange(24) % 3.0
    of_a, of_b = np.arange(24) ** 2 % 7, np.arange(24) % 6
    gap = clustered_difference(a, of_a, b, of_b, once=True)
    assert gap.estimate == pytest.approx(_worker_means(a, of_a).mean() - _worker_means(b, of_b).mean())
    dialogues = np.arange(24) % 4
    by_both = crossed_difference(a, of_a, dialogues, b, of_b, dialogues + 4, once=True)
    assert by_both.estimate == pytest.approx(gap.estimate)
    assert by_both.details["p_by_worker"] == gap.p_value


def test_equal_workers_have_one_answer():
    """With as many answers of each worker the two do not differ, by worker and dialogue either."""
    workers, dialogues = (of.ravel() for of in np.indices((8, 10)))
    ratings = np.random.default_rng(0).integers(1, 6, 80).astype(float)
    found = with_once_each(crossed_mean, ratings, workers, dialogues, null=3.0)
    once = once_each_of(found)
    assert (once.estimate, once.p_decides) == (pytest.approx(found.estimate), pytest.approx(found.p_value))
    assert not counts_matter(found)


def _answer(estimate, p, once, p_once):
    details = {"null": 0.5, "per_worker": once, "p_per_worker": p_once}
    return Result(name="share", estimate=estimate, p_value=p, n=40, method="by hand", details=details)


@pytest.mark.parametrize(
    ("answer", "matters"),
    [
        (_answer(0.7, 0.01, 0.6, 0.2), True),
        (_answer(0.6, 0.2, 0.7, 0.01), True),
        (_answer(0.7, 0.01, 0.3, 0.01), True),
        (_answer(0.7, 0.01, 0.6, 0.04), False),
        (_answer(0.55, 0.4, 0.45, 0.4), False),
        (_answer(0.7, None, 0.6, 0.04), False),
        (_answer(0.7, 0.01, 0.6, 0.04).but(details={}), False),
    ],
)
def test_when_it_matters(answer, matters):
    """Only one answer is significant, or both are, on different sides of one half."""
    assert counts_matter(answer) is matters


def test_it_is_corrected_over_the_same_family():
    """Two tests of a family: both p are doubled, and both decide."""
    first, second = corrected([_answer(0.7, 0.02, 0.6, 0.03), _answer(0.6, 0.03, 0.6, 0.5)])
    assert (first.p_holm, once_each_of(first).p_decides) == (0.04, 0.06)
    assert once_each_of(second).p_decides == 0.5
    assert counts_matter(first)
    assert rescaled(first, lambda share: 2 * share - 1).details["per_worker"] == pytest.approx(0.2)
