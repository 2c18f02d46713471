"""Raters who all agree in the report, and answers that depend on whether every answer counts or every worker once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections import comparisons, direct_assessment, likert
from parlai_humaneval.tables.files import read_tables

CASE = Path(__file__).resolve().parents[4] / "shared" / "cases" / "D5_unanimous_ratings"
LEVELS = [3, 4, 5, 4, 3, 5, 4, 4, 3, 5, 4, 5]
"""How strict twelve workers are."""


def written(folder, name, frame):
    """The tables of a folder with this one file."""
    frame.to_csv(folder / f"{name}.csv", index=False)
    return read_tables(folder)


def rated(behind):
    """Ratings of a table from elsewhere: each worker rates each model once, so many points below their level."""
    rows = [
        (f"d{number}{model}", f"w{number}", model, "engaging", float(level - points))
        for number, level in enumerate(LEVELS)
        for model, points in behind.items()
    ]
    return pd.DataFrame(rows, columns=["dialogue_id", "worker_id", "model", "criterion", "value"]).assign(degraded=None)


def check(tables, gaps):
    """Gaps and Holm's p of pairs by their models; the verdict names a pair that differs."""
    section = likert.build(tables, Options())
    (summary,) = section.summary()
    found = {(pair.first, pair.second): pair for pair in summary.pairs}
    assert {models: (pair.gap, pair.p_decides) for models, pair in found.items()} == {
        models: (pytest.approx(gap), pytest.approx(p)) for models, (gap, p) in gaps.items()
    }
    assert {pair.family_tests for pair in summary.pairs} == {len(gaps)}
    assert all(pair.differs == (p < 0.05) for pair, (_, p) in zip(found.values(), gaps.values(), strict=True))
    assert "0.000 points" not in summary.verdict
    assert "estimated" not in summary.verdict
    return summary


P = 2.0**-11
THREE = {("a", "c"): (2.0, 3 * P), ("b", "c"): (2.0, 3 * P), ("a", "b"): (0.0, 1.0)}
TWO = {("a", "b"): (1.0, P)}


def test_three_models_of_which_two_are_alike(tmp_path):
    """All see c two points below a and b: two pairs differ, the clearest is one of them, and nobody leads."""
    summary = check(written(tmp_path, "ratings", rated({"a": 0, "b": 0, "c": 2})), THREE)
    assert summary.verdict.startswith("2 of 3 pairs of models differ")
    assert "2.000 points" in summary.verdict


def test_two_models(tmp_path):
    """All see b one point below a: the p of all signs alike."""
    check(written(tmp_path, "ratings", rated({"a": 0, "b": 1})), TWO)


@pytest.mark.skipif(not CASE.is_dir(), reason="the case is not next to this checkout")
@pytest.mark.parametrize(("folder", "gaps"), [("three_models", THREE), ("two_models", TWO)])
def test_the_case_itself(folder, gaps):
    """The files of the case have the values that its description gives."""
    check(read_tables(CASE / folder), gaps)


def test_one_who_disagrees_is_less_evidence(tmp_path):
    """With one worker who sees one point less the p is no smaller than where all agree."""
    frame = rated({"a": 0, "b": 2})
    frame.loc[frame["dialogue_id"] == "d0b", "value"] += 1
    (summary,) = likert.build(written(tmp_path, "ratings", frame), Options()).summary()
    assert summary.pairs[0].p_decides >= P


def test_sliders(tmp_path):
    """The same on sliders, where scores are standardised by worker."""
    frame = rated({"a": 0, "b": 0, "c": 2}).assign(
        technique="direct_assessment", scale="slider", minimum=0.0, maximum=100.0
    )
    section = direct_assessment.build(written(tmp_path, "ratings", frame), Options())
    p_values = {(pair.model_a, pair.model_b): pair.difference.p_value for pair in section.pairs}
    assert {tuple(sorted(pair)): pytest.approx(p) for pair, p in p_values.items()} == {
        ("a", "b"): 1.0,
        ("a", "c"): P,
        ("b", "c"): P,
    }


def judged(wins_of_workers):
    """Comparisons of a table from elsewhere: of each worker, how many A won and how many B."""
    rows = [
        (f"i{worker}-{number}", f"w{worker}", "a", "b", "a" if number < a else "b")
        for worker, (a, b) in enumerate(wins_of_workers)
        for number in range(a + b)
    ]
    names = ["item_id", "worker_id", "model_a", "model_b", "winner"]
    return pd.DataFrame(rows, columns=names).assign(metric="preference", dialogue_a=None, dialogue_b=None, seconds=None)


def test_a_few_diligent_workers_against_the_others(tmp_path):
    """Eight who gave forty answers prefer a, thirty who gave two prefer b: what leads depends on who counts how often."""
    rng = np.random.default_rng(0)
    diligent = [(int(n), 40 - int(n)) for n in rng.integers(27, 36, 8)]
    others = [(0, 2)] * 22 + [(1, 1)] * 6 + [(2, 0)] * 2
    section = comparisons.build(written(tmp_path, "comparisons", judged(diligent + others)), Options())
    (summary,) = section.summary()
    (pair,) = summary.pairs
    assert (pair.first, pair.differs) == ("a", True)
    assert pair.gap_per_worker < 0
    assert pair.p_per_worker < 0.05
    assert sum("every rater counts once" in remark for remark in summary.remarks) == 1
    row = section.pairs[0]
    assert row["per_worker"] == pytest.approx((1 + pair.gap_per_worker) / 2)
    assert row["p_per_worker_holm"] == pair.p_per_worker


def test_workers_with_equal_numbers_have_one_answer(tmp_path):
    """Where everybody gave as many answers both are the same number, and nothing is remarked."""
    frame = judged([(3, 1), (4, 0), (2, 2), (3, 1), (4, 0), (1, 3), (3, 1), (4, 0)])
    section = comparisons.build(written(tmp_path, "comparisons", frame), Options())
    (summary,) = section.summary()
    (pair,) = summary.pairs
    assert (pair.gap_per_worker, pair.p_per_worker) == (pytest.approx(pair.gap), pytest.approx(pair.p_decides))
    assert not any("every rater counts once" in remark for remark in summary.remarks)
