"""Raters who favour the place do not decide which model is ahead: a place effect larger than the gap is taken out."""

from __future__ import annotations

import numpy as np
import pytest

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.statistics.preference.pairs import (
    counted_comparisons,
    orient_pairs,
    position_balanced,
    wins_of_pairs,
)
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import from_rows

OPTIONS = Options(draws=50)


def turns_table(first_wins: float, a_first: float, *, a_better: float = 0.0, workers: int = 24, turns: int = 20):
    """Turns of a and b; a stands first in so many of them, and the first is picked so often (plus what a is better)."""
    rng = np.random.default_rng(7)
    rows = []
    for worker in range(workers):
        for turn in range(1, turns + 1):
            a_place = 1 if rng.random() < a_first else 2
            chance = first_wins if a_place == 1 else 1 - first_wins
            won = rng.random() < chance + a_better
            for model, place, picked in (("a", a_place, won), ("b", 3 - a_place, not won)):
                rows.append(
                    {
                        "dialogue_id": f"d{worker}",
                        "worker_id": f"w{worker}",
                        "technique": "sata",
                        "setting": "soba",
                        "metric": "preference",
                        "turn": turn,
                        "model": model,
                        "position": place,
                        "selected": int(picked),
                        "continued": int(picked),
                        "written": 0,
                        "seconds": 9.0,
                    }
                )
    return holding(turns=rows)


def holding(**rows):
    """Tables of these rows."""
    return Tables(**{name: from_rows(name, rows.get(name, [])) for name in ("turns", "dialogues", "comparisons")})


def test_balanced_by_hand():
    """Won 3 of 4 at the first place and 1 of 2 at the second: (.75 + .5) / 2; what is not known does not count."""
    won, place = [1, 1, 1, 0, 0, 1, np.nan], [1, 1, 1, 1, 2, 2, np.nan]
    values = position_balanced(won, place)
    assert np.nanmean(values) == pytest.approx(0.625)
    assert np.isnan(values[-1])
    assert position_balanced([1, 0, 1], [1, 1, 1]) is None, "one place only"
    assert position_balanced([1, 0, 1], [1, 2, np.nan]) is None, "a place that is not known"


def test_equal_places_need_nothing():
    """Where both stood first as often, the rate is the adjusted rate already."""
    won = np.random.default_rng(0).random(100)
    assert position_balanced(won, np.tile([1, 2], 50)) is None


@pytest.mark.usefixtures("only_answers")
def test_a_habit_is_taken_out_of_the_headline():
    """Two equal models, of which a stood first in 70 % of turns, and the first is picked in 75 %: as counted a wins."""
    section = build_report(turns_table(0.75, 0.7), OPTIONS).sections["turns"]
    (answer,) = section.summary()
    (pair,), rates = answer.pairs, {row.model: row for row in section.models}
    (test,) = [row for row in section.tests if row.first_turn == 1]
    assert test.test.clustered.p_holm < 0.05, "as counted they differ"
    assert pair.differs is False
    assert abs(pair.gap) < 0.1 < abs(test.test.clustered.estimate)
    assert pair.superiority == pytest.approx(0.5 + pair.gap / 2)
    lines = {line.model: line for line in answer.models}
    assert lines["a"].estimate == rates["a"]["win_rate_adjusted"] != rates["a"]["win_rate"]
    assert lines["a"].estimate + lines["b"].estimate == pytest.approx(1)
    assert pair.gap == pytest.approx(abs(lines["a"].estimate - lines["b"].estimate), abs=1e-9)
    assert "all positions weighted equally (as counted: " in answer.verdict
    assert f"a {100 * rates['a']['win_rate']:.0f} %" in answer.verdict
    assert any("outweighs the difference" in remark for remark in answer.remarks)
    assert "Positions weighted equally" in [method.name for method in section.methods()]


@pytest.mark.usefixtures("only_answers")
def test_a_gap_that_is_larger_is_told_as_counted():
    """The same habit, and a model that is much better."""
    section = build_report(turns_table(0.6, 0.5, a_better=0.3), OPTIONS).sections["turns"]
    (answer,) = section.summary()
    assert "counting alike" not in answer.verdict
    assert all(row.adjusted is None for row in (*section.models, *section.tests))


@pytest.mark.usefixtures("only_answers")
def test_no_habit_no_adjustment():
    """Chance differences of places are no habit."""
    section = build_report(turns_table(0.5, 0.7), OPTIONS).sections["turns"]
    assert all(row.adjusted is None for row in section.models)


@pytest.mark.usefixtures("only_answers")
def test_comparisons_are_adjusted_too():
    """Rows of finished dialogues of which a stood on the left more often; both numbers stand in the table."""
    rng = np.random.default_rng(3)
    rows = []
    for worker in range(20):
        for item in range(15):
            left = rng.random() < 0.7
            won = rng.random() < (0.8 if left else 0.2)
            rows.append(
                {
                    "item_id": f"i{worker}-{item}",
                    "worker_id": f"w{worker}",
                    "metric": "preference",
                    "model_a": "a",
                    "model_b": "b",
                    "dialogue_a": f"a{worker}-{item}",
                    "dialogue_b": f"b{worker}-{item}",
                    "winner": "a" if won else "b",
                    "seconds": 9.0,
                    "technique": "pw_dialog",
                    "setting": "",
                    "side": 1 if left else 2,
                }
            )
    section = build_report(holding(comparisons=rows), OPTIONS).sections["comparisons"]
    (answer,), (pair,) = section.summary(), section.pairs
    (line,) = answer.pairs
    first = np.array([row["side"] == 1 for row in rows])
    won = np.array([row["winner"] == "a" for row in rows])
    expected = (won[first].mean() + won[~first].mean()) / 2
    assert pair["win_rate_adjusted"] == pytest.approx(expected)
    assert pair["win_rate_a"] == pytest.approx(won.mean())
    assert pair.win_rate.p_decides < 0.05 <= line.p_decides
    assert line.gap == pytest.approx(abs(2 * expected - 1))
    assert line.differs is False
    assert "with both positions weighted equally" in answer.verdict
    assert (
        f"({100 * max(won.mean(), 1 - won.mean()):.0f} % as counted)" in answer.verdict
        or "% as counted)" in answer.verdict
    )
    assert any("both positions count equally there" in remark for remark in answer.remarks)
    assert {line.model: line.estimate for line in answer.models}["a"] == pytest.approx(expected)


def test_adjusted_estimates_are_not_biased_by_places():
    """Over studies with unequal places and a habit the adjusted rate of equal models is .5, and rejects as often as it
    should."""
    rng = np.random.default_rng(1)
    estimates, rejected = [], []
    for _ in range(30):
        workers = np.repeat(np.arange(24), 12)
        first = rng.random(workers.size) < 0.65
        habit = rng.normal(0.9, 0.8, 24)[workers]
        won = rng.random(workers.size) < 1 / (1 + np.exp(-np.where(first, habit, -habit)))
        rows = [
            {
                "item_id": f"i{place}",
                "worker_id": f"w{worker}",
                "metric": "m",
                "model_a": "a",
                "model_b": "b",
                "dialogue_a": f"a{place}",
                "dialogue_b": f"b{place}",
                "winner": "a" if picked else "b",
                "seconds": 1.0,
                "side": 1 if left else 2,
            }
            for place, (worker, picked, left) in enumerate(zip(workers, won, first, strict=True))
        ]
        (pair,) = wins_of_pairs(orient_pairs(counted_comparisons(holding(comparisons=rows))))
        told = pair.adjusted or pair.win_rate
        estimates.append(told.estimate)
        rejected.append(told.p_value < 0.05)
    assert np.mean(estimates) == pytest.approx(0.5, abs=0.015)
    assert np.mean(rejected) < 0.12
