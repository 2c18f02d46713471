"""The report's section on what the data could show: every technique, known likeness, and what cannot be said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from make_judgements import make_pairs, make_spotting
from make_live_records import make_assessment, make_choices, make_ticked

from parlai_humaneval.analysis.columns import from_rows, typed
from parlai_humaneval.analysis.frames import Tables, tables
from parlai_humaneval.analysis.sections.base import Options
from parlai_humaneval.analysis.sections.design import build

NOTHING = {name: from_rows(name, []) for name in ("turns", "dialogues", "comparisons")}


def section_of(data):
    """The section, which every time must show itself, and must be JSON without nan."""
    section = build(data, Options())
    if section is not None:
        assert "NaN" not in section.model_dump_json()
        for table in section.data_tables():
            assert all({column.key for column in table.columns} == set(row) for row in table.rows)
        keys = [view.key for view in [*section.data_tables(), *section.figures()]]
        assert len(keys) == len(set(keys))
        assert section.headline.endswith(".")
        assert section.methods()
    return section


def turns_of(outcomes, workers, models=("a", "b")):
    """Exchange columns only: one pick of two a turn; ``outcomes`` 1 where the first model was picked."""
    turn = pd.Series(workers).groupby(workers).cumcount() + 1
    rows = [
        {
            "dialogue_id": f"d{worker}",
            "worker_id": f"w{worker}",
            "technique": "pw_turn",
            "setting": "",
            "metric": "preference",
            "turn": t,
            "model": model,
            "position": position,
            "selected": int(won) if position == 1 else 1 - int(won),
            "continued": int(won) if position == 1 else 1 - int(won),
            "written": 0,
            "seconds": 5,
        }
        for won, worker, t in zip(outcomes, workers, turn, strict=True)
        for position, model in enumerate(models, start=1)
    ]
    return Tables(**{**NOTHING, "turns": typed("turns", pd.DataFrame(rows))})


def alike_turns(icc, workers=200, turns=10, seed=0):
    """Beta-binomial picks with that likeness of a worker's turns."""
    rng = np.random.default_rng(seed)
    worker = np.repeat(np.arange(workers), turns)
    size = (1 / icc - 1) / 2
    return turns_of(rng.random(worker.size) < rng.beta(size, size, workers)[worker], worker)


def test_likeness_of_picks_is_found():
    """ICC .1 with ten turns a worker: design effect 1.9; half of the turns' worth; a wider gap than if independent."""
    (row,) = section_of(alike_turns(0.1)).measures
    assert (row.source, row.n, row.n_workers, row.n_dialogues, row.per_worker) == ("turns", 2000, 200, 200, 10)
    assert row.icc_worker == pytest.approx(0.1, abs=0.035)
    assert row.icc_worker_low < 0.1 < row.icc_worker_high
    assert row.design_effect == pytest.approx(1 + 9 * row.icc_worker)
    assert row.effective_n == pytest.approx(2000 / row.design_effect)
    assert row.detectable_gap_independent == pytest.approx(2.8016 * 2 * 0.5 / np.sqrt(2000), rel=0.01)
    assert row.detectable_gap / row.detectable_gap_independent == pytest.approx(np.sqrt(row.design_effect), rel=0.06)


def test_the_sentence_says_it():
    """Likeness with its interval, effective answers and the gap; and who believes in independence is warned."""
    section = section_of(alike_turns(0.2))
    assert section.headline == section.measures[0].sentence
    assert "answers of one worker are alike (ICC 0.2" in section.headline
    assert "percentage points between two models would be found with power .8" in section.headline
    assert any("takes all answers for independent" in text for text in section.remarks)


def test_independent_answers_cost_nothing():
    """Fair coins: likeness about 0; where it is negative no more answers are claimed than there are."""
    rng = np.random.default_rng(5)
    worker = np.repeat(np.arange(150), 10)
    (row,) = section_of(turns_of(rng.random(1500) < 0.5, worker)).measures
    assert abs(row.icc_worker) < 0.04
    assert row.effective_n <= 1500
    opposite = section_of(turns_of(np.tile([True, False], 30), np.repeat(np.arange(10), 6)))
    assert opposite.measures[0].icc_worker < 0
    assert opposite.measures[0].effective_n == 60
    assert any("Negative ICC" in text for text in opposite.remarks)
    assert "no more alike" in opposite.headline


def test_labels_do_not_matter():
    """Models exchanged: the gap changes sign, everything else stays."""
    data = alike_turns(0.1, workers=30)
    other = data.turns.assign(model=data.turns["model"].map({"a": "b", "b": "a"}))
    one, two = section_of(data), section_of(Tables(**{**vars(data), "turns": other}))
    assert one.pairs[0].gap == pytest.approx(-two.pairs[0].gap)
    assert one.measures[0].icc_worker == pytest.approx(two.measures[0].icc_worker)
    assert one.pairs[0].detectable_gap == pytest.approx(two.pairs[0].detectable_gap)


def test_every_technique_has_its_measures():
    """Turns of several models, ticks, sliders raw and z, Likert ratings, dialogues side by side, and labels."""
    records = [
        *make_choices({"a": 0.6, "b": 0.4, "c": 0.5}),
        *make_assessment({"a": 70, "b": 55, "qc": 20}, workers=8),
        *(
            make_ticked(f"t{i}", worker=f"w{i % 5}", model="ab"[i % 2], ratings={"engaging": 1.0 + i % 5})
            for i in range(20)
        ),
        *make_pairs({"a": 2.0, "b": 1.0}),
        *make_spotting({"a": 0.6, "b": 0.4, "human": 0.9}),
    ]
    section = section_of(tables(records))
    found = {(row.source, row.technique, row.metric) for row in section.measures}
    assert {
        ("turns", "sata", "preference"),
        ("turns", "single_model", "engaging"),
        ("ratings", "direct_assessment", "overall, raw"),
        ("ratings", "direct_assessment", "overall z"),
        ("ratings", "single_model", "engaging"),
        ("segments", "spot_the_bot", "taken for human"),
    } <= found
    assert "comparisons" in {row.source for row in section.measures}
    of_sata = [pair for pair in section.pairs if pair.technique == "sata"]
    assert [(pair.model_a, pair.model_b) for pair in of_sata] == [("a", "b"), ("a", "c"), ("b", "c")]
    row = next(row for row in section.measures if row.technique == "sata")
    gaps = [pair.detectable_gap for pair in of_sata]
    assert (row.detectable_gap, row.detectable_gap_largest) == pytest.approx((np.median(gaps), max(gaps)))
    assert row.icc_worker_low is None  # three pairs share the turns


def test_comparisons_of_turns_are_not_counted_twice():
    """They stand in both tables; alone, the comparisons count."""
    whole = tables(make_choices({"a": 0.6, "b": 0.4}))
    assert {row.source for row in section_of(whole).measures} == {"turns"}
    alone = Tables(**{**vars(whole), "turns": from_rows("turns", [])})
    assert {row.source for row in section_of(alone).measures} == {"comparisons"}


def test_what_cannot_be_said_is_not_said():
    """No data, one worker, one model, no ties broken: no section or no number, and words for it."""
    assert section_of(Tables(**NOTHING)) is None
    (row,) = section_of(turns_of([1, 0, 1], [0, 0, 0])).measures
    assert (row.icc_worker, row.effective_n, row.detectable_gap) == (None, None, None)
    assert "cannot be estimated" in row.sentence
    same = section_of(turns_of([1] * 20, np.repeat(np.arange(5), 4)))
    assert (same.measures[0].icc_worker, same.measures[0].detectable_gap) == (None, None)
    few = section_of(turns_of([1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 2, 2]))
    assert few.measures[0].detectable_gap is None  # more than all the gap there can be
    assert "no gap between two models can be named" in few.headline
    one_model = section_of(tables(make_assessment({"a": 70, "qc": 20}, workers=5)))
    assert one_model.pairs == []
    assert one_model.measures[0].n == 5


def test_power_is_drawn_over_the_size_of_the_gap():
    """A curve a question: α without a gap, .8 at the gap that the table names, rising in between."""
    section = section_of(alike_turns(0.2))
    (figure,) = [one for one in section.figures() if one.key.startswith("design_power")]
    (curve,) = figure.curves
    (pair,) = section.pairs
    assert (figure.key, figure.reference) == ("design_power_share", 0.8)
    assert curve.y[0] == pytest.approx(0.05)
    assert np.interp(pair.detectable_gap, curve.x, curve.y) == pytest.approx(0.8, abs=0.01)
    assert (np.diff(curve.y) > 0).all()
    assert max(curve.x) <= 1
