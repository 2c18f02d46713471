"""The report's section on what the data could show: every technique, known likeness, and what cannot be said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from make_judgements import make_pairs, make_spotting
from make_live_records import make_assessment, make_choices, make_ticked

from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.plan import plan_study
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.design import build
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import from_rows, typed

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
    assert row.by_worker.estimate == pytest.approx(0.1, abs=0.035)
    assert row.by_worker.ci_low < 0.1 < row.by_worker.ci_high
    assert row.design_effect == pytest.approx(1 + 9 * row.by_worker.estimate)
    assert row.effective_n == pytest.approx(2000 / row.design_effect)
    assert row.detectable_gap_independent == pytest.approx(2.8016 * 2 * 0.5 / np.sqrt(2000), rel=0.01)
    assert row.detectable_gap / row.detectable_gap_independent == pytest.approx(np.sqrt(row.design_effect), rel=0.06)


def test_the_sentence_says_it():
    """Likeness with its interval, effective answers and the gap; and who believes in independence is warned."""
    section = section_of(alike_turns(0.2))
    assert section.headline == section.measures[0].sentence
    assert "answers of one rater are correlated (ICC 0.2" in section.headline
    assert "percentage points between two models would be detected with power .8" in section.headline
    assert any("treat all answers as independent" in text for text in section.remarks)


def test_independent_answers_cost_nothing():
    """Fair coins: likeness about 0; where it is negative no more answers are claimed than there are."""
    rng = np.random.default_rng(5)
    worker = np.repeat(np.arange(150), 10)
    (row,) = section_of(turns_of(rng.random(1500) < 0.5, worker)).measures
    assert abs(row.by_worker.estimate) < 0.04
    assert row.effective_n <= 1500
    opposite = section_of(turns_of(np.tile([True, False], 30), np.repeat(np.arange(10), 6)))
    assert opposite.measures[0].by_worker.estimate < 0
    assert opposite.measures[0].effective_n == 60
    assert any("Negative ICC" in text for text in opposite.remarks)
    assert "answers of one rater differ more than those of different raters" in opposite.headline


def ratings_of(values, workers, models):
    """Exchange columns only: Likert ratings, an entry each."""
    columns = {"dialogue_id": [f"d{i}" for i in range(len(values))], "worker_id": workers, "model": models}
    rows = pd.DataFrame({**columns, "criterion": "engaging", "value": values, "degraded": 0})
    return Tables(**NOTHING, ratings=typed("ratings", rows))


def levels(workers=40, each=3, spread=1.0, gap_spread=0.0, seed=1):
    """Workers with a level of their own, and perhaps with a gap of their own, who rate both models."""
    rng = np.random.default_rng(seed)
    level, lean = rng.normal(0, spread, workers), rng.normal(0, gap_spread, workers)
    worker = np.tile(np.repeat(np.arange(workers), each), 2)
    side = np.repeat([1, -1], workers * each)
    values = 3 + level[worker] + side * lean[worker] / 2 + rng.normal(0, 1, worker.size)
    return ratings_of(values, [f"w{i}" for i in worker], np.where(side > 0, "a", "b"))


def test_a_comparison_within_workers_gains():
    """Levels are alike, and a mean loses by it; the comparison is free of levels, and it comes first."""
    section = section_of(levels())
    (row,), (pair,) = section.measures, section.pairs
    assert (row.levels, row.judged_both) == (True, 1)
    assert row.by_worker.ci_low > 0
    assert row.design_effect > 2
    assert row.variance_ratio == pair.variance_ratio < 0.8
    gains = section.headline.index("gains precision from raters who judge both")
    assert gains < section.headline.index("single ratings of one rater are correlated in level")
    assert "are worth" not in section.headline
    assert row.icc_for_planning < 0
    assert any("0.001 (here −" in text for text in section.remarks)


def test_the_icc_to_plan_with_gives_the_ratio():
    """Workers who lean to one model: with that ICC the plan's design effect is the ratio of variances that was seen, as far
    as two estimates of one thing agree; and the interval holds it."""
    for section in (section_of(levels(spread=0, gap_spread=1.5)), section_of(alike_turns(0.1))):
        (row,), (pair,) = section.measures, section.pairs
        m = round(pair.per_worker)
        assert pair.per_worker == pytest.approx(m)
        assert row.icc_for_planning == pytest.approx((row.variance_ratio - 1) / (m - 1), rel=0.05)
        assert row.icc_for_planning_low < row.icc_for_planning < row.icc_for_planning_high
        planned = plan_study(
            ask(technique="single_model", gap=0.1, turns=m, dialogues_per_worker=1, icc=row.icc_for_planning)
        )
        assert row.variance_ratio > 1.3
        assert planned.design_effect == pytest.approx(row.variance_ratio, rel=0.05)
        worth = round(row.n / row.variance_ratio)
        assert (
            f"loses precision because one rater gives several answers: the variance is {row.variance_ratio:.2f} times"
            in section.headline
        )
        assert f"are worth {worth:,} independent ones" in section.headline
        ends = f"{row.icc_for_planning:.3f} (up to {row.icc_for_planning_high:.3f})"
        assert any(f"plan --icc: {ends} for" in text for text in section.remarks)
    assert m == 10
    once = section_of(levels(each=1))
    assert once.pairs[0].per_worker == 1
    assert once.measures[0].icc_for_planning is None  # any ICC gives a design effect of 1


def test_an_interval_with_zero_decides_nothing():
    """Neither alike nor unlike is claimed where the interval allows both, nor z where there is none."""
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(8):
        section = section_of(turns_of(rng.random(200) < 0.5, np.repeat(np.arange(20), 10)))
        (row,) = section.measures
        if row.by_worker.ci_low <= 0 <= row.by_worker.ci_high:
            seen.add(row.by_worker.estimate > 0)
            assert "it is uncertain whether answers of one rater are correlated" in section.headline
            assert not any("differ more" in text or "z has" in text for text in section.remarks)
            assert any("may be due to chance" in text for text in section.remarks) == (row.by_worker.estimate < 0)
    assert seen == {True, False}


def test_reused_dialogues_are_counted():
    """Twelve dialogues of each model, judged over and over: the gap that can be shown is wider than by worker alone, the
    dialogues have an ICC of their own, and where each judgement has its own two dialogues nothing is said of them."""
    rng = np.random.default_rng(4)
    worker, a, b = np.repeat(np.arange(60), 5), rng.integers(0, 12, 300), rng.integers(0, 12, 300)
    quality = rng.normal(0, 1.2, (2, 12))
    won = rng.random(300) < 1 / (1 + np.exp(quality[1][b] - quality[0][a]))
    rows = pd.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(300)],
            "worker_id": [f"w{i}" for i in worker],
            "metric": "preference",
            "model_a": "x",
            "model_b": "y",
            "dialogue_a": [f"x{i}" for i in a],
            "dialogue_b": [f"y{i}" for i in b],
            "winner": np.where(won, "x", "y"),
            "seconds": 40.0,
            "technique": "pw_dialog",
        }
    )
    alone = rows.assign(dialogue_a="x" + rows["item_id"], dialogue_b="y" + rows["item_id"])
    shared, own = (
        section_of(Tables(**{**NOTHING, "comparisons": typed("comparisons", frame)})) for frame in (rows, alone)
    )
    (wide,), (narrow,) = shared.pairs, own.pairs
    assert wide.detectable_gap > 1.5 * narrow.detectable_gap
    assert "because one rater gives several answers and one dialogue gets several" in shared.headline
    assert "one dialogue gets several" not in own.headline
    assert wide.df < 12 < narrow.df
    assert shared.measures[0].dialogue_icc_for_planning > 0.05
    assert own.measures[0].dialogue_icc_for_planning is None


def test_labels_do_not_matter():
    """Models exchanged: the gap changes sign, everything else stays."""
    data = alike_turns(0.1, workers=30)
    other = data.turns.assign(model=data.turns["model"].map({"a": "b", "b": "a"}))
    one, two = section_of(data), section_of(Tables(**{**vars(data), "turns": other}))
    assert one.pairs[0]["gap"] == pytest.approx(-two.pairs[0]["gap"])
    assert one.measures[0].by_worker.estimate == pytest.approx(two.measures[0].by_worker.estimate)
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
        ("segments", "spot_the_bot", "better label"),
    } <= found
    assert "comparisons" in {row.source for row in section.measures}
    of_sata = [pair for pair in section.pairs if pair.technique == "sata"]
    assert [(pair.model_a, pair.model_b) for pair in of_sata] == [("a", "b"), ("a", "c"), ("b", "c")]
    row = next(row for row in section.measures if row.technique == "sata")
    gaps = [pair.detectable_gap for pair in of_sata]
    assert (row.detectable_gap, row.detectable_gap_largest) == pytest.approx((np.median(gaps), max(gaps)))
    assert row.by_worker.ci_low is None  # three pairs share the turns


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
    assert (row.by_worker.estimate, row.effective_n, row.detectable_gap) == (None, None, None)
    assert "cannot be estimated" in row.sentence
    same = section_of(turns_of([1] * 20, np.repeat(np.arange(5), 4)))
    assert (same.measures[0].by_worker.estimate, same.measures[0].detectable_gap) == (None, None)
    few = section_of(turns_of([1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 2, 2]))
    assert few.measures[0].detectable_gap is None  # more than all the gap there can be
    assert "would be detected with power .8 cannot be estimated" in few.headline
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


def test_the_same_question_of_several_pairs_is_told_apart():
    """Each row says which models it is of, in labels, sentences and tables; a question of one pair need not."""
    workers = np.repeat(np.arange(20), 5)
    both = [turns_of(np.arange(100) % 3 == 0, workers, models) for models in (("a", "b"), ("a", "c"))]
    rows = [data.turns.assign(dialogue_id=data.turns["dialogue_id"] + str(n)) for n, data in enumerate(both)]
    section = section_of(Tables(**{**NOTHING, "turns": typed("turns", pd.concat(rows))}))
    assert [row.group for row in section.measures] == ["a – b", "a – c"]
    assert len({row.sentence.partition(":")[0] for row in section.measures}) == 2
    for table in section.data_tables()[:2]:
        assert [row["group"] for row in table.rows] == ["a – b", "a – c"]
    labels = [point.label for figure in section.figures()[:2] for point in figure.points]
    assert len(set(labels)) == 2
    alone = section_of(both[0])
    assert alone.measures[0].group == ""
    assert "group" not in alone.data_tables()[0].rows[0]
