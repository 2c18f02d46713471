"""Slider ratings on one scale and the check of workers: reference cases, and the published data of Ji et al. 2022."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from make_live_records import REVERSED, SLIDERS, make_rated

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.direct_assessment import build
from parlai_humaneval.statistics.ratings.sliders import reverse_scored, standardise, standardised, worker_checks
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import from_rows

RUN1 = Path(__file__).resolve().parents[4] / "shared" / "data" / "dialogue_eval_run1"


def ratings_of(worker, degraded, others):
    """A table of one worker's ratings, all of one positive criterion."""
    rows = [(value, 1) for value in degraded] + [(value, 0) for value in others]
    return from_rows(
        "ratings",
        [
            {
                "dialogue_id": str(number),
                "worker_id": worker,
                "technique": "direct_assessment",
                "setting": "",
                "model": "qc" if is_degraded else "a",
                "criterion": "fluent",
                "value": value,
                "reversed": 0,
                "degraded": is_degraded,
            }
            for number, (value, is_degraded) in enumerate(rows)
        ],
    )


def test_reference_cases(gold_cases):
    """z with n − 1; none for constant scores; who passes the check."""
    names = {case["function"] for case in gold_cases}
    assert {"worker_z", "worker_passes"} <= names
    for case in gold_cases:
        if case["function"] == "worker_z":
            got = standardise(*case["args"])
            expected = case["expected"]
            assert got is None if expected is None else np.allclose(got, expected, atol=1e-9)
        if case["function"] == "worker_passes":
            row = worker_checks(ratings_of("w", *case["args"])).iloc[0]
            assert row["passed"] == case["expected"]["passed"]
            assert row["p"] == pytest.approx(case["expected"]["p"])


def test_a_reversed_criterion_is_turned_round():
    """90 robotic is 10; fluent stays."""
    table = tables([make_rated("d", ratings={"fluent": 80, "robotic": 90})]).ratings
    assert reverse_scored(table).tolist() == [80, 10]


def test_standardised_ratings_of_each_worker_have_mean_0_and_sd_1():
    """All models count, the degraded one's too; a worker with one rating throughout has no z."""
    records = [
        make_rated("d1", "a", {"fluent": 80, "robotic": 30}, worker="w1"),
        make_rated("d2", "qc", {"fluent": 10, "robotic": 90}, worker="w1"),
        make_rated("d3", "a", {"fluent": 50, "robotic": 50}, worker="w2"),
    ]
    z = standardised(tables(records).ratings)
    assert z[:4].mean() == pytest.approx(0)
    assert z[:4].std(ddof=1) == pytest.approx(1)
    assert np.isnan(z[4:]).all()


def test_a_worker_who_saw_no_degraded_model_does_not_pass():
    """There is nothing to check them by."""
    row = worker_checks(ratings_of("w", [], [10, 90])).iloc[0]
    assert (row["passed"], row["p"], row["constant"]) == (False, 1, False)


@pytest.fixture(scope="module")
def run1():
    """The published ratings as a table, and what the paper says of them."""
    if not RUN1.is_dir():
        pytest.skip("the published ratings are not beside this checkout")
    with (RUN1 / "ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            {
                "dialogue_id": str(number),
                "worker_id": row["worker"],
                "technique": "direct_assessment",
                "setting": "free",
                "model": row["model"],
                "criterion": criterion,
                "value": row[criterion],
                "reversed": int(criterion in REVERSED),
                "degraded": int(row["model"] == "qc"),
            }
            for number, row in enumerate(csv.DictReader(file))
            for criterion in SLIDERS
        ]
    expected = json.loads((RUN1 / "expected.json").read_text(encoding="utf-8"))
    names = ("turns", "dialogues", "comparisons")
    return Tables(*(from_rows(name, []) for name in names), ratings=from_rows("ratings", rows)), expected


def test_the_published_scores_come_out(run1):
    """173 of 248 workers pass; raw and standardised means of ten models on seven criteria, and overall."""
    data, expected = run1
    section = build(data, Options(draws=100))
    assert section is not None
    assert (section.workers.total, section.workers.passed) == (expected["workers"], expected["workers_passed"])
    assert (section.dialogues.total, section.dialogues.passed) == (expected["dialogues"], expected["dialogues_passed"])
    assert {row.model for row in section.models} == set(expected["z"])
    for row in section.models:
        assert row.n_ratings == expected["n_ratings"][row.model]
        for name, score in {"overall": row.z_overall, **row.z}.items():
            assert score.estimate == pytest.approx(expected["z"][row.model][name], abs=6e-5)
        for name, score in {"overall": row.raw_overall, **row.raw}.items():
            assert score.estimate == pytest.approx(expected["raw"][row.model][name], abs=6e-4)
    assert [row.model for row in section.models][:3] == ["A", "B", "A_p"]
