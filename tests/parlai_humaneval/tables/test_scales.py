"""Ratings on several scales are never averaged or standardised together: they are told apart, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from make_live_records import make_assessment, make_ticked

from parlai_humaneval.importers.tidy import TidyPlan, read_tidy, table_paths
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.statistics.ratings.likert import likert_groups
from parlai_humaneval.statistics.ratings.sliders import assessed
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables

OVERALL = Path(__file__).parents[4] / "shared" / "cases" / "F9_criterion_called_overall"
RIGHT = {"c": 0.215, "a": 0.030, "b": -0.245}


def ratings(scales, workers=6, **columns):
    """Each worker rates two models on criteria → (lowest, highest)."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "dialogue_id": f"d{worker}{model}",
            "worker_id": f"w{worker}",
            "model": model,
            "criterion": criterion,
            "value": int(rng.integers(low, high + 1)),
            "degraded": "",
            **columns,
        }
        for worker in range(workers)
        for model in "ab"
        for criterion, (low, high) in scales.items()
    ]
    return pd.DataFrame(rows)


def named(frame, scales):
    """With the columns that say where each scale ends."""
    ends = [scales[criterion] for criterion in frame["criterion"]]
    return frame.assign(minimum=[low for low, _ in ends], maximum=[high for _, high in ends])


def saved(folder, frame, name="ratings"):
    frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


TWO = {"engaging": (1, 5), "quality": (20, 100)}


def test_unnamed_scales_of_two_kinds_are_refused(tmp_path):
    """Guards a z over 0–100 and 1–5 together, in which the longer scale decides alone. The error says what to add."""
    with pytest.raises(
        TableError, match=r"minimum and maximum \(1 and 5, or 0 and 100\): every rating on 'engaging' is 10"
    ):
        read_tables(saved(tmp_path, ratings(TWO)))


@pytest.mark.parametrize("worker", ["w", "w0"])
@pytest.mark.parametrize(("points", "step"), [(10, 0.5), (100, 0.01)])
def test_halves_and_shares_are_a_scale_of_their_own(tmp_path, points, step, worker):
    """Guards 1–5 with halves, and 0–1, next to 0–100: on one criterion, or by one worker of all."""
    rng = np.random.default_rng(4)
    frame = ratings({"fluent": (20, 100), "quality": (20, 100)})
    short = frame["worker_id"].eq(worker) if worker == "w0" else frame["criterion"].eq("quality")
    frame["value"] = frame["value"].astype(float).where(~short, (step * rng.integers(2, points, len(frame))).round(2))
    with pytest.raises(TableError, match="ratings on two scales cannot be standardised together"):
        read_tables(saved(tmp_path, frame))


def test_import_refuses_them_too_and_can_leave_them_out(tmp_path):
    """Also where the two scales come from two files."""
    for name, scales in (("one", {"engaging": (1, 5)}), ("two", {"quality": (20, 100)})):
        saved(tmp_path, ratings(scales).assign(dialogue_id=lambda f, name=name: f["dialogue_id"] + name), name)
    files = [("ratings", tmp_path / "one.csv"), ("ratings", tmp_path / "two.csv")]
    with pytest.raises(TableError, match="cannot be standardised together"):
        read_tidy(files, TidyPlan())
    kept = read_tidy(table_paths([saved(tmp_path, ratings(TWO))], None), TidyPlan(), skip_bad=True)
    assert set(kept.tables.ratings["criterion"]) == {"quality"}
    assert any("'engaging' is 10 or less" in line for line in kept.skipped)


def test_workers_on_two_scales_are_refused(tmp_path):
    """Two studies in one table under the same criterion: half of the workers had five points."""
    frame = ratings({"fluent": (20, 100), "fun": (20, 100)})
    short = frame["worker_id"] < "w3"
    frame.loc[short, "value"] = 1 + np.arange(short.sum()) % 5
    with pytest.raises(TableError, match="every rating of rater 'w0' is 10 or less"):
        read_tables(saved(tmp_path, frame))


def test_named_scales_are_told_apart(tmp_path):
    """Sliders are standardised, and points are averaged: what each says alone."""
    both = read_tables(saved(tmp_path, named(ratings(TWO), TWO)))
    alone = replace(both, ratings=both.ratings[both.ratings["criterion"] == "quality"])
    document = build_report(both, Options(draws=10))
    assert [group.criterion for group in likert_groups(both)] == ["engaging"]
    assert (
        document.sections["direct_assessment"].models
        == build_report(alone, Options(draws=10)).sections["direct_assessment"].models
    )


def test_techniques_and_settings_are_looked_at_apart(tmp_path):
    """Another technique may have another scale, without a word about either; another setting of the same may not."""
    sliders = ratings({"quality": (20, 100)}, technique="direct_assessment", setting="x")
    points = ratings({"quality": (1, 5)}, technique="single_model", setting="x")
    read = read_tables(saved(tmp_path, pd.concat([sliders, points])))
    assert [group.technique for group in likert_groups(read)] == ["single_model"]
    with pytest.raises(TableError, match="cannot be standardised together"):
        read_tables(saved(tmp_path, pd.concat([sliders, points.assign(technique="direct_assessment", setting="y")])))


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        (
            {"fluent": (0, 100), "fun": (0, 50)},
            "maximum: 50.0 in row 3, and the same in rows 5, 7, 9.* expected 100, as in the first rating of this technique",
        ),
        (
            {"fluent": (0, 100), "fun": (-50, 100)},
            "minimum: -50.0 in row 3, and the same in rows .* expected 0, as in the first rating",
        ),
    ],
)
def test_sliders_of_one_technique_have_the_same_ends(tmp_path, scales, words):
    """All of a worker's ratings are standardised together, and raw scores are averaged over criteria."""
    with pytest.raises(TableError, match=words):
        read_tables(saved(tmp_path, named(ratings(scales), scales)))


def test_sliders_without_ends_are_not_put_with_others(tmp_path):
    """Ends that nobody named are 0 and 100: these are not standardised with a scale to 1000."""
    frame = ratings({"fluent": (20, 100), "fun": (20, 100)})
    frame.loc[frame["criterion"] == "fun", "maximum"] = 1000
    with pytest.raises(TableError, match=r"maximum: 1000\.0 in row 2, expected 100, as in the first rating"):
        assessed(read_tables(saved(tmp_path, frame)))


def test_a_criterion_has_one_scale(tmp_path):
    """Guards the mean of a five-point and a seven-point scale."""
    frame = ratings({"engaging": (1, 5)}).assign(minimum=1, maximum=[5, 7] * 6)
    words = r"maximum: 7\.0 in row 3, and the same in rows 5, 7, 9, 11, 13, expected 5, as in the first rating of its"
    with pytest.raises(TableError, match=words):
        read_tables(saved(tmp_path, frame))
    read_tables(saved(tmp_path, frame.assign(setting=["five", "seven"] * 6)))


def test_a_reversed_criterion_is_not_turned_round_at_ends_that_nobody_gave(tmp_path):
    """Guards 100 − x of a rating from 1 to 5."""
    scales = {"robotic": (1, 5), "fun": (1, 5)}
    frame = ratings(scales).assign(degraded=lambda rows: (rows["model"] == "b").astype(int))
    with pytest.raises(TableError, match="'robotic' is reversed, and no rating says where its scale ends"):
        assessed(read_tables(saved(tmp_path, frame)))
    found = assessed(read_tables(saved(tmp_path, named(frame, scales))))
    assert found.ratings["raw"].between(1, 5).all()
    assert assessed(read_tables(saved(tmp_path, frame.replace({"robotic": "fluent"})))) is not None


def test_records_name_their_scales():
    """A study with sliders and points of its own is read as ever."""
    data = tables([*make_assessment({"a": 70, "b": 60, "qc": 20}, workers=3), make_ticked("d", worker="w9")])
    assert len(assessed(data).everyone)
    assert likert_groups(data)


def test_few_low_ratings_are_no_second_scale(tmp_path):
    """Three low ratings, or a worker who left every slider at its end, say nothing."""
    frame = ratings({"fluent": (20, 100), "fun": (20, 100)})
    frame.loc[frame["worker_id"] == "w0", "value"] = 0
    frame.loc[frame.index[-1], ["criterion", "value"]] = ["dull", 4]
    assert len(read_tables(saved(tmp_path, frame)).ratings) == len(frame)


def _overall(folder):
    section = build_report(read_tables(folder), Options(draws=10)).sections["direct_assessment"]
    return section, {row.model: round(row["overall"], 3) for row in section.models}


@pytest.mark.parametrize("criteria", [("fluent", "overall"), ("fluent", "quality"), ("overall", "fluent")])
def test_a_criterion_called_overall_changes_nothing(tmp_path, criteria):
    """The overall score is the mean of both criteria's, and nobody is told to lack one."""
    frame = ratings(dict(zip(criteria, ((20, 60), (30, 100)), strict=True)))
    section, overall = _overall(saved(tmp_path, frame))
    for row in section.models:
        assert overall[row.model] == round(np.mean([row.z[name].estimate for name in criteria]), 3)
    assert not any("Not rated on every criterion" in remark for remark in section.remarks)


def test_a_criterion_called_overall_alone_is_complete(tmp_path):
    """It had the remark that models were not rated on every criterion."""
    section, _ = _overall(saved(tmp_path, ratings({"overall": (20, 100)})))
    assert not any("Not rated on every criterion" in remark for remark in section.remarks)
    assert section.basis.criteria == ["overall"]


@pytest.mark.skipif(not OVERALL.is_dir(), reason="the published cases are not beside this checkout")
@pytest.mark.parametrize("case", ["called_overall", "called_quality"])
def test_the_published_case(case):
    """c leads, whatever the second criterion is called."""
    section, overall = _overall(OVERALL / case)
    assert list(overall) == ["c", "a", "b"]
    assert overall == pytest.approx(RIGHT, abs=0.0006)
    assert section.headline.startswith("c has the highest mean")
