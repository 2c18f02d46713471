"""Workers who agree are evidence: every estimator has the exact p of them, and more agreement never raises p.

Each estimator is asked about one lead a worker, from −1 (the second model is better, by much) to 1.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share, least_p
from parlai_humaneval.statistics.core.means import (
    clustered_difference,
    clustered_mean,
    crossed_difference,
    crossed_mean,
    t_test,
)
from parlai_humaneval.statistics.core.multiplicity import corrected
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import crossed_share, two_way_share
from parlai_humaneval.statistics.preference.tests import compare_choices, compare_singles
from parlai_humaneval.statistics.preference.win_rates import effective_win_test
from parlai_humaneval.statistics.ranking.order import best_of_means
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce
from parlai_humaneval.statistics.ratings.likert import pair_combo
from parlai_humaneval.statistics.ratings.sliders import score_gaps

LEADS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def _sliders(leads):
    rows = [
        (f"{m}{w}", w, m, "fun", 50 + sign * lead, sign * lead)
        for w, lead in enumerate(leads)
        for m, sign in (("a", 0.5), ("b", -0.5))
    ]
    names = ["dialogue_id", "worker_id", "model", "criterion", "raw", "z"]
    return score_gaps(pd.DataFrame(rows, columns=names), ["a", "b"])[0].difference


def _likert(leads):
    workers = list(range(len(leads)))
    return clustered_difference(3 + np.array(leads), workers, np.full(len(leads), 3.0), workers)


def _strict_and_mild(leads):
    """The levels of workers differ much, their leads little."""
    workers = np.arange(len(leads))
    return clustered_difference(1.0 + workers + np.array(leads), workers, 1.0 + workers, workers)


def _turns(leads):
    """Four turns a worker: of each the first model's share of picks is (1 + lead)/2."""
    won = np.concatenate([np.arange(4) < 2 + 2 * lead for lead in leads]).astype(float)
    return won, np.repeat(np.arange(len(leads)), 4)


def _picks(leads):
    won, workers = _turns(leads)
    return compare_choices(np.stack([won, 1 - won], axis=1), ["a", "b"], workers, one_pick=True)[0].clustered


def _yes_and_no(leads):
    won, workers = _turns(leads)
    nan = np.full(len(won), np.nan)
    chosen = np.concatenate([np.stack([won, nan], axis=1), np.stack([nan, 1 - won], axis=1)])
    return compare_singles(chosen, ["a", "b"], np.tile(workers, 2))[0].clustered


def _win_rate(leads):
    won, workers = _turns(leads)
    return clustered_share(cluster_sums(won, np.ones_like(won), workers))


def _combo(leads):
    won, workers = _turns(leads)
    return pair_combo(won, workers, won, workers)


def _best(leads):
    workers = np.arange(len(leads))
    values = np.concatenate([3 + np.array(leads), np.full(len(leads), 3.0)])
    models = np.repeat(["a", "b"], len(leads))
    return best_of_means(values, models, np.tile(workers, 2)).pairs[0]


def _crossed(leads):
    """Every worker judges the same twelve dialogues of each model."""
    workers, dialogues = (of.ravel() for of in np.indices((len(leads), 12)))
    ratings = np.repeat(3 + np.array(leads), 12)
    names = np.char.add("a", dialogues.astype(str)), np.char.add("b", dialogues.astype(str))
    return crossed_difference(ratings, workers, names[0], np.full(len(ratings), 3.0), workers, names[1])


ESTIMATORS = {
    "sliders": _sliders,
    "Likert": _likert,
    "strict and mild raters": _strict_and_mild,
    "picks": _picks,
    "yes and no": _yes_and_no,
    "win rate": _win_rate,
    "combo": _combo,
    "best set": _best,
}
by_name = pytest.mark.parametrize("ask", ESTIMATORS.values(), ids=ESTIMATORS)


@by_name
@pytest.mark.parametrize("workers", [6, 8, 12])
@pytest.mark.parametrize("lead", [-1.0, 0.5, 1.0])
def test_all_agree(ask, workers, lead):
    """All signs are alike: of 2^n assignments only these and their mirror are as far, whatever the gap."""
    found = ask([lead] * workers)
    assert found.p_value == pytest.approx(2.0 ** (1 - workers))
    assert found.ci_low is None or not found.ci_low <= found.details.get("null", 0) <= found.ci_high


@by_name
def test_all_see_no_difference(ask):
    """No gap at all is no evidence."""
    assert ask([0.0] * 12).p_value == 1


@pytest.mark.parametrize("ask", [_likert, _picks, _win_rate, _combo])
@pytest.mark.parametrize("workers", [14, 40])
def test_many_agree(ask, workers):
    """Beyond the workers whose signs are all tried, too."""
    assert ask([0.5] * workers).p_value == pytest.approx(2.0 ** (1 - workers))


@by_name
@settings(max_examples=25, deadline=None)
@given(leads=st.lists(st.sampled_from(LEADS), min_size=6, max_size=10), data=st.data())
def test_agreement_never_raises_p(ask, leads, data):
    """A worker who is moved up to where most are, and one more worker who agrees with the mean: p does not grow."""
    leads = [lead if sum(leads) >= 0 else -lead for lead in leads]
    p = ask(leads).p_value
    common = max(leads, key=leads.count)
    place = data.draw(st.integers(0, len(leads) - 1))
    if leads[place] <= common:
        moved = [*leads[:place], common, *leads[place + 1 :]]
        assert ask(moved).p_value <= p + 1e-9
    # How far the newcomer is ahead must not be less than how far workers are on average.
    assert ask([*leads, 1.0]).p_value <= p + 1e-9


@by_name
@pytest.mark.parametrize("workers", [6, 9, 12])
@pytest.mark.parametrize("odd", [-1.0, -0.5, 0.0, 0.5])
def test_one_who_disagrees_is_no_more_evidence(ask, workers, odd):
    """The case that was wrong: n − 1 workers who agree and one who does not had a p, all n who agree had none."""
    nearly = ask([1.0] * (workers - 1) + [odd])
    assert ask([1.0] * workers).p_value <= nearly.p_value + 1e-12


@by_name
@pytest.mark.parametrize("workers", [3, 4, 5])
def test_three_to_five_who_agree(ask, workers):
    """Their signs cannot show a difference at .05, and that is what they say; shares by their binomial distribution."""
    assert ask([1.0] * workers).p_value == pytest.approx(2.0 ** (1 - workers), rel=0.01)


@pytest.mark.parametrize("ask", [ask for name, ask in ESTIMATORS.items() if name != "best set"])
@pytest.mark.parametrize("workers", [1, 2])
def test_one_or_two_workers_say_that_they_are_too_few(ask, workers):
    """No p, however much they agree, and the reason."""
    found = ask([1.0] * workers)
    assert (found.p_value, found.ci_low) == (None, None)
    assert any("too few raters" in note for note in found.notes)


def test_workers_who_each_saw_one_model():
    """Six rate a 4 and six rate b 3: of 924 ways to deal out the workers two are as far. Signs would say 1/2048."""
    found = clustered_difference([4.0] * 6, list("abcdef"), [3.0] * 6, list("ghijkl"))
    assert found.p_value == pytest.approx(2 / comb(12, 6))
    unequal = clustered_difference([4.0] * 4, list("abcd"), [3.0] * 8, list("ghijklmn"))
    assert unequal.p_value == pytest.approx(1 / comb(12, 4))
    nearly = clustered_difference([4.0] * 5 + [5.0], list("abcdef"), [3.0] * 6, list("ghijkl"))
    assert nearly.p_value >= found.p_value


def test_one_worker_cannot_stand_for_all_of_a_model():
    """One worker rated a, nine rated b: in one of ten ways to deal them out that worker has a, and p is not below that."""
    for others in ([3.0] * 9, [3.0, 3.1] * 4 + [3.0]):
        found = clustered_difference([5.0], ["z"], others, list("abcdefghi"))
        assert found.p_value >= 1 / 10
        assert found.ci_low is None or found.ci_low <= 0


def test_the_smallest_p_of_a_design():
    """2/2^n where each saw both; ways to deal out where each saw one; both together multiply."""
    assert least_p(list("aabbcc")) == pytest.approx(2 / 2**3)
    both = least_p([*"abcd", *"abcd", *"ef", *"gh"], [0] * 4 + [1] * 4 + [0] * 2 + [1] * 2)
    assert both == pytest.approx(2 / (2**4 * comb(4, 2)))
    assert least_p(["a"], [0]) == 1


@pytest.mark.parametrize("workers", [6, 12])
def test_by_worker_and_dialogue(workers):
    """Everybody agrees on every dialogue: the p of the workers' signs, with its reason; nearly so is no more evidence."""
    found = _crossed([0.5] * workers)
    assert found.p_value == pytest.approx(2.0 ** (1 - workers))
    assert found.details["p_by_worker"] == found.p_value
    assert any("agree" in note for note in found.notes)
    assert _crossed([0.5] * (workers - 1) + [0.4]).p_value >= found.p_value - 1e-12
    few = crossed_mean(np.full(4 * workers, 3.0), np.repeat(np.arange(workers), 4), list("wxyz") * workers, null=2.0)
    assert few.p_value == pytest.approx(2 / 2**4)  # other dialogues may differ from these four


def test_shares_by_worker_and_dialogue():
    """Three of four were won, whoever judged and whatever was judged: the p of the signs. Else a binomial distribution."""
    workers, dialogues = (of.ravel() for of in np.indices((12, 24)))
    won = (np.add.outer(np.arange(12), np.arange(24)) % 4 > 0).ravel().astype(float)
    assert crossed_share(won, np.ones_like(won), workers, [dialogues]).p_value == pytest.approx(2.0**-11)
    first, second = (of.ravel() for of in np.indices((8, 10)))
    all_won = two_way_share(np.ones(80), np.ones(80), first, second)
    # Seven with one good turn each do not refute .8: of such workers all are good in a fifth of studies.
    assert clustered_share(cluster_sums(np.ones(7), np.ones(7), range(7)), null=0.8).p_value > 0.2
    assert all_won.p_value == clustered_share(cluster_sums(np.ones(80), np.ones(80), first)).p_value < 0.05


def test_rankings_and_comparisons():
    """Twelve workers who prefer a to b in every comparison."""
    from parlai_humaneval.statistics.preference.pairs import wins_of_pairs

    rows = _twelve_for_a()
    (pair,) = wins_of_pairs(rows)
    assert pair.win_rate.p_value == pytest.approx(2.0**-11)
    assert pair.win_rate.details["p_per_worker"] == pytest.approx(2.0**-11)


def _twelve_for_a():
    number = np.arange(24)
    return pd.DataFrame(
        {
            "model_a": "a",
            "model_b": "b",
            "outcome": 1,
            "worker_id": number // 2,
            "dialogue_a": [f"a{i}" for i in number],
            "dialogue_b": [f"b{i}" for i in number],
            "first_a": number % 2.0,
            "both_bad": 0,
        }
    )


def test_superiority_and_the_papers_t_test():
    """Ratings without variance: the chance of the higher rating is 1, with a p; the t test becomes a permutation test."""
    workers = list(range(12))
    better = effective_win_test([4.0] * 12, workers, [3.0] * 12, workers)
    assert (better.estimate, better.p_value) == (1.0, pytest.approx(2.0**-11))
    assert t_test([4.0] * 5, [3.0] * 4).p_value == pytest.approx(1 / comb(9, 4))
    assert t_test([4.0], [3.0]).p_value == 1


def test_a_model_that_everybody_picks():
    """Strengths have no bound, but its pairs have the p of who was picked more often, and so have all models at once."""
    found = plackett_luce(np.tile([[1.0, 0.0]], (24, 1)), np.repeat(np.arange(12), 2), models=["a", "b"])
    assert found.pairs[0].estimate is None
    assert found.pairs[0].p_value == pytest.approx(2.0**-11)
    assert found.equal.p_value == pytest.approx(2.0**-11)


def test_a_pair_without_a_p_stays_in_its_family():
    """It counts as p = 1; a pair that nobody was asked about does not count."""
    made, lost, never = (Result(name=name, n=n, method="by hand") for name, n in (("x", 9), ("y", 9), ("z", 0)))
    first, second, third = corrected([made.but(p_value=0.02), lost, never.but(p_value=1.0)])
    assert (first.p_holm, second.p_holm, third.p_holm) == (0.04, None, None)
    assert first.details["family_tests"] == 2


def test_means_against_a_value():
    """One mean against a hypothesis, in the middle of its scale."""
    found = clustered_mean([4.0] * 12, range(12), null=3.0, limits=(1, 5))
    assert (found.p_value, found.ci_low) == (pytest.approx(2.0**-11), None)
    assert "no interval" not in found.method
    assert clustered_mean([3.0] * 12, range(12), null=3.0).p_value == 1
    assert clustered_mean([4.0] * 12, range(12)).p_value is None
