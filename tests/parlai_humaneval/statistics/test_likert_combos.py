"""Turns and final ratings of the same conversations together."""

from __future__ import annotations

import json

import numpy as np
import pytest
from make_comparisons import exchange_tables, ratings_frame, tick_study
from make_live_records import make_ticked
from scipy.stats import mannwhitneyu, ttest_ind

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.likert import build
from parlai_humaneval.statistics.preference.win_rates import sm_combo_score
from parlai_humaneval.tables.build import tables


def test_combos_of_our_own_records_by_hand():
    """Half of turns 3–6 good, and the rating from 1–5 to 0–1, weighted 1:5 and 1:10; tested as scipy does."""
    rng = np.random.default_rng(0)
    records, scores = [], {"a": [], "b": []}
    for i in range(40):
        model, ticks = "ab"[i % 2], [["engaging"] if rng.random() < 0.5 else [] for _ in range(8)]
        rating = int(rng.integers(1, 6))
        name = f"d{i}"
        records.append(make_ticked(name, ticks, model=model, worker=f"w{i % 9}", ratings={"engaging": rating}))
        scores[model].append((sum(map(bool, ticks[2:6])) >= 2, rating))
    section = build(tables(records), Options())
    rows = [row for row in section.combos if row.metric == row.criterion == "engaging"]
    assert [(row.w_turn, row.w_dialog) for row in rows] == [(1, 5), (1, 10)]
    for row in rows:
        x, y = (sm_combo_score(*zip(*scores[model], strict=True), row.w_turn, row.w_dialog) for model in "ab")
        assert (row.n_a, row.n_b, row.mean_a, row.mean_b) == pytest.approx((20, 20, x.mean(), y.mean()))
        assert row["p_value"] == pytest.approx(ttest_ind(x, y).pvalue)
        assert row["effective_win_rate"] == pytest.approx(mannwhitneyu(x, y).statistic / 400)
        assert row["ci_low"] < row["difference"] < row["ci_high"]
    assert "likert_combos" in {table.key for table in section.data_tables()}
    assert any(method.name == "Turns and rating together" for method in section.methods())
    json.loads(section.model_dump_json())


def test_turns_and_ratings_of_one_name_belong_together():
    """Two criteria of both kinds: no engaging turns with humanlike ratings."""
    section = build(tables(tick_study([1, 1, 1, 1, 1, 1])), Options())
    assert {(row.metric, row.criterion) for row in section.combos} == {
        ("engaging", "engaging"),
        ("humanlike", "humanlike"),
    }


def test_without_turns_there_is_no_combo(tmp_path):
    """Ratings alone."""
    section = build(exchange_tables(tmp_path, {"ratings": ratings_frame({"a": 4, "b": 3})}), Options())
    assert section.combos == []
