"""The report of single models: ticks at each reply, ratings at the end."""

from __future__ import annotations

import numpy as np
import pytest
from make_live_records import make_ticked

from parlai_humaneval.analysis.reports.single_model.build import build_report
from parlai_humaneval.statistics.means import t_test
from parlai_humaneval.statistics.shares import wald_interval
from parlai_humaneval.tables.from_records import tables

E, H = "engaging", "humanlike"


@pytest.fixture
def records():
    """a: engaging in 3 of 4 turns, nothing ticked in one; b: in 1 of 4, human-like in 2."""
    return [
        make_ticked("d1", [[E], [E, H]], model="a", worker="w1", ratings={E: 5, H: 3}),
        make_ticked("d2", [[E], []], model="a", worker="w2", ratings={E: 4, H: 3}),
        make_ticked("d3", [[H], [H]], model="b", worker="w1", ratings={E: 2, H: 3}),
        make_ticked("d4", [[E], []], model="b", worker="w3", ratings={E: 3, H: 4}),
    ]


@pytest.fixture
def group(records):
    (found,) = build_report(tables(records)).groups
    return found


def rate(span, model, criterion):
    (found,) = [row for row in span.rates if (row.model, row.criterion) == (model, criterion)]
    return found


def test_success_rates_by_hand(group):
    """Ticked turns of all, with the paper's Wald interval beside the clustered one."""
    engaging = rate(group.all_turns, "a", E)
    assert (engaging.ticked, engaging.turns, engaging.rate.estimate) == (3, 4, 0.75)
    assert (engaging.paper_low, engaging.paper_high) == wald_interval(3, 4)
    assert engaging.rate.details["n_workers"] == 2
    assert rate(group.all_turns, "b", E).rate.estimate == 0.25
    assert rate(group.all_turns, "b", "interesting").ticked == 0
    assert rate(group.later_turns, "a", E).rate.estimate == 0.5
    assert group.all_turns.none["a"].estimate == 0.25


def test_dialogues_with_half_of_the_turns_ticked(group):
    """a: 2 of 2 and 1 of 2 turns, both count; b: 0 of 2 and 1 of 2."""
    assert rate(group.all_turns, "a", E).dialogues_won.estimate == 1
    assert rate(group.all_turns, "b", E).dialogues_won.estimate == 0.5


def test_share_of_dialogues_is_that_of_the_reference(gold_cases):
    """Half of the turns counts as success."""
    (case,) = [case for case in gold_cases if case["function"] == "sm_wta"]
    records = [
        make_ticked(f"d{i}", [[E]] * wins + [[]] * (turns - wins), worker=f"w{i}")
        for i, (wins, turns) in enumerate(case["args"][0])
    ]
    (group,) = build_report(tables(records)).groups
    assert rate(group.all_turns, "a", E).dialogues_won.estimate == pytest.approx(case["expected"])


def test_ratings_at_the_end(group):
    """Mean, sd with n − 1, and n."""
    found = {(row.model, row.criterion): row for row in group.ratings}
    assert (found["a", E].mean.estimate, found["a", E].mean.n) == (4.5, 2)
    assert found["a", E].sd == pytest.approx(0.5**0.5)
    assert (found["a", E].minimum, found["a", E].maximum) == (1, 5)


def test_pairs_are_tested_by_worker_and_as_the_paper_does(group):
    """Differences a − b; the t test takes the turns as independent."""
    (pair,) = [pair for pair in group.tick_pairs if pair.criterion == E]
    assert (pair.model_a, pair.model_b, pair.difference.estimate) == ("a", "b", 0.5)
    assert pair.paper.p_value == t_test([1, 1, 1, 0], [0, 0, 1, 0]).p_value
    assert pair.difference.details["n_workers"] == 3
    assert pair.difference.p_holm is not None
    assert {pair.criterion for pair in group.rating_pairs} == {E, H}


def test_headline_says_who_leads_on_what_in_two_sentences():
    """Replies, then ratings; what was ticked how often stands in the tables."""
    records = [
        make_ticked(
            f"{model}-{worker}",
            [[E, H] if model == "a" else [H] if worker % 2 else []] * 4 + [[]] * (worker % 3),
            model=model,
            worker=f"w{worker}",
            ratings={E: 5 - worker % 2 if model == "a" else 2 - worker % 3 // 2, H: 3 + worker % 2},
        )
        for model in "ab"
        for worker in range(12)
    ]
    (group,) = build_report(tables(records)).groups
    assert group.headline == (
        "preference: by ticked replies, a leads on engaging, humanlike; the models cannot be told apart on "
        "interesting (clustered by 12 workers, Holm's correction). By ratings at the end, a leads on engaging; the "
        "models cannot be told apart on humanlike."
    )


def test_a_model_leads_that_is_better_than_every_other(records):
    """Of three models, one above the others; with the second cut off from the third only, nobody leads."""

    def headline(chances):
        rng = np.random.default_rng(4)
        dialogues = [
            make_ticked(
                f"{model}{worker}",
                [[E] if rng.random() < chance else [] for _ in range(10)],
                model=model,
                worker=f"w{worker}",
                ratings={},
            )
            for model, chance in zip("abc", chances, strict=True)
            for worker in range(12)
        ]
        (group,) = build_report(tables(dialogues)).groups
        return group.headline

    assert "c leads on engaging" in headline([0.1, 0.4, 0.9])
    assert "no model leads all others, but some differ, on engaging" in headline([0.1, 0.8, 0.8])


def test_two_workers_are_too_few(records):
    """Words, not a verdict."""
    (group,) = build_report(tables(records[:3])).groups
    assert group.headline == ("preference: too few workers for an interval and a p-value (at least 3 are needed).")
    assert group.remarks == []
    assert all(pair.difference.p_value is None for pair in (*group.tick_pairs, *group.rating_pairs))


def test_intervals_of_ratings_stay_on_their_scale(group):
    """Three workers, 1–5: no mean below 1, no difference beyond 4."""
    for rating in group.ratings:
        assert rating.mean.ci_low is None or 1 <= rating.mean.ci_low <= rating.mean.ci_high <= 5
    for pair in group.rating_pairs:
        assert pair.difference.ci_low is None or -4 <= pair.difference.ci_low <= pair.difference.ci_high <= 4
    for pair in group.tick_pairs:
        assert pair.difference.ci_low is None or -1 <= pair.difference.ci_low <= pair.difference.ci_high <= 1


def test_one_model_alone_has_rates_and_no_pairs(records):
    """Nothing to compare, and no claim."""
    (group,) = build_report(tables(records[:2])).groups
    assert group.tick_pairs == group.rating_pairs == []
    assert group.headline.startswith("preference: Replies of a ticked: engaging 75 %, ")


def test_ratings_without_ticks_and_ticks_without_ratings():
    """Either half of the technique may run alone."""
    only_ticks, only_ratings = make_ticked("d1", ratings={}), make_ticked("d2", [])
    (group,) = build_report(tables([only_ticks])).groups
    assert (group.ratings, len(group.all_turns.rates)) == ([], 3)
    (group,) = build_report(tables([only_ratings])).groups
    assert (group.all_turns.rates, len(group.ratings)) == ([], 1)
    assert build_report(tables([])).groups == []


def test_unfinished_dialogues_are_left_out(records):
    """And told of."""
    left = make_ticked("d9", [[E], [E], [E]], worker="w9", ratings={}, status="partial")
    (group,) = build_report(tables([*records, left])).groups
    assert rate(group.all_turns, "a", E).turns == 4
    assert "3 answered turns of 1 unfinished dialogue left out." in group.remarks
    (group,) = build_report(tables([*records, left]), include_partial=True).groups
    assert rate(group.all_turns, "a", E).turns == 7
