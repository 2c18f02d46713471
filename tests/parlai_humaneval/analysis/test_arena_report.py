"""The report of an arena: verdicts for one, the other, both or neither."""

from __future__ import annotations

import pytest
from make_live_records import make_verdict

from parlai_humaneval.analysis.reports.arena.build import build_report
from parlai_humaneval.statistics.shares import binomial_p
from parlai_humaneval.tables.from_records import tables


def study(verdicts, models=("m1", "m2"), prefix="d"):
    """A verdict of each of several workers, in a round."""
    return [
        make_verdict(f"{prefix}{i}", verdict, worker=f"w{i % 12}", models=models) for i, verdict in enumerate(verdicts)
    ]


def test_counts_and_win_rate_by_hand():
    """9 for m1, 3 for m2, 2 ties, 1 both bad: 9 of 12 decided."""
    (pair,) = build_report(tables(study(["a"] * 9 + ["b"] * 3 + ["tie"] * 2 + ["both_bad"]))).pairs
    assert (pair.wins_a, pair.wins_b, pair.ties, pair.both_bad, pair.n_verdicts) == (9, 3, 2, 1, 15)
    assert (pair.win_rate_a.estimate, pair.win_rate_a.n) == (0.75, 12)
    assert pair.binomial_p == binomial_p(9, 12)
    assert [(row.position, row.chosen, row.shown) for row in pair.by_position] == [(1, 9, 12), (2, 3, 12)]


def test_sides_are_told_from_models():
    """Half of the time m2 stands left, and is “a”."""
    records = study(["a"] * 6) + study(["b"] * 6, models=("m2", "m1"), prefix="e")
    report = build_report(tables(records))
    (pair,) = report.pairs
    assert (pair.model_a, pair.wins_a, pair.wins_b) == ("m1", 12, 0)
    assert [row.chosen for row in pair.by_position] == [6, 6]
    assert [(row.model, row.wins, row.losses) for row in report.models] == [("m1", 12, 0), ("m2", 0, 12)]


def test_several_pairs_are_corrected():
    """Holm over both; a model is summed over its opponents."""
    records = study(["a", "b", "a"] * 4) + study(["a"] * 7 + ["b"] * 5, models=("m2", "m3"), prefix="e")
    report = build_report(tables(records))
    one, two = report.pairs
    smallest = min((one, two), key=lambda pair: pair.win_rate_a.p_value)
    assert smallest.win_rate_a.p_holm == pytest.approx(min(1, 2 * smallest.win_rate_a.p_value))
    (m2,) = [row for row in report.models if row.model == "m2"]
    assert (m2.wins, m2.losses) == (4 + 7, 8 + 5)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["a"] * 22 + ["b"] * 2, "preference: m1 was found better than m2 in 92 % of 24 decided verdicts"),
        (["a", "b"] * 12, "preference: m1 and m2 cannot be told apart; m1 was found better than m2 in 50 %"),
        (["tie", "both_bad"], "preference: m1 and m2 cannot be told apart; none of 2 verdicts favoured either."),
        (["a"], "; too few workers for an interval and a p-value (at least 3 are needed)."),
    ],
)
def test_headlines(verdicts, words):
    """Clear, open, undecided, one worker."""
    assert words in build_report(tables(study(verdicts))).headline


def test_no_verdict_yet():
    """An unfinished dialogue has none; nothing at all is no error."""
    record = make_verdict("d1", "a").model_copy(update={"verdict": None, "verdict_model": None, "status": "partial"})
    for records in ([], [record]):
        report = build_report(tables(records))
        assert report.pairs == report.models == []
        assert report.headline.startswith("No verdict has been given yet")
    given = build_report(tables([make_verdict("d1", "a", status="partial")]))
    assert "1 verdict of unfinished dialogues left out." in given.pairs[0].remarks
    assert given.pairs[0].binomial_p == 1
