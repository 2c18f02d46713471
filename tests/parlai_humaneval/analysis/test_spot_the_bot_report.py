"""The report of Spot The Bot: labels, Eq. 1, survival, features, agreement; by hand and by symmetry."""

from __future__ import annotations

import pytest
from make_judgements import make_segment, make_spotting
from scipy.stats import chisquare

from parlai_humaneval.analysis.reports.spot_the_bot.build import build_report
from parlai_humaneval.tables.from_records import tables


def segment(number, labels, entities=("a", "b"), **fields):
    return make_segment(f"j{number}", entities, labels, worker=f"w{number}", dialogue=f"d{number}", **fields)


def group_of(records):
    (group,) = build_report(tables(records)).groups
    return group


@pytest.mark.parametrize(
    ("labels", "wins_ties"),
    [
        (("human", "unsure"), (1, 0, 0)),
        (("human", "bot"), (1, 0, 0)),
        (("unsure", "bot"), (1, 0, 0)),
        (("bot", "human"), (0, 1, 0)),
        (("bot", "unsure"), (0, 1, 0)),
        (("human", "human"), (0, 0, 1)),
        (("unsure", "unsure"), (0, 0, 1)),
        (("bot", "bot"), (0, 0, 1)),
    ],
)
def test_the_better_label_wins(labels, wins_ties):
    """human > unsure > bot; the same label is a tie. Who speaks first makes no difference."""
    for order in (1, -1):
        (pair,) = group_of([segment(1, labels[::order], ("a", "b")[::order])]).pairs
        assert (pair.wins_a, pair.wins_b, pair.ties) == wins_ties


def test_equation_1_drops_ties_and_the_paper_tests_by_chi_square():
    """6 wins, 2 losses, 4 ties: .75."""
    labels = [("human", "bot")] * 6 + [("bot", "unsure")] * 2 + [("bot", "bot")] * 4
    group = group_of([segment(i, pair) for i, pair in enumerate(labels)])
    (pair,) = group.pairs
    assert (pair.win_rate_a.estimate, pair.ties, pair.n) == (0.75, 4, 12)
    assert pair.paper.p_value == pytest.approx(chisquare([6, 2]).pvalue)
    assert any("33 % of 12 segments of two models are ties" in remark for remark in group.remarks)


def test_people_and_self_chats_are_labelled_but_win_against_nobody():
    """People are the upper bound; a model's self-chat says nothing of others."""
    group = group_of(
        [
            segment(1, ("human", "human"), ("human", "human")),
            segment(2, ("human", "bot"), ("human", "human")),
            segment(3, ("bot", "human"), ("a", "a")),
        ]
    )
    assert (group.pairs, group.standings, group.features) == ([], [], [])
    rows = {row.model: (row.n, row.human, row.unsure, row.bot) for row in group.labels if row.k is None}
    assert rows == {"human": (4, 3, 0, 1), "a": (2, 1, 0, 1)}
    assert "a 50 % (people themselves 75 %)" in group.headline


def test_labels_at_each_length_and_survival():
    """a is spotted in 1 of 2 after 2 exchanges and in 2 of 2 after 5; b never."""
    found = [(2, "bot"), (2, "human"), (5, "bot"), (5, "bot")]
    group = group_of([segment(i, (label, "unsure"), k=k) for i, (k, label) in enumerate(found)])
    rows = {(row.model, row.k): (row.n, row.human, row.bot) for row in group.labels}
    assert rows[("a", None)] == (4, 1, 3)
    assert (rows[("a", 2)], rows[("a", 5)]) == ((2, 1, 1), (2, 0, 2))
    assert {row.model: row.survival for row in group.survival} == {"a": {2: 0.5, 5: 0.0}, "b": {2: 1.0, 5: 1.0}}


def test_feature_win_rates_by_hand():
    """a is more fluent in 3, less in 1, the same in 2: .75 for a, .25 for b, whoever speaks first."""
    options = ["first", "first", "second", "second", "same", "same"]
    orders = [("a", "b"), ("a", "b"), ("b", "a"), ("a", "b"), ("a", "b"), ("b", "a")]
    records = [
        segment(i, ("bot", "bot"), order, features={"fluent": option})
        for i, (option, order) in enumerate(zip(options, orders, strict=True))
    ]
    group = group_of(records)
    rows = {row.model: (row.better, row.worse, row.same, row.win_rate.estimate) for row in group.features}
    assert rows == {"a": (3, 1, 2, 0.75), "b": (1, 3, 2, 0.25)}
    assert {row.feature for row in group.features} == {"fluent"}, "the others were not asked"
    assert group.feature_ties == pytest.approx(1 / 3)


def test_agreement_on_a_label_by_hand():
    """Of a: human–human, human–bot, bot–bot: both said human once of two pairs of whom one did; bot likewise."""
    twice = [("human", "human"), ("human", "bot"), ("bot", "bot")]
    records = [
        make_segment(f"j{i}{r}", ("a", "b"), (label, "unsure"), worker=f"w{i}{r}", dialogue=f"d{i}")
        for i, both in enumerate(twice)
        for r, label in enumerate(both)
    ]
    group = group_of(records)
    rows = {(row.model, row.label): (row.both, row.either) for row in group.label_agreement}
    assert (rows[("a", "human")], rows[("a", "bot")], rows[("a", "unsure")]) == ((1, 2), (1, 2), (0, 0))
    assert rows[("b", "unsure")] == (3, 3)
    assert (group.agreement.n, group.agreement.percent.estimate) == (6, pytest.approx(5 / 6))
    unsure = next(row.share for row in group.label_agreement if (row.model, row.label) == ("a", "unsure"))
    assert (unsure.estimate, unsure.ci_low) == (None, None), "nobody gave the label: nothing is claimed"


def test_models_may_change_their_names():
    """Label symmetry: every number stays with its model."""
    one = group_of(make_spotting({"a": 0.7, "b": 0.2, "human": 0.9}))
    other = group_of(make_spotting({"z": 0.7, "b": 0.2, "human": 0.9}))
    (pair,), (mirrored,) = one.pairs, other.pairs
    assert (mirrored.model_a, mirrored.model_b) == ("b", "z")
    assert (mirrored.wins_b, mirrored.wins_a, mirrored.ties) == (pair.wins_a, pair.wins_b, pair.ties)
    assert mirrored.win_rate_b.estimate == pytest.approx(pair.win_rate_a.estimate)
    rows = {row.model: row.survival for row in other.survival}
    assert rows["z"] == next(row.survival for row in one.survival if row.model == "a")


def test_the_stronger_model_wins_and_lives_longer():
    """What the study was made with is what the report finds."""
    group = group_of(make_spotting({"good": 0.9, "bad": 0.1, "human": 0.95}, dialogues=30))
    (pair,) = group.pairs
    assert (pair.leader, pair.win_rate_a.p_value < 0.001) == ("good", True)
    lives = {row.model: row.survival for row in group.survival}
    assert all(lives["good"][k] > lives["bad"][k] for k in (2, 3, 5))
    assert [row.model for row in group.labels if row.k is None] == ["human", "good", "bad"]


def test_domains_are_apart_and_nothing_else_counts():
    """Attention checks and segments left half-way are counted only."""
    records = [
        segment(1, ("human", "bot"), setting="dailydialog"),
        segment(2, ("bot", "human"), setting="personachat"),
        segment(3, ("bot", "bot"), setting="personachat", expected={"label_0": "human"}),
        segment(4, ("bot", "bot"), setting="personachat", end="left"),
    ]
    report = build_report(tables(records))
    assert [(g.setting, g.pairs[0].wins_a, g.n_segments) for g in report.groups] == [
        ("dailydialog", 1, 1),
        ("personachat", 0, 1),
    ]
    assert (report.attention_checks.failed, report.judgements.partial, report.judgements.complete) == (1, 1, 2)
    assert "too few workers" in report.groups[0].headline


def test_seconds_are_medians_a_segment_not_a_speaker():
    """Two speakers are one segment."""
    records = [segment(i, ("bot", "bot"), k=k, seconds=s) for i, (k, s) in enumerate([(2, 10), (2, 20), (5, 60)])]
    group = group_of(records)
    assert [(row.k, row.n, row.median_seconds) for row in group.seconds] == [(2, 2, 15.0), (5, 1, 60.0)]
    assert group.median_seconds == 20
