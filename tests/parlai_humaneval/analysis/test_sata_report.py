"""The report of SOBA and SATA: hand-worked shares and tests, what does not count, sentences."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_live_records import make_choice, make_choices
from rich.console import Console

from parlai_humaneval.analysis.reports.sata.build import build_report
from parlai_humaneval.analysis.reports.study import render
from parlai_humaneval.statistics.choice_tests import cochran_q_test, mcnemar_test
from parlai_humaneval.statistics.shares import binomial_p
from parlai_humaneval.tables.from_records import Tables, tables


def group_of(records, **more):
    (group,) = build_report(tables(records), **more).groups
    return group


@pytest.fixture
def small():
    """Two workers; turns: a · ab · none · b, then a · ab."""
    return [
        make_choice("d1", [("a",), ("a", "b"), (), ("b",)], worker="w1"),
        make_choice("d2", [("a",), ("a", "b")], worker="w2"),
    ]


def test_shares_by_hand(small):
    """Of six turns a was chosen in 4, b in 3, both in 2, none in 1, in which the rater wrote."""
    group = group_of(small)
    span = group.all_turns
    assert (span.n_turns, span.n_dialogues, span.n_workers, span.last_turn) == (6, 2, 2, 4)
    assert [(row.model, row.chosen, row.shown) for row in span.models] == [("a", 4, 6), ("b", 3, 6)]
    assert span.models[0].win_rate.estimate == pytest.approx(4 / 6)
    assert (span.tie_win.estimate, span.tie_loss.estimate, span.written.estimate) == pytest.approx(
        (2 / 6, 1 / 6, 1 / 6)
    )
    (pair,) = span.pairs
    assert (pair.only_a, pair.only_b, pair.both, pair.neither) == (2, 1, 2, 1)
    assert pair.difference.estimate == pytest.approx(1 / 6)
    assert (pair.difference.ci_low, pair.difference.p_value) == (None, None)
    assert pair.paper.p_value == mcnemar_test(2, 1, n=6).p_value


def test_the_error_of_a_difference_by_hand(small):
    """A third worker takes a twice. Sums by worker: 0 of 4 turns, 1 of 2, 2 of 2; around 3/8 they are −1.5, .25, 1.25."""
    records = [*small, make_choice("d3", [("a",), ("a",)], worker="w3")]
    (pair,) = group_of(records).all_turns.pairs
    assert pair.difference.estimate == pytest.approx(3 / 8)
    assert pair.difference.details["standard_error"] == pytest.approx(np.sqrt(3 / 2 * 3.875) / 8)
    assert pair.difference.ci_low == pytest.approx(3 / 8 - 4.302653 * np.sqrt(3 / 2 * 3.875) / 8)
    assert pair.difference.ci_high == 1


def test_two_workers_give_words_and_no_interval(small):
    """Not “95 % interval −814 to 880”; said once, in the headline."""
    group = group_of(small)
    assert group.headline.endswith("Too few workers for an interval and a p-value (at least 3 are needed).")
    assert not any("oo few workers" in remark for remark in group.remarks)


def test_the_first_turns_can_be_left_out(small):
    """Turns 2 to 4: a 2 of 4, b 3 of 4."""
    later = group_of(small).turns_2_to_last
    assert (later.first_turn, later.last_turn, later.n_turns) == (2, 4, 4)
    assert [row.chosen for row in later.models] == [2, 3]


def test_one_pick_of_two_is_tested_by_the_binomial():
    """SOBA: 7 to 3."""
    record = make_choice("d1", [("a",)] * 7 + [("b",)] * 3, setting="soba")
    (pair,) = group_of([record]).all_turns.pairs
    assert pair.paper.p_value == binomial_p(7, 10)
    assert "binomial" in pair.paper.method


def test_one_pick_of_three_is_tested_by_pearsons_chi_square():
    """6, 2, 1: χ² = 14/3 with 2 degrees of freedom."""
    record = make_choice("d1", [("a",)] * 6 + [("b",)] * 2 + [("c",)], models="abc", setting="soba")
    test = group_of([record]).all_turns.test
    assert (test.statistic, test.details["df"]) == pytest.approx((14 / 3, 2))


def test_any_number_of_picks_of_three_is_tested_by_cochrans_q_then_by_pairs():
    """Q over all models; McNemar for each pair, with Holm's correction within the group."""
    picks = [("a",), ("a", "b"), ("a", "c"), ("a",), (), ("b",), ("a", "b", "c"), ("a",)]
    span = group_of([make_choice("d1", picks, models="abc")]).all_turns
    matrix = [[int(model in picked) for model in "abc"] for picked in picks]
    assert span.test.p_value == cochran_q_test(matrix).p_value
    assert [(pair.model_a, pair.model_b) for pair in span.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    smallest = min(span.pairs, key=lambda pair: pair.paper.p_value)
    assert smallest.paper.p_holm == pytest.approx(min(1, 3 * smallest.paper.p_value))


def test_settings_and_groups_of_models_are_reported_apart():
    """One task may run several at once."""
    records = [
        *make_choices({"a": 0.6, "b": 0.4}),
        *make_choices({"a": 0.6, "b": 0.4}, setting="soba", one_pick=True),
        *make_choices({"a": 0.6, "b": 0.4, "c": 0.3}),
    ]
    groups = build_report(tables(records)).groups
    assert [(group.setting, group.models) for group in groups] == [
        ("sata_user", ["a", "b"]),
        ("sata_user", ["a", "b", "c"]),
        ("soba", ["a", "b"]),
    ]
    family = [pair.difference for group in groups for pair in group.all_turns.pairs]
    smallest = min(family, key=lambda gap: gap.p_value)
    assert smallest.p_holm == pytest.approx(5 * smallest.p_value)


def test_a_failed_reply_leaves_the_pair_but_not_the_others():
    """b failed in the first turn: it was shown in one of two, and one turn compares a with b."""
    record = make_choice("d1", [("a",), ("b",)], models="abc")
    failed = record.turns[0].candidates[1]
    failed.failed, failed.position = True, 0
    group = group_of([record])
    assert [(row.model, row.shown, row.chosen) for row in group.all_turns.models] == [
        ("a", 2, 1),
        ("b", 1, 1),
        ("c", 2, 0),
    ]
    assert [pair.n_turns for pair in group.all_turns.pairs] == [1, 2, 1]
    assert group.all_turns.test.n == 1
    assert "Not counted: 1 reply that failed, so that nothing was shown." in group.remarks


def test_turns_in_which_nothing_was_asked_do_not_count():
    """Both said the same, the dialogue went on by itself."""
    record = make_choice("d1", [("a",), ("b",)])
    record.turns[1].automatic = True
    group = group_of([record])
    assert (group.all_turns.n_turns, group.automatic_turns) == (1, 1)
    assert any(remark.startswith("1 turn not counted, as all models said the same") for remark in group.remarks)


def test_equal_replies_count_for_both_and_take_one_place():
    """a and b said the same, shown first, chosen: a point for each, position 1 chosen once."""
    record = make_choice("d1", [("a", "b")], models="abc")
    first, second = record.turns[0].candidates[:2]
    second.same_as, second.position = first.candidate_id, first.position
    record.turns[0].candidates[2].position = 2
    group = group_of([record])
    assert [row.chosen for row in group.all_turns.models] == [1, 1, 0]
    assert [(row.position, row.chosen, row.shown) for row in group.by_position] == [(1, 1, 1), (2, 0, 1)]


def test_unfinished_dialogues_count_only_when_asked_for(small):
    """Their answered turns are told of beside."""
    records = [*small, make_choice("d3", [("b",), ("b",)], worker="w3", status="partial")]
    group = group_of(records)
    assert (group.all_turns.n_turns, group.unfinished_turns, group.unfinished_dialogues) == (6, 2, 1)
    assert "2 answered turns of 1 unfinished dialogue left out." in group.remarks
    assert group_of(records, include_partial=True).all_turns.n_turns == 8


def test_headlines():
    """A clear pair, one that cannot be told apart, several models, one worker."""
    clear = group_of(make_choices({"a": 0.8, "b": 0.2}, workers=20)).headline
    assert clear.startswith("sata_user, preference, chosen in 200 turns: a ")
    assert "a leads by " in clear
    assert "p < .0001" in clear
    alike = group_of(make_choices({"a": 0.5, "b": 0.5}, workers=20, seed=1)).headline
    assert "They cannot be told apart: " in alike
    many = group_of(make_choices({"a": 0.9, "b": 0.5, "c": 0.1}, workers=20)).headline
    assert "3 of 3 pairs differ (clustered by 20 workers, Holm's correction): a over b, a over c, b over c." in many
    alone = group_of([make_choice("d1", [("a",)] * 4)]).headline
    assert alone.endswith("Too few workers for an interval and a p-value (at least 3 are needed).")


def test_a_preferred_place_is_said():
    """Whoever stands first is chosen."""
    shown = [("a", "b"), ("b", "a")] * 6
    records = [make_choice(f"d{i}", [(s[0],) for s in shown], worker=f"w{i}", shown=shown) for i in range(4)]
    group = group_of(records)
    assert [row.chosen for row in group.by_position] == [48, 0]
    assert any(remark.startswith("Position matters") for remark in group.remarks)


def test_no_turns_at_all():
    """A task that has just begun is no error."""
    report = build_report(tables([]))
    assert report.groups == []
    assert report.headline.startswith("No turn has been answered yet")
    unfinished = build_report(tables([make_choice("d1", [("a",)], status="running")]))
    assert unfinished.groups[0].headline == "sata_user, preference: no turn that counts has compared a and b yet."
    assert unfinished.groups[0].all_turns.pairs[0].paper.p_value == 1


picks = st.lists(st.lists(st.sampled_from("abc"), max_size=3, unique=True), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(dialogues=st.lists(picks, min_size=1, max_size=5), seed=st.integers(0, 99))
def test_whatever_was_picked(dialogues, seed):
    """Shares lie in 0–1, picks add up, p-values are p-values, and the order of rows changes nothing."""
    records = [make_choice(f"d{i}", turns, models="abc", worker=f"w{i}") for i, turns in enumerate(dialogues)]
    data = tables(records)
    group = build_report(data).groups[0]
    span = group.all_turns
    assert sum(row.chosen for row in span.models) == sum(len(picked) for turns in dialogues for picked in turns)
    assert sum(row.chosen for row in group.by_position) == sum(row.chosen for row in span.models)
    for result in [*(row.win_rate for row in span.models), span.tie_win, span.tie_loss, span.written]:
        assert 0 <= result.estimate <= 1
        assert result.ci_low is None or 0 <= result.ci_low <= result.estimate <= result.ci_high <= 1
    for pair in span.pairs:
        assert pair.only_a + pair.only_b + pair.both + pair.neither == span.n_turns
        assert 0 <= pair.paper.p_value <= 1
    shuffled = Tables(data.turns.sample(frac=1, random_state=seed), data.dialogues, data.comparisons)
    other = build_report(shuffled).groups[0].all_turns
    for one, two in zip(span.pairs, other.pairs, strict=True):
        assert one.difference.estimate == pytest.approx(two.difference.estimate)
        assert (one.difference.p_value or 0) == pytest.approx(two.difference.p_value or 0)
        assert one.paper.p_value == pytest.approx(two.paper.p_value)


def test_one_answered_turn_says_nothing_of_later_ones():
    """No heading “Turns 2–1”, no empty table of pairs; the reason instead."""
    report = build_report(tables([make_choice("d1", [("a",)])]))
    stream = StringIO()
    render(report.model_copy(update={"technique": "sata"}), Console(file=stream, width=80))
    screen = " ".join(stream.getvalue().split())
    assert "Turns from 2 on" in screen
    assert "2–" not in screen
    assert screen.count("difference in points of win rate") == 1
    assert "No answer that counts was given from turn 2 on" in screen
