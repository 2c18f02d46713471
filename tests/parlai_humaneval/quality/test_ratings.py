"""Checks on slider ratings, against reference cases and a published data set with its expected counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rated import POSITIVE, REVERSED, assessed, rated_alike

from parlai_humaneval.quality.answers import constant_scores, degraded_rated_lower, rank_sum

SHARED = Path(__file__).resolve().parents[4] / "shared"


def test_reference_cases() -> None:
    path = SHARED / "reference" / "gold_cases.json"
    if not path.is_file():
        pytest.skip("the reference cases are not beside this checkout")
    cases = [case for case in json.loads(path.read_text(encoding="utf-8")) if case["function"] == "worker_passes"]
    assert len(cases) >= 3
    for case in cases:
        found = degraded_rated_lower(*case["args"], **case["kwargs"])
        assert found.passed is case["expected"]["passed"], case["note"]
        assert found.p == pytest.approx(case["expected"]["p"], rel=case["tolerance"], abs=case["tolerance"])


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    """1,824 rated dialogues of Ji et al. 2022, run 1: a row per dialogue."""
    path = SHARED / "data" / "dialogue_eval_run1" / "ratings.csv"
    if not path.is_file():
        pytest.skip("the published ratings are not beside this checkout")
    return pd.read_csv(path).rename(columns={"worker": "worker_id"})


def long_form(published: pd.DataFrame) -> pd.DataFrame:
    columns = [*POSITIVE, *REVERSED]
    return published.melt(["worker_id", "model"], columns, var_name="criterion", value_name="value")


def by_worker(ratings: pd.DataFrame, criteria: tuple[str, ...] = tuple(POSITIVE)) -> pd.DataFrame:
    """The check of every worker on all of their ratings by ``criteria``."""
    used = ratings[ratings["criterion"].isin(criteria) & ratings["value"].notna()]
    found = {
        worker: degraded_rated_lower(rows.loc[rows["model"] == "qc", "value"], rows.loc[rows["model"] != "qc", "value"])
        for worker, rows in used.groupby("worker_id")
    }
    return pd.DataFrame.from_dict(found, orient="index", columns=["passed", "p"])


def test_published_workers_pass_as_published(published: pd.DataFrame) -> None:
    """173 of 248 workers pass, the very ones of the authors; by all seven criteria only 149 would."""
    expected = json.loads((SHARED / "data" / "dialogue_eval_run1" / "expected.json").read_text(encoding="utf-8"))
    ratings = long_form(published)
    table = by_worker(ratings)
    assert (len(table), table["passed"].sum()) == (expected["workers"], expected["workers_passed"])
    released = published.groupby("worker_id")["released_split"].first() == "pass"
    assert (table["passed"] == released.reindex(table.index)).all()
    kept = published[published["worker_id"].isin(table.index[table["passed"]]) & (published["model"] != "qc")]
    assert len(kept) == expected["dialogues_passed"]
    assert by_worker(ratings, (*POSITIVE, *REVERSED))["passed"].sum() == 149


def test_records_give_the_same_verdicts_as_the_table(published: pd.DataFrame) -> None:
    """The path from records, on the first published workers: all units pooled, reversed criteria left out."""
    table = by_worker(long_form(published))
    for worker in list(table.index[:40]):
        own = published[published["worker_id"] == worker]
        records = [
            assessed(str(row["model"]), {name: float(row[name]) for name in (*POSITIVE, *REVERSED)}, degraded="qc")
            for _, row in own.iterrows()
        ]
        finding = rank_sum(records)
        assert finding.passed == table.loc[worker, "passed"]
        assert finding.value == pytest.approx(table.loc[worker, "p"])


def test_nan_is_an_error_and_not_a_verdict() -> None:
    with pytest.raises(ValueError, match="leave out unanswered ratings"):
        degraded_rated_lower([1.0, float("nan")], [50.0, 60.0])


RATINGS = st.lists(st.integers(0, 100), min_size=1, max_size=40)


@given(RATINGS, RATINGS)
def test_p_is_a_probability_and_decides(low: list[int], high: list[int]) -> None:
    found = degraded_rated_lower(low, high)
    assert 0 <= found.p <= 1
    assert found.passed is (found.p < 0.05)
    mirrored = degraded_rated_lower([100 - x for x in low], [100 - x for x in high])
    assert not (found.passed and mirrored.passed), "nobody rates the degraded model both lower and higher"


def test_a_careful_worker_passes_both() -> None:
    records = [rated_alike("bad", 10, 90), *(rated_alike(f"m{n}", 60 + n, 30) for n in range(5))]
    assert rank_sum(records).passed is True
    assert constant_scores(records).passed is True


def test_reversed_criteria_do_not_count() -> None:
    """Alike on what is good, and the degraded model less robotic: only with the reversed ones could this pass."""
    records = [rated_alike("bad", 50, 0), *(rated_alike(f"m{n}", 50, 100) for n in range(5))]
    finding = rank_sum(records)
    assert (finding.passed, finding.value) == (False, 1.0)


def test_the_same_number_everywhere_fails_both() -> None:
    records = [rated_alike("bad", 70, 70), *(rated_alike(f"m{n}", 70, 70) for n in range(5))]
    assert constant_scores(records).passed is False
    assert constant_scores(records).reason == "All 42 slider ratings are 70."
    assert rank_sum(records).passed is False


def test_likert_ratings_are_no_sliders() -> None:
    record = rated_alike("m1", 3, 3)
    for criterion in record.criteria:
        criterion.scale = "likert"
    assert constant_scores([record]).passed is None


@pytest.mark.parametrize(
    "records",
    [
        [],
        [assessed("m1", {})],
        [rated_alike("bad", 1, 1)],
        [rated_alike("m1", 1, 1)],
        [rated_alike("m1", 1, 1, degraded="")],
    ],
)
def test_without_both_sides_rank_sum_cannot_be_judged(records: list[Any]) -> None:
    finding = rank_sum(records)
    assert finding.passed is None
    assert "has not rated" in finding.reason
