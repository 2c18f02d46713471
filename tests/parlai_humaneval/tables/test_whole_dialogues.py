"""Whole dialogues that a third party rates on scales: means in one section, agreement in another."""

from __future__ import annotations

from make_judgements import make_whole, shown

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections import agreement, likert
from parlai_humaneval.tables.build import tables


def test_whole_dialogues_are_means_by_model_and_dimension():
    """overall 4 and 2 for a, 5 for b; two raters of d1 agree on nothing."""
    chats = {"d1": "a", "d2": "b"}
    given = [("d1", 4, 3), ("d1", 2, 1), ("d2", 5, 2)]
    records = [
        make_whole(f"j{i}", shown(d, (chats[d],) * 2, judged=0), {"overall": o, "coherence": c}, worker=f"t{i}")
        for i, (d, o, c) in enumerate(given)
    ]
    rated = likert.build(tables(records), Options())
    assert {
        (row.criterion, row.model): (row["n"], row["mean"], row["minimum"], row["maximum"]) for row in rated.models
    } == {
        ("overall", "a"): (2, 3.0, 1, 5),
        ("overall", "b"): (1, 5.0, 1, 5),
        ("coherence", "a"): (2, 2.0, 1, 3),
        ("coherence", "b"): (1, 2.0, 1, 3),
    }
    twice = agreement.build(tables(records), Options(draws=100))
    assert [(row.technique, row.what, row.scale, row.n) for row in twice.rows] == [
        ("third_party", "coherence", "interval", 1),
        ("third_party", "overall", "interval", 1),
    ]
