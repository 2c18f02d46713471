"""The papers' tests of turns and their clustered companions, all models and pairs; and without each model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.clustered import cluster_sums, sign_flip_p
from parlai_humaneval.statistics.core.means import clustered_mean, t_test
from parlai_humaneval.statistics.core.multiplicity import Family, holm
from parlai_humaneval.statistics.core.shares import binomial_p
from parlai_humaneval.statistics.leads import leave_one_out
from parlai_humaneval.statistics.preference.tests import (
    compare_choices,
    compare_singles,
    compare_with_baseline,
    equal_rates_test,
    goodness_of_fit_test,
    holm_corrected,
    mcnemar_test,
)

MODELS = ["a", "b", "c", "d"]


def study(rng, rates, workers=40, turns=10, taste=0.0):
    """Any number picked: turns × models and workers; ``taste``: SD of each worker's liking of each model, in logits."""
    logits = np.log(np.array(rates) / (1 - np.array(rates)))
    own = logits + rng.normal(0, taste, (workers, len(rates)))
    chance = (1 / (1 + np.exp(-own))).repeat(turns, axis=0)
    return (rng.random(chance.shape) < chance).astype(float), np.arange(workers).repeat(turns)


def picks(rng, n, shares):
    chosen = np.zeros((n, len(shares)))
    chosen[np.arange(n), rng.choice(len(shares), n, p=shares)] = 1
    return chosen


def test_exact_and_mid_p_of_the_reference(gold_cases):
    """Of splits both even and uneven, and of none."""
    for case in [case for case in gold_cases if case["function"] == "mcnemar"]:
        details = mcnemar_test(*case["args"]).details
        expected = case["expected"]
        assert details["p_exact"] == pytest.approx(expected["p_exact"], abs=1e-9)
        assert details["p_mid"] == pytest.approx(expected["p_mid"], abs=1e-9)


def test_exact_and_mid_p_by_hand():
    """3 against 1: chances 4/16 and 1/16 on each side, so 10/16, and 6/16 less the split's own 4/16; even: 1 − half."""
    assert mcnemar_test(3, 1).details["p_exact"] == pytest.approx(10 / 16)
    assert mcnemar_test(3, 1).details["p_mid"] == pytest.approx(6 / 16)
    assert mcnemar_test(1, 1).details["p_mid"] == pytest.approx(1 - 0.5 / 2)
    assert mcnemar_test(0, 0).details["p_exact"] == mcnemar_test(0, 0).details["p_mid"] == 1


@settings(deadline=None, max_examples=60)
@given(b=st.integers(0, 60), c=st.integers(0, 60))
def test_exact_mcnemar_is_that_of_statsmodels(b, c):
    """Also symmetric, and mid-p never above the exact p."""
    from statsmodels.stats.contingency_tables import mcnemar

    details = mcnemar_test(b, c).details
    if b + c:
        assert details["p_exact"] == pytest.approx(mcnemar([[0, b], [c, 0]], exact=True).pvalue)
    assert details["p_mid"] <= details["p_exact"] <= 1
    assert details["p_mid"] == pytest.approx(mcnemar_test(c, b).details["p_mid"])


def test_fit_to_given_shares_is_that_of_scipy():
    """Not only to equal ones; shares that are none are refused."""
    from scipy.stats import chisquare

    shares = [0.4, 0.3, 0.2, 0.1]
    expected = chisquare([122, 83, 118, 109], np.array(shares) * 432)
    got = goodness_of_fit_test([122, 83, 118, 109], shares)
    assert (got.statistic, got.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert "given" in got.method
    for wrong in ([0.5, 0.5], [0.5, 0.5, 0.0, 0.0], [0.5, 0.3, 0.3, 0.3]):
        with pytest.raises(ValueError, match="above 0 whose sum is 1"):
            goodness_of_fit_test([1, 2, 3, 4], wrong)
    with pytest.raises(ValueError, match="none below 0"):
        goodness_of_fit_test([1, -2])


def test_impossible_counts_and_choices_are_refused():
    """Each names what was expected."""
    with pytest.raises(ValueError, match="counts from 0"):
        mcnemar_test(-1, 3)
    with pytest.raises(ValueError, match="at most all"):
        mcnemar_test(5, 3, n=7)
    with pytest.raises(ValueError, match="nothing else"):
        compare_choices([[2, 0]], ["a", "b"], ["w"], one_pick=False)
    with pytest.raises(ValueError, match="models"):
        compare_choices([[1, 0]], ["a", "b", "c"], ["w"], one_pick=False)
    with pytest.raises(ValueError, match="one rater per turn"):
        equal_rates_test([[1, 0]], ["w", "v"])


@pytest.mark.parametrize(
    ("k", "n", "different"),
    [(123, 199, True), (123, 198, True), (120, 197, True)],
)
def test_pairs_that_liu_marks_with_one_pick(k, n, different):
    """Liu et al. 2023, Table 3, SOBA: 62 % of 199, 62 % of 198, 61 % of 197 turns."""
    chosen = np.zeros((n, 2))
    chosen[:k, 0] = chosen[k:, 1] = 1
    (test,) = compare_choices(chosen, ["base", "other"], np.arange(n), one_pick=True)
    assert (test.paper.p_value < 0.05) is different
    assert test.paper.p_value == binomial_p(k, n)
    assert test.clustered.estimate == pytest.approx((2 * k - n) / n)


@pytest.mark.parametrize(
    ("n", "a", "b", "tie_win", "tie_loss", "different"),
    [
        (667, 0.58, 0.48, 0.10, 0.05, True),
        (667, 0.58, 0.46, 0.07, 0.03, True),
        (671, 0.57, 0.51, 0.14, 0.06, False),
        (671, 0.54, 0.48, 0.06, 0.04, False),
        (671, 0.57, 0.45, 0.08, 0.06, True),
        (668, 0.57, 0.45, 0.11, 0.09, True),
    ],
)
def test_pairs_that_liu_marks_with_any_number_picked(n, a, b, tie_win, tie_loss, different):
    """Table 3, SATA: turns with the printed ties and gap; McNemar's χ² without correction finds their asterisks."""
    both, neither = round(n * tie_win), round(n * tie_loss)
    decided = n - both - neither
    only_a = round((decided + n * (a - b)) / 2)
    chosen = np.zeros((n, 2))
    chosen[:both] = 1
    chosen[both : both + only_a, 0] = 1
    chosen[both + only_a : both + decided, 1] = 1
    (test,) = compare_choices(chosen, ["base", "other"], np.arange(n), one_pick=False)
    assert (test.paper.p_value < 0.05) is different
    # One turn a worker: the clustered test is all but McNemar's.
    assert (test.clustered.p_value < 0.05) is different


def test_all_models_then_pairs_with_holm():
    """Six pairs after Cochran's Q, each as alone; corrected among themselves, all of them at once not."""
    chosen, workers = study(np.random.default_rng(1), [0.6, 0.45, 0.5, 0.4])
    whole, *pairs = compare_choices(chosen, MODELS, workers, one_pick=False)
    assert (whole.of_pair, whole.models, whole.paper.p_holm) == (False, tuple(MODELS), None)
    assert [test.models for test in pairs][:2] == [("a", "b"), ("a", "c")]
    assert [test.paper.p_holm for test in pairs] == holm([test.paper.p_value for test in pairs])
    assert [test.clustered.p_holm for test in pairs] == holm([test.clustered.p_value for test in pairs])
    only_a, only_b = ((chosen[:, 0] > chosen[:, 1]).sum(), (chosen[:, 0] < chosen[:, 1]).sum())
    assert pairs[0].paper.p_value == mcnemar_test(int(only_a), int(only_b), n=400).p_value
    assert pairs[0].clustered.p_value == clustered_mean(chosen[:, 0] - chosen[:, 1], workers, null=0).p_value


def test_one_pick_of_four_is_pearson_then_binomials():
    """As printed in Table 4 of Liu et al. 2023: 28, 19, 27 and 25 % of 436 turns differ."""
    counts = [122, 83, 118, 109]
    chosen = np.repeat(np.eye(4), counts, axis=0)
    whole, first, *_ = compare_choices(chosen, MODELS, np.arange(432), one_pick=True)
    assert (whole.paper.statistic, whole.paper.p_value) == pytest.approx((8.537, 0.0361), abs=1e-3)
    assert first.paper.p_value == binomial_p(122, 205)


def test_equal_replies_are_no_single_pick():
    """Where two models said the same and it was picked, both are marked: that turn says nothing of all at once."""
    chosen = [[1, 1, 0]] * 4 + [[1, 0, 0], [0, 0, 1]]
    whole, ab, ac, _ = compare_choices(chosen, ["a", "b", "c"], range(6), one_pick=True)
    assert whole.paper.n == whole.clustered.n == 2
    assert whole.paper.statistic == goodness_of_fit_test([1, 0, 1]).statistic
    assert (ab.paper.n, ac.paper.n) == (1, 6)


def test_three_models_are_all_flips_of_the_workers():
    """The statistic is Cochran's Q of the library; p by enumeration of the signs of ten workers."""
    from statsmodels.stats.contingency_tables import cochrans_q

    chosen, workers = study(np.random.default_rng(6), [0.6, 0.45, 0.5], workers=10, taste=1)
    got = equal_rates_test(chosen, workers)
    assert got.statistic == pytest.approx(cochrans_q(chosen).statistic)
    sums = chosen.reshape(10, 10, 3).sum(axis=1)
    sums -= sums.mean(axis=1, keepdims=True)
    signs = np.array(list(itertools.product((1, -1), repeat=10)))
    lengths = ((signs @ sums) ** 2).sum(axis=1)
    assert got.p_value == pytest.approx((lengths >= (sums.sum(axis=0) ** 2).sum() - 1e-9).mean())


def test_turns_that_showed_not_all_models():
    """All at once rests on turns with all of them, a pair on turns with both."""
    nan = float("nan")
    chosen = [[1, 0, 0], [1, 0, nan], [0, 1, nan], [0, 0, 1], [nan, 1, 0]]
    whole, ab, ac, bc = compare_choices(chosen, ["a", "b", "c"], list("uvwxy"), one_pick=False)
    assert (whole.paper.n, ab.clustered.n, ac.clustered.n, bc.clustered.n) == (2, 4, 2, 3)
    assert (ab.paper.details["only_a"], ab.paper.details["only_b"]) == (2, 1)


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_two_models_are_the_test_of_their_difference(data):
    """All models at once, where they are two, is the pair."""
    n = data.draw(st.integers(8, 40))
    chosen = np.array(data.draw(st.lists(st.tuples(*[st.integers(0, 1)] * 2), min_size=n, max_size=n)), dtype=float)
    workers = np.arange(n) % 7
    whole, pair = equal_rates_test(chosen, workers), clustered_mean(chosen[:, 0] - chosen[:, 1], workers, null=0)
    assert whole.p_value == pytest.approx(pair.p_value, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), one_pick=st.booleans())
def test_swapped_models_and_shuffled_turns_give_the_same_tests(seed, one_pick):
    """The difference changes its sign and its ends; statistics and p-values stay."""
    rng = np.random.default_rng(seed)
    chosen, workers = study(rng, [0.6, 0.4], workers=6, turns=5)
    chosen = np.stack([chosen[:, 0], 1 - chosen[:, 0]], axis=1) if one_pick else chosen
    order = rng.permutation(len(chosen))
    (one,) = compare_choices(chosen, ["a", "b"], workers, one_pick=one_pick)
    (two,) = compare_choices(chosen[order][:, ::-1], ["b", "a"], workers[order], one_pick=one_pick)
    assert two.paper.p_value == pytest.approx(one.paper.p_value)
    assert two.clustered.estimate == pytest.approx(-one.clustered.estimate)
    if one.clustered.ci_low is not None:
        assert (two.clustered.p_value, two.clustered.ci_low) == pytest.approx(
            (one.clustered.p_value, -one.clustered.ci_high)
        )
    assert two.sign_flip_p == pytest.approx(one.sign_flip_p)


def test_which_model_comes_last_does_not_matter():
    """The test of all models is the same in any order of models and of turns."""
    rng = np.random.default_rng(2)
    chosen, workers = study(rng, [0.6, 0.45, 0.5, 0.4], taste=1)
    order = rng.permutation(len(chosen))
    got = equal_rates_test(chosen, workers)
    again = equal_rates_test(chosen[order][:, [3, 1, 0, 2]], workers[order])
    assert (again.statistic, again.p_value) == pytest.approx((got.statistic, got.p_value))


def test_all_at_once_holds_its_level_where_cochrans_q_does_not():
    """Workers who like a model all along: Q rejects a true null in far more than 5 %, the clustered test in about 5 %."""
    rng, studies = np.random.default_rng(0), 80  # .05 with an error of .024: .1 is beyond two, .15 beyond four
    paper = clustered = 0
    for _ in range(studies):
        chosen, workers = study(rng, [0.5] * 3, workers=40, turns=10, taste=1)
        test = compare_choices(chosen, MODELS[:3], workers, one_pick=False)[0]
        paper += test.paper.p_value < 0.05
        clustered += test.clustered.p_value < 0.05
    assert 0.01 <= clustered / studies <= 0.1
    assert paper / studies > 0.15


def test_few_workers_get_a_sign_flip_test():
    """From 3 to 9 workers; it is that of the worker's sums."""
    chosen, workers = study(np.random.default_rng(4), [0.7, 0.4], workers=6)
    (test,) = compare_choices(chosen, ["a", "b"], workers, one_pick=False)
    gaps = chosen[:, 0] - chosen[:, 1]
    assert test.sign_flip_p == sign_flip_p(cluster_sums(gaps, np.ones(60), workers), null=0)
    many, crowd = study(np.random.default_rng(4), [0.7, 0.4], workers=20)
    assert compare_choices(many, ["a", "b"], crowd, one_pick=False)[0].sign_flip_p is None


@pytest.mark.parametrize("one_pick", [True, False])
def test_edges_have_no_nan(one_pick):
    """No turns; one worker; all ties; two workers and four models: p = 1 or none, never nan, and a reason."""
    nothing = compare_choices([], MODELS, [], one_pick=one_pick)
    assert all(test.paper.p_value == 1 and test.paper.estimate is None for test in nothing)
    assert all(test.paper.p_holm is None for test in nothing)
    ties = compare_choices(np.ones((6, 4)), MODELS, list("uvwxyz"), one_pick=one_pick)
    assert all(test.paper.p_value == test.clustered.p_value == 1 for test in ties)
    rng = np.random.default_rng(0)
    for workers in (np.zeros(12), np.arange(12) % 2):
        for test in compare_choices(picks(rng, 12, [0.25] * 4), MODELS, workers, one_pick=one_pick):
            assert test.paper.p_value is not None
            assert test.clustered.p_value is None
            assert test.sign_flip_p is None
            assert test.clustered.notes


def test_single_models_are_tested_as_the_papers_do():
    """Pairs by t test, with the clustered difference beside; each model against .8 by the binomial test."""
    nan = float("nan")
    chosen = [[1, nan]] * 9 + [[0, nan]] + [[nan, 1]] * 5 + [[nan, 0]] * 5
    workers = list(range(10)) * 2
    (pair,) = compare_singles(chosen, ["a", "b"], workers)
    assert pair.paper.p_value == t_test([1] * 9 + [0], [1] * 5 + [0] * 5).p_value
    assert pair.clustered.estimate == pytest.approx(0.4)
    a, b = compare_with_baseline(chosen, ["a", "b"], workers)
    assert (a.paper.p_value, b.paper.p_value) == (binomial_p(9, 10, 0.8), binomial_p(5, 10, 0.8))
    assert [test.paper.p_holm for test in (a, b)] == holm([a.paper.p_value, b.paper.p_value])
    assert not a.of_pair


def test_a_test_without_turns_makes_no_other_one_harder():
    """Holm counts the tests that rest on something."""
    (made,) = compare_choices([[1, 0]] * 8 + [[0, 1]], ["a", "b"], range(9), one_pick=True)
    (empty,) = compare_choices([], ["a", "b"], [], one_pick=True)
    first, second = holm_corrected([made, empty])
    assert first.paper.p_holm == made.paper.p_value
    assert second.paper.p_holm is None


def test_families_are_corrected_apart():
    """Each test among those of its own family, which its details name with their number; one alone keeps its p."""
    chosen = [[1, 0, 0]] * 8 + [[0, 1, 0]] * 3 + [[0, 0, 1]]
    tests = [test for test in compare_choices(chosen, ["a", "b", "c"], range(12), one_pick=True) if test.of_pair]
    two, alone = Family("sata", "soba", "preference"), Family("sata", "sata_user", "preference")
    first, second, third = holm_corrected(tests, [two, two, alone])
    assert [first.paper.p_holm, second.paper.p_holm] == holm([first.paper.p_value, second.paper.p_value])
    assert third.clustered.p_holm == third.clustered.p_value
    assert first.clustered.details["family"] == ", ".join(["sata", "soba", "preference"])
    assert [test.paper.details["family_tests"] for test in (first, second, third)] == [2, 2, 1]
    with pytest.raises(ValueError, match="3 results, but 1 families"):
        holm_corrected(tests, [two])


def test_without_a_model_that_splits_the_votes():
    """a has 40 picks, b 35, c 25 of 100: without a, the 60 turns that it did not win are left, b has 35 of them."""
    chosen = np.repeat(np.eye(3), [40, 35, 25], axis=0)
    workers = np.arange(100) % 25
    models = ["a", "b", "c"]
    tests = compare_choices(chosen, models, workers, one_pick=True)
    without_a, without_b, _ = leave_one_out(chosen, models, workers, tests, one_pick=True)
    assert (without_a.left_out, without_a.n, without_a.ranking) == ("a", 60, ("b", "c"))
    assert without_a.win_rates == pytest.approx({"b": 35 / 60, "c": 25 / 60})
    assert not without_a.order_changed
    assert without_a.p_value == binomial_p(35, 60)
    assert without_b.ranking == ("a", "c")


def test_without_a_model_the_correction_is_milder():
    """A pair that Holm's correction hides among six shows itself among three."""
    rng = np.random.default_rng(0)
    chosen, workers = study(rng, [0.5, 0.5, 0.5, 0.6], workers=60)
    tests = compare_choices(chosen, MODELS, workers, one_pick=False)
    found = leave_one_out(chosen, MODELS, workers, tests, one_pick=False)
    for left in found:
        rest = [test for test in tests if test.of_pair and left.left_out not in test.models]
        p = holm([test.clustered.p_value for test in rest])
        changed = {
            " – ".join(test.models)
            for test, new in zip(rest, p, strict=True)
            if (test.clustered.p_holm < 0.05) != (new < 0.05)
        }
        assert set(left.changed_pairs) == changed
        assert left.n == len(chosen)
    assert any(left.changed_pairs for left in found)


def test_an_order_that_depends_on_a_third_model():
    """b leads c only where a was picked together with b: no such turn is left when only one may be picked."""
    chosen = np.array([[0, 0, 1]] * 3 + [[0, 1, 0]] * 2 + [[1, 1, 0]] * 2)
    models, workers = ["a", "b", "c"], range(7)
    tests = compare_choices(chosen, models, workers, one_pick=True)
    without_a = leave_one_out(chosen, models, workers, tests, one_pick=True)[0]
    assert (without_a.ranking, without_a.order_changed) == (("c", "b"), True)
    assert leave_one_out(chosen[:, :2], models[:2], workers, [], one_pick=True) == []
