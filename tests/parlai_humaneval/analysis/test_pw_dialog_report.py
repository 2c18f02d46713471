"""The report of PW-Dialog: win rates, sides, reuse, agreement; what does not count."""

from __future__ import annotations

import pytest
from make_judgements import METRICS, make_pair, make_pairs

from parlai_humaneval.analysis.reports.pw_dialog.build import build_report
from parlai_humaneval.statistics.shares import binomial_p
from parlai_humaneval.tables.from_records import tables


def study(left_wins, *, left="a", right="b", prefix="j", **fields):
    """A judgement of each of several workers, in a round; ``left_wins``: first, second or tie."""
    return [
        make_pair(f"{prefix}{i}", left, right, side, worker=f"w{i % 10}", item=f"{prefix}-item{i}", **fields)
        for i, side in enumerate(left_wins)
    ]


def test_counts_and_win_rate_by_hand():
    """9 for a, 3 for b, 2 ties: 9 of 12 decided, with the paper's binomial p."""
    (group,) = build_report(tables(study(["first"] * 9 + ["second"] * 3 + ["tie"] * 2))).groups
    (pair,) = group.pairs
    assert (pair.wins_a, pair.wins_b, pair.ties, pair.n, pair.n_workers) == (9, 3, 2, 14, 10)
    assert (pair.win_rate_a.estimate, pair.win_rate_b.estimate) == (0.75, 0.25)
    assert pair.paper.p_value == pytest.approx(binomial_p(9, 12))
    assert pair.win_rate_b.ci_low == pytest.approx(1 - pair.win_rate_a.ci_high)
    assert [(row.model, row.wins, row.losses, row.tie_share) for row in group.standings] == [
        ("a", 9, 3, 2 / 14),
        ("b", 3, 9, 2 / 14),
    ]


def test_the_side_is_told_from_the_model():
    """Always the left one, whoever that is: no model is better, and the side is all that counts."""
    records = study(["first"] * 15) + study(["first"] * 15, left="b", right="a", prefix="k")
    (group,) = build_report(tables(records)).groups
    assert group.pairs[0].win_rate_a.estimate == 0.5
    assert (group.left.estimate, group.left.n) == (1.0, 30)
    assert any("The side matters: the dialogue on the left was chosen in 100 %" in remark for remark in group.remarks)


def test_models_may_change_their_names():
    """Label symmetry: a called z, b called y, and everything is mirrored."""
    one = build_report(tables(make_pairs({"a": 3, "b": 1}))).groups[0].pairs[0]
    other = build_report(tables(make_pairs({"z": 3, "y": 1}))).groups[0].pairs[0]
    assert (other.model_a, other.wins_a, other.wins_b) == ("y", one.wins_b, one.wins_a)
    assert other.win_rate_b.estimate == pytest.approx(one.win_rate_a.estimate)
    assert other.win_rate_b.ci_low == pytest.approx(one.win_rate_a.ci_low)
    assert other.win_rate_a.p_value == pytest.approx(one.win_rate_a.p_value)


def test_self_chats_metrics_and_human_bot_dialogues_are_apart():
    """A group each; of a form with three metrics each is counted once."""
    asked = dict(zip(METRICS, ("first", "second", "first"), strict=True))
    records = study([asked] * 4) + study(["second"] * 3, prefix="h", setting="human_bot")
    report = build_report(tables(records))
    found = {(g.setting, g.metric): (g.pairs[0].wins_a, g.pairs[0].wins_b) for g in report.groups}
    assert found == {
        ("human_bot", "preference"): (0, 3),
        ("self_chat", "humanness"): (0, 4),
        ("self_chat", "interestingness"): (4, 0),
        ("self_chat", "preference"): (4, 0),
    }
    assert report.questions["humanness"] == ["Which is better in humanness?"]
    assert (report.judgements.complete, report.items) == (7, 7)


def test_reuse_counts_how_often_each_dialogue_was_judged():
    """a-1 three times, a-2 once, against four of b."""
    ids = [("a-1", "b-1"), ("a-1", "b-2"), ("a-1", "b-3"), ("a-2", "b-4")]
    records = [make_pair(f"j{i}", "a", "b", "first", worker=f"w{i}", dialogues=pair) for i, pair in enumerate(ids)]
    report = build_report(tables(records))
    rows = {row.model: (row.dialogues, row.judgements, row.mean, row.most) for row in report.groups[0].reuse}
    assert rows == {"a": (2, 4, 2.0, 3), "b": (4, 4, 1.0, 1)}
    assert report.dialogues_shown == 6


def test_agreement_where_an_item_was_judged_by_several():
    """Two items alike, one not; whichever side the winner stood on."""
    chosen = [
        ("i1", "a", "b", "first"),
        ("i1", "b", "a", "second"),
        ("i2", "a", "b", "second"),
        ("i2", "a", "b", "second"),
    ]
    chosen += [("i3", "a", "b", "first"), ("i3", "a", "b", "second"), ("i4", "a", "b", "first")]
    records = [
        make_pair(f"j{i}", left, right, side, worker=f"w{i}", item=item)
        for i, (item, left, right, side) in enumerate(chosen)
    ]
    (group,) = build_report(tables(records)).groups
    assert (group.agreement.n, group.agreement.percent.estimate) == (3, pytest.approx(2 / 3))
    assert build_report(tables(study(["first"] * 3))).groups[0].agreement is None


def test_attention_checks_and_unfinished_judgements_change_no_number():
    """They are counted, and that is all."""
    good = study(["first"] * 9 + ["second"] * 3)
    more = [
        make_pair("g1", "x", "y", "second", expected={"preference": "first"}, worker="w1"),
        make_pair("g2", "x", "y", "first", expected={"preference": "first"}, worker="w2"),
        make_pair("g3", "x", "y", "first", expected={"preference": "first"}, worker="w3", end="left"),
        make_pair("u1", "a", "b", "second", end="left"),
        make_pair("u2", "a", "b", "second", end="failed"),
    ]
    one, other = build_report(tables(good)), build_report(tables(good + more))
    assert one.groups == other.groups
    answered = make_pair("u3", "a", "b", "second").model_copy(update={"status": "failed"})
    (group,) = build_report(tables([*good, answered])).groups
    assert (group.pairs, group.unfinished) == (one.groups[0].pairs, 1)
    checks = other.attention_checks
    assert (checks.passed, checks.failed, checks.not_answered, checks.workers_failing) == (1, 1, 1, 1)
    assert (other.judgements.complete, other.judgements.partial, other.judgements.failed) == (12, 1, 1)
    assert other.dialogues_shown == one.dialogues_shown == 2


def test_seconds_are_the_median():
    """20, 30 and 100 s."""
    records = [make_pair(f"j{i}", "a", "b", "first", seconds=s, worker=f"w{i}") for i, s in enumerate((20, 30, 100))]
    report = build_report(tables(records))
    assert (report.median_seconds, report.groups[0].median_seconds) == (30, 30)


def test_several_pairs_are_corrected_and_a_model_is_summed_over_its_opponents():
    """Holm over the pairs of the report; of the paper's tests, over those of the group."""
    report = build_report(
        tables(make_pairs({"a": 1, "b": 2, "c": 4}) + make_pairs({"a": 1, "b": 1}, setting="human_bot"))
    )
    rates = [pair.win_rate_a for group in report.groups for pair in group.pairs]
    smallest = min(rates, key=lambda rate: rate.p_value)
    assert smallest.p_holm == pytest.approx(min(1, 4 * smallest.p_value))
    of_pairs = report.groups[1].pairs
    paper = min((pair.paper for pair in of_pairs), key=lambda test: test.p_value)
    assert paper.p_holm == pytest.approx(min(1, 3 * paper.p_value))
    assert report.groups[0].pairs[0].paper.p_holm is None, "the only pair of its group"
    wins = {row.model: row.wins for row in report.groups[1].standings}
    assert sum(wins.values()) == sum(pair.wins_a + pair.wins_b for pair in of_pairs)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (study(["first"] * 24 + ["second"] * 2), "a was found better than b in 92 % of 26 decided judgements (95 %"),
        (study(["first", "second"] * 12), "a and b cannot be told apart; a was found better than b in 50 % of 24"),
        (study(["tie"] * 4), "a and b cannot be told apart; none of 4 judgements favoured either."),
        (study(["first"]), "; too few workers for an interval and a p-value (at least 3 are needed)."),
        ([], "No item has been judged yet"),
    ],
)
def test_the_headline_claims_no_more_than_the_data(records, words):
    """Clear, equal, all ties, one worker, nothing."""
    assert words in build_report(tables(records)).headline


def test_judgements_that_only_seem_independent_are_called_so():
    """One worker of thirty answers for a, all others are split: the binomial test sees a difference that is one person."""
    eager = [make_pair(f"e{i}", "a", "b", "first", worker="eager", item=f"e{i}") for i in range(40)]
    split = study(["first", "second"] * 30)
    (group,) = build_report(tables(eager + split)).groups
    (pair,) = group.pairs
    assert pair.paper.p_value < 0.05 < pair.win_rate_a.p_value
    assert any(remark.startswith("Taken as independent, the judgements would show") for remark in group.remarks)
