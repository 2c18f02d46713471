"""The probability of superiority is one number, whatever a technique asks; and when a clustered p may be the smaller one."""

from __future__ import annotations

import numpy as np
import pytest

from parlai_humaneval.statistics.core.clustered import (
    P_LESS,
    RATIO,
    agreement_shown,
    cluster_sums,
    clustered_share,
    with_dispersion,
)
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.win_rates import (
    complement,
    effective_win_rate,
    effective_win_test,
    paired_superiority,
    superiority_of_difference,
)

RESULT = Result(name="by hand", n=0, method="by hand")


def test_ties_count_half():
    """3 wins, 2 ties and 1 loss of 6: (3 + 1) / 6, whatever the size of the gaps."""
    found = paired_superiority([2, 0.1, 5, 0, 0, -7], list("abcdef"))
    assert found.estimate == pytest.approx(4 / 6)
    assert found.n == 6
    assert found.ci_low < found.estimate < found.ci_high


def test_an_answer_that_lacks_does_not_count():
    assert paired_superiority([1, np.nan, -1, 1], list("abcd")).n == 3


def test_nothing_decided_is_one_half():
    found = paired_superiority([0, 0, 0, 0], list("aabc"))
    assert (found.estimate, found.p_value) == (0.5, 1.0)
    nothing = paired_superiority([], [])
    assert (nothing.estimate, nothing.p_value) == (None, 1.0)


def picks(seed=0, n=240, workers=20):
    """Turns that show two models, of which any may be picked; and who picked."""
    rng = np.random.default_rng(seed)
    return rng.random((n, 2)) < (0.6, 0.4), np.repeat(np.arange(workers), n // workers)


def test_turns_and_pairs_agree():
    """Of turns the same by the difference of their rates as by who was picked alone."""
    chosen, workers = picks()
    gaps = chosen[:, 0].astype(float) - chosen[:, 1]
    by_turns = superiority_of_difference(clustered_mean(gaps, workers, null=0, limits=(-1, 1)))
    by_pairs = paired_superiority(gaps, workers)
    assert by_turns.estimate == pytest.approx(by_pairs.estimate)
    assert by_turns.p_value == pytest.approx(by_pairs.p_value, abs=0.01)
    assert (by_turns.ci_low, by_turns.ci_high) == pytest.approx((by_pairs.ci_low, by_pairs.ci_high), abs=0.01)


def test_ticks_and_all_pairs_agree():
    """Of ticks of single replies ½ plus half of the difference of rates is the effective win rate over all pairs."""
    chosen, workers = picks()
    a, b = chosen.astype(float).T
    by_rates = superiority_of_difference(clustered_difference(a, workers, b, workers, limits=(-1, 1)))
    assert by_rates.estimate == pytest.approx(effective_win_rate(a, b))
    by_ranks = effective_win_test(a, workers, b, workers)
    assert (by_rates.ci_low, by_rates.ci_high) == pytest.approx((by_ranks.ci_low, by_ranks.ci_high))


def test_the_other_model_has_the_rest():
    """The interval is turned round, the test is the same."""
    first = paired_superiority([1, 1, 0, -1, 1, 1, 0, 1], list("aabbccdd"))
    second = paired_superiority([-1, -1, 0, 1, -1, -1, 0, -1], list("aabbccdd"))
    other = complement(first)
    for name in ("estimate", "ci_low", "ci_high", "p_value"):
        assert getattr(other, name) == pytest.approx(getattr(second, name)), name


def test_independent_answers_have_a_dispersion_of_one():
    """On average; and it is called smaller in about a twentieth of studies, not in half of them."""
    rng = np.random.default_rng(0)
    workers = np.repeat(np.arange(30), 10)
    found = [with_dispersion(RESULT, rng.random(300) < 0.6, workers) for _ in range(400)]
    assert np.mean([one.details[RATIO] for one in found]) == pytest.approx(1.0, abs=0.03)
    assert np.mean([agreement_shown(one) for one in found]) < 0.08
    assert np.mean([one.details[P_LESS] < 0.5 for one in found]) > 0.4


def test_workers_who_give_both_the_same_are_shown():
    """Who always splits 5 : 5 differs from nobody; a hundred turns of each two-sided worker differ a lot."""
    workers = np.repeat(np.arange(20), 10)
    split = with_dispersion(RESULT, np.tile([1, 0], 100), workers)
    assert split.details[RATIO] < 0.01
    assert agreement_shown(split)
    loyal = with_dispersion(RESULT, np.repeat([1, 0], 100), workers)
    assert loyal.details[RATIO] > 5
    assert not agreement_shown(loyal)


def test_strict_raters_of_both_models_are_shown():
    """Ratings of two models by the same workers, who differ in level: the difference is known better than it seems."""
    rng = np.random.default_rng(2)
    level, workers = rng.normal(size=40), np.arange(40)
    a, b = level + 0.3 * rng.normal(size=40), level + 0.3 * rng.normal(size=40)
    assert agreement_shown(with_dispersion(RESULT, a, workers, b, workers))
    assert not agreement_shown(with_dispersion(RESULT, a, workers, b, workers + 40)), "other raters each"


def test_too_little_says_nothing():
    """Two workers, no answers, or no variation."""
    for values, workers in (([1, 0], ["a", "b"]), ([], []), ([1, 1, 1], ["a", "b", "c"])):
        assert with_dispersion(RESULT, values, workers).details == {}
    share = clustered_share(cluster_sums([1, 0, 1], [1, 1, 1], list("abc")))
    assert not agreement_shown(share)
