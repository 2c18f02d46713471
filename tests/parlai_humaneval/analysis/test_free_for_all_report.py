"""The report of a free-for-all: points, ranks, TrueSkill in the order of dialogues."""

from __future__ import annotations

import pytest
from make_live_records import make_choice, make_choices
from make_records import START

from parlai_humaneval.analysis.reports.free_for_all.build import build_report
from parlai_humaneval.statistics.trueskill.ratings import trueskill
from parlai_humaneval.tables.from_records import Tables, tables

FFA = {"technique": "free_for_all", "setting": ""}


@pytest.fixture
def records():
    """Points a, b, c: 2, 1, 0 and then 1, 1, 0; the second began first."""
    return [
        make_choice("d1", [("a",), ("b",), ("a",)], models="abc", worker="w1", started=START + 50, **FFA),
        make_choice("d2", [("a",), ("b",)], models="abc", worker="w2", started=START, **FFA),
    ]


def test_points_ranks_and_skill_by_hand(records):
    """Sums, means, and TrueSkill over dialogues in the order in which they began."""
    (group,) = build_report(tables(records)).groups
    rows = {row.model: row for row in group.standings}
    assert [row.model for row in group.standings] == ["a", "b", "c"]
    assert [rows[m].points for m in "abc"] == [3, 2, 0]
    assert [rows[m].mean_rank.estimate for m in "abc"] == [1, 1.5, 3]
    assert rows["a"].point_share.estimate == pytest.approx(3 / 5)
    skills = trueskill([{"a": 1, "b": 1, "c": 0}, {"a": 2, "b": 1, "c": 0}], "abc")
    for model in "abc":
        assert (rows[model].mu, rows[model].score) == pytest.approx((skills[model].mu, skills[model].score))
    assert (group.n_turns, group.n_dialogues, group.tied_dialogues) == (5, 2, 1)
    assert [(gap.model_a, gap.model_b) for gap in group.gaps] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert group.gaps[1].difference.estimate == pytest.approx(3 / 5)


def test_points_sum_to_the_turns():
    """One pick a turn, no ties."""
    (group,) = build_report(tables(make_choices({"a": 4, "b": 3, "c": 2, "d": 1}, one_pick=True, **FFA))).groups
    assert sum(row.points for row in group.standings) == group.n_turns == 120
    assert sum(row.chosen for row in group.by_position) == 120
    assert "Pearson" in group.anchoring.method


def test_several_picks_are_tested_as_such():
    """The ablation in which any number is picked: places by Cochran's Q."""
    records = make_choices({"a": 0.5, "b": 0.5, "c": 0.5}, **FFA)
    assert build_report(tables(records)).groups[0].anchoring.method == "Cochran's Q"


def test_unfinished_dialogues_are_no_match(records):
    """They count when asked for."""
    left = make_choice("d3", [("c",)] * 4, models="abc", worker="w3", status="partial", **FFA)
    (group,) = build_report(tables([*records, left])).groups
    assert {row.model: row.points for row in group.standings}["c"] == 0
    (group,) = build_report(tables([*records, left]), include_partial=True).groups
    assert {row.model: row.points for row in group.standings}["c"] == 4


def test_rows_in_another_order_give_the_same(records):
    """The order of dialogues is that of their start, not of the table."""
    data = tables(records)
    other = Tables(data.turns[::-1], data.dialogues, data.comparisons, data.ratings, data.points[::-1])
    one, two = build_report(data).groups[0], build_report(other).groups[0]
    assert [row.mu for row in one.standings] == [row.mu for row in two.standings]
    assert one.headline == two.headline


def test_headline(records):
    """Scores, shares of turns, and whether the models differ."""
    report = build_report(tables(records))
    assert report.headline.startswith("preference, μ − 3σ over 2 dialogues, 5 turns: a ")
    assert "Several models share the first rank in 1 dialogue." in report.groups[0].remarks
    assert build_report(tables([])).groups == []
