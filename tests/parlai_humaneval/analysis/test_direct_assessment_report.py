"""The report of a direct assessment: who passed, and their scores; the published data stand with the math."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from make_live_records import SLIDERS, make_assessment, make_rated
from rich.console import Console

from parlai_humaneval.analysis.reports.direct_assessment.build import build_report
from parlai_humaneval.analysis.reports.direct_assessment.render import parts
from parlai_humaneval.analysis.reports.direct_assessment.words import basis
from parlai_humaneval.tables.from_records import tables

QUALITY = {"good": 75, "fair": 60, "poor": 45, "qc": 15}


def careless(worker):
    """Rates the degraded model best."""
    levels = {"good": 20, "fair": 40, "poor": 30, "qc": 90}
    return [
        make_rated(
            f"{worker}-{model}",
            model,
            {name: level + i for i, name in enumerate(SLIDERS)},
            worker=worker,
            session=worker,
        )
        for model, level in levels.items()
    ]


def test_the_headline_rests_on_workers_who_passed():
    """A worker who likes the degraded model best is in the other table only."""
    (group,) = build_report(tables([*make_assessment(QUALITY), *careless("x")])).groups
    assert (len(group.workers), group.workers_passed) == (13, 12)
    (failed,) = [row for row in group.workers if not row.passed]
    assert (failed.worker, failed.p > 0.9) == ("x", True)
    assert [row.model for row in group.passed.models] == ["good", "fair", "poor"]
    assert [row.dialogues for row in group.passed.models] == [12] * 3
    assert [row.dialogues for row in group.everyone.models] == [13] * 3
    assert "12 of 13 workers passed the check." in group.remarks
    assert group.headline.startswith("free: overall z by 12 workers who passed the check: good ")


def test_overall_is_the_mean_of_the_criteria():
    """Raw ratings with the reversed ones turned round."""
    records = make_assessment(QUALITY)
    (group,) = build_report(tables(records)).groups
    best = group.passed.models[0]
    assert best.overall.raw.estimate == pytest.approx(np.mean([c.raw.estimate for c in best.criteria.values()]))
    assert best.overall.z.estimate == pytest.approx(np.mean([c.z.estimate for c in best.criteria.values()]))
    own = [r.final_ratings["robotic"] for r in records if r.models[0].name == "good"]
    assert best.criteria["robotic"].raw.estimate == pytest.approx(100 - np.mean(own))
    assert group.reversed == ["repetitive", "robotic"]


def test_pairs_go_from_better_to_worse_and_are_corrected():
    """Three pairs, Holm's correction, the paper's one-sided test beside."""
    (group,) = build_report(tables(make_assessment(QUALITY))).groups
    pairs = group.passed.pairs
    assert [(pair.model_a, pair.model_b) for pair in pairs] == [("good", "fair"), ("good", "poor"), ("fair", "poor")]
    assert all(pair.difference.estimate > 0 and pair.paper_p < 0.05 for pair in pairs)
    assert all(pair.difference.p_holm >= pair.difference.p_value for pair in pairs)


def test_constant_scores_do_not_pass_and_have_no_z():
    """They are still in the raw means of all workers."""
    constant = [make_rated(f"c-{m}", m, worker="c", session="c") for m in QUALITY]
    (group,) = build_report(tables([*make_assessment(QUALITY), *constant])).groups
    assert (group.workers_constant, group.workers_passed) == (1, 12)
    cell = group.everyone.models[0].overall
    assert (cell.raw.n, cell.z.n) == (13, 12)
    assert any("gave one and the same rating throughout" in remark for remark in group.remarks)


def test_without_a_degraded_model_nobody_is_checked():
    """The numbers rest on everyone, and that is said."""
    records = [r for r in make_assessment(QUALITY) if r.models[0].name != "qc"]
    (group,) = build_report(tables(records)).groups
    assert not group.checked
    assert "There was no degraded model, so that no worker could be checked." in group.remarks
    assert "by all workers, unchecked: good " in group.headline


def test_nobody_passed():
    """The scores of everyone are shown, and not trusted."""
    (group,) = build_report(tables(careless("x"))).groups
    assert group.headline == (
        "free: none of 1 worker told the degraded model, which is bad on purpose, from the others. Who answers at "
        "random would not either, so no score can be trusted."
    )
    assert group.passed.models == []
    assert basis(group) is group.everyone


def test_unfinished_conversations_do_not_count():
    """They count when asked for; a task without ratings is no error."""
    records = make_assessment(QUALITY)
    records[0].status = "partial"
    (group,) = build_report(tables(records)).groups
    assert group.everyone.dialogues == 35
    (group,) = build_report(tables(records), include_partial=True).groups
    assert group.everyone.dialogues == 36
    assert build_report(tables([])).headline.startswith("No dialogue has been rated to its end yet")


def test_settings_are_reported_apart():
    """Free topics and ice-breakers of one task."""
    records = make_assessment(QUALITY)
    for record in records[::2]:
        record.setting = "icebreaker"
    assert [group.setting for group in build_report(tables(records)).groups] == ["free", "icebreaker"]


def test_only_the_degraded_model_rated():
    """A sentence, no empty tables and no notes on them."""
    report = build_report(tables([make_rated("d1", "qc")]))
    assert report.headline == ("free: only the degraded model has been rated, so nothing can be said about the others.")
    assert report.groups[0].remarks == []
    assert list(parts(report)) == []
    assert report.methods == []


def test_a_sentence_begins_with_a_capital():
    """Where no setting stands before it."""
    records = [record.model_copy(update={"setting": ""}) for record in careless("x")]
    assert build_report(tables(records)).headline.startswith("None of 1 worker told the degraded model")


def test_long_criteria_are_not_broken():
    """Sixteen letters, turned round or not, each on one line of 80 columns."""
    names = ["interestingness", "trustworthiness", "informativeness", "understandable"]
    records = [
        make_rated(f"{w}-{m}", m, dict.fromkeys(names, level + w), worker=f"w{w}", session=f"s{w}")
        for w in range(4)
        for m, level in (("blenderbot_3B_with_a_long_name", 70), ("b", 50), ("qc", 10))
    ]
    stream = StringIO()
    console = Console(file=stream, width=80)
    for part in parts(build_report(tables(records))):
        console.print(part)
    for name in names:
        assert name in stream.getvalue()
