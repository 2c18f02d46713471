"""The section on turns: its JSON, tables, figures and sentences, from our own tables and from elsewhere."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from make_live_records import make_choice, make_choices, make_ticked

from parlai_humaneval.report.catalogue import SECTIONS
from parlai_humaneval.report.rows import CUT
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turns import build
from parlai_humaneval.statistics.correction import holm
from parlai_humaneval.statistics.shares import binomial_p, wald_interval, wilson_interval
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.from_records import tables


def section_of(records):
    found = build(tables(records), Options())
    assert found is not None
    return found


def from_frame(frame, folder):
    frame.to_csv(folder / "turns.csv", index=False)
    return build(read_tables(folder), Options())


def frame_of(chosen, models, *, workers, turns=10, setting="", technique="study", metric="preference", one_model=False):
    """Exchange columns: ``chosen`` turns × models; dialogues of ``turns`` turns; places rotate."""
    n, k = np.shape(chosen)
    rows = []
    for turn in range(n):
        for column, model in enumerate(models):
            rows.append(
                {
                    "dialogue_id": f"{technique}{setting}{models if one_model else ''}{turn // turns}",
                    "worker_id": f"w{workers[turn]}",
                    "technique": technique,
                    "setting": setting,
                    "metric": metric,
                    "turn": turn % turns + 1,
                    "model": model,
                    "position": (column + turn) % k + 1,
                    "selected": int(chosen[turn][column]),
                    "continued": 0,
                    "written": 0,
                    "seconds": "",
                }
            )
    return pd.DataFrame(rows)


def numbers(value):
    if isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def check_shown(section):
    """JSON without nan, tables whose rows have all their columns, unique keys, figures, methods and a headline."""
    assert all(math.isfinite(number) for number in numbers(json.loads(section.model_dump_json())))
    shown, figures = section.data_tables(), section.figures()
    for table in shown:
        assert table.rows
        assert all(set(row) == {column.key for column in table.columns} for row in table.rows)
    keys = [view.key for view in (*shown, *figures)]
    assert len(keys) == len(set(keys))
    assert section.headline.endswith(".")
    assert section.methods()


def test_keys_of_the_json():
    """Those that readers of the JSON rely on, and the name of the section."""
    assert "turns" in SECTIONS
    data = json.loads(section_of(make_choices({"a": 0.6, "b": 0.4})).model_dump_json())
    assert {"model", "n", "selected", "win_rate", "ci_low", "ci_high"} <= set(data["models"][0])
    assert {"name", "models", "statistic", "p_value", "p_holm", "method"} <= set(data["tests"][0])
    assert {"by_turn", "by_position", "pairs", "patterns", "leave_one_out"} <= set(data)


@pytest.mark.parametrize(
    "records",
    [
        make_choices({"a": 0.6, "b": 0.4}),
        make_choices({"a": 0.6, "b": 0.4, "c": 0.3, "d": 0.3}),
        make_choices({"a": 0.6, "b": 0.4, "c": 0.3}, setting="soba", one_pick=True),
    ],
)
def test_shares_and_their_intervals_are_those_of_the_formulas(records):
    """The clustered interval, and beside it Wald's and Wilson's; pairs add up to all turns."""
    section = section_of(records)
    for row in section.models:
        assert row.win_rate == pytest.approx(row.selected / row.n)
        assert (row.wald_low, row.wald_high) == wald_interval(row.selected, row.n)
        assert (row.wilson_low, row.wilson_high) == wilson_interval(row.selected, row.n)
    chosen = {row.model: row.selected for row in section.models}
    for row in (row for row in section.pairs if row.first_turn == 1):
        assert row.only_a + row.both == chosen[row.model_a]
        assert row.only_b + row.both == chosen[row.model_b]
    check_shown(section)


def test_win_rates_and_ties_add_up():
    """WR_A + WR_B = 1 + tie-win − tie-loss; no more than printed rounding away in Table 3 of Liu et al. 2023."""
    section = section_of(make_choices({"a": 0.6, "b": 0.4, "c": 0.2}))
    for row in section.pairs:
        assert row.win_rate_a + row.win_rate_b == pytest.approx(1 + row.tie_win - row.tie_loss)
        assert row.n == row.only_a + row.only_b + row.both + row.neither


def test_single_models_of_liu(tmp_path):
    """Table 6: 111, 106, 104 and 120 of 128, 126, 126 and 127 turns found good, with their Wald intervals; .8 as null."""
    counts = {"BST": (111, 128), "TCS": (106, 126), "WoW": (104, 126), "M-BST": (120, 127)}
    printed = {"BST": (0.87, 0.81, 0.93), "WoW": (0.83, 0.76, 0.89), "M-BST": (0.94, 0.91, 0.98)}
    rng = np.random.default_rng(0)
    frames = []
    for model, (k, n) in counts.items():
        marks = rng.permutation(np.repeat([1, 0], [k, n - k]))[:, None]
        frames.append(frame_of(marks, [model], workers=[f"{model}{i // 10}" for i in range(n)], one_model=True))
    section = from_frame(pd.concat(frames), tmp_path)
    rows = {row.model: row for row in section.models}
    assert list(rows) == sorted(counts)
    for model, expected in printed.items():
        assert (rows[model].win_rate, rows[model].wald_low, rows[model].wald_high) == pytest.approx(expected, abs=0.005)
        assert rows[model].ci_low < rows[model].win_rate < rows[model].ci_high
    baseline = {test.models[0]: test for test in section.tests if len(test.models) == 1}
    assert baseline["M-BST"].p_value == binomial_p(120, 127, 0.8)
    assert len([test for test in section.tests if len(test.models) == 2]) == 6
    assert not section.by_position
    check_shown(section)


def test_ticks_are_rated_by_criterion():
    """Each criterion a metric; dialogues with half of the turns; the paper's t test; effective win rates."""
    rng = np.random.default_rng(1)
    records = [
        make_ticked(
            f"{model}{i}",
            [[name for name in ("engaging", "humanlike") if rng.random() < rate] for _ in range(6)],
            model=model,
            worker=f"w{i}",
        )
        for i in range(10)
        for model, rate in (("a", 0.7), ("b", 0.4))
    ]
    section = section_of(records)
    assert {(row.metric, row.model) for row in section.models} == {
        (criterion, model) for criterion in ("engaging", "humanlike") for model in "ab"
    }
    for row in section.models:
        ticked = sum(
            row.metric in turn.ticks for one in records if one.models[0].name == row.model for turn in one.turns
        )
        assert (row.selected, row.n) == (ticked, 60)
    for test in section.tests:
        assert len(test.models) == 2  # several questions: no baseline of .8
    assert {row.score for row in section.effective} == {"share", "wta"}
    assert {row.first_turn for row in section.effective} == {1, 3}
    check_shown(section)


def test_pairs_of_one_setting_are_corrected_together(tmp_path):
    """A baseline against three others: Holm over three pairs; another setting is another family."""
    rng = np.random.default_rng(0)
    frames = []
    for setting in ("soba", "sata_user"):
        for other in ("b", "c", "d"):
            first = rng.random(60) < 0.62
            chosen = np.stack([first, ~first], axis=1)
            frame = frame_of(chosen, ["a", other], workers=np.arange(60) // 5, setting=setting)
            frames.append(frame.assign(dialogue_id=frame["dialogue_id"] + other))
    section = from_frame(pd.concat(frames), tmp_path)
    for setting in ("soba", "sata_user"):
        family = [test for test in section.tests if test.setting == setting]
        assert len(family) == 3
        assert [test.p_holm for test in family] == holm([test.p_value for test in family])
        assert [test.p_clustered_holm for test in family] == holm([test.p_clustered for test in family])
    assert {test.method.split()[0] for test in section.tests} == {"two-sided", "McNemar's"}
    # The baseline has a row for each rival, so the tables say which; elsewhere they need not.
    assert section.data_tables()[0].rows[0]["group"] == "a – b"
    alone = section_of(make_choices({"a": 0.6, "b": 0.4}))
    assert "group" not in alone.data_tables()[0].rows[0]


def test_disagreement_of_the_two_tests_is_said(tmp_path):
    """Two of twelve workers decide everything: significant by turns, not by workers."""
    workers = np.repeat(np.arange(12), 10)
    first = np.where(np.isin(workers, (0, 1, 2)), 1, np.arange(120) % 2)
    section = from_frame(frame_of(np.stack([first, 1 - first], axis=1), ["a", "b"], workers=workers), tmp_path)
    (test,) = section.tests
    assert test.p_value < 0.05 < test.p_clustered
    assert any("Believe the second" in text for text in section.remarks)
    assert "cannot be told apart" in section.headline


def test_unfinished_dialogues_are_left_out_and_said():
    """As in the reports: who leaves early may not leave at random."""
    records = [
        *make_choices({"a": 0.6, "b": 0.4}, workers=4),
        make_choice("left", [("a",), ("a",)], worker="w9", status="partial"),
    ]
    section = section_of(records)
    assert section.models[0].n == 40
    assert any("2 turns of 1 dialogue that did not end" in text for text in section.remarks)


def test_anchoring_is_found_and_said(tmp_path):
    """The reply shown first is chosen in 3 of 4 turns."""
    rng = np.random.default_rng(0)
    n = 200
    first = np.where(rng.random(n) < 0.75, np.arange(n) % 2 == 0, np.arange(n) % 2 == 1)
    section = from_frame(frame_of(np.stack([first, ~first], axis=1), ["a", "b"], workers=np.arange(n) // 10), tmp_path)
    gap = section.patterns.anchoring[0]
    assert gap.p_value < 0.001
    assert any("shown first" in text for text in section.remarks)
    places = {(row.position, row.model): row for row in section.by_position}
    assert places[1, None].win_rate == pytest.approx((gap.estimate + 1) / 2)
    assert places[1, "a"].n + places[2, "a"].n == n
    assert places[1, "a"].lin == places[1, "a"].win_rate


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("case", ["one worker", "two workers", "all", "none", "one turn"])
def test_little_data_never_gives_nan(tmp_path, k, case):
    """One worker, two, everything chosen, nothing chosen, one turn: numbers or None, and words."""
    rng = np.random.default_rng(0)
    n = 1 if case == "one turn" else 24
    chosen = {"all": np.ones((n, k)), "none": np.zeros((n, k))}.get(case, (rng.random((n, k)) < 0.5).astype(int))
    workers = np.arange(n) % {"one worker": 1, "two workers": 2}.get(case, 6)
    section = from_frame(frame_of(chosen, "abc"[:k], workers=workers), tmp_path)
    if k == 1 and not np.any(chosen):
        assert section is None  # nothing was asked
        return
    check_shown(section)
    if case in ("one worker", "two workers"):
        assert all(row.ci_low is None for row in section.models)
        assert any("at least 3" in text for text in section.remarks)


def test_nothing_that_counts():
    """No turns: no section. Only unfinished dialogues: a section that says so, with no numbers."""
    assert build(tables([]), Options()) is None
    section = section_of([make_choice("left", [("a",)], status="partial")])
    assert section.models == []
    assert "nothing can be said" in section.headline
    assert section.data_tables() == []
    assert section.figures() == []


def test_order_of_rows_and_names_of_workers_do_not_matter(tmp_path):
    """The same JSON from shuffled rows and other pseudonyms."""
    rng = np.random.default_rng(0)
    frame = frame_of((rng.random((80, 3)) < 0.5).astype(int), ["a", "b", "c"], workers=np.arange(80) // 8)
    one = from_frame(frame, tmp_path)
    other = frame.sample(frac=1, random_state=3)
    other["worker_id"] = "x" + other["worker_id"].str[::-1]
    two = from_frame(other, tmp_path)
    flat = [list(numbers(json.loads(section.model_dump_json()))) for section in (one, two)]
    assert flat[0] == pytest.approx(flat[1], abs=1e-9)


def test_coverage_is_as_asked():
    """Intervals of 99 % are wider than of 95 %, and the headline names them."""
    found = tables(make_choices({"a": 0.6, "b": 0.4}))
    usual, wide = build(found, Options()), build(found, Options(level=0.99))
    assert wide.models[0].ci_low < usual.models[0].ci_low
    assert "99 % interval" in wide.headline
    assert "95 % interval" in usual.headline


def test_the_papers_tests_are_named_once():
    """Below the table, not in each row; the JSON has them in each."""
    section = section_of(make_choices({"a": 0.7, "b": 0.4}, workers=6))
    table = next(table for table in section.data_tables() if table.key == "turns_tests")
    assert "method" not in {column.key for column in table.columns}
    method = section.tests[0].method
    assert [note for note in table.notes if method in note]
    labels = [column.label for column in table.columns]
    assert "Holm" not in labels


def test_shown_shares_end_at_their_ends(tmp_path):
    """Wald's interval of eight turns in nine goes to 109 %: the table is cut, and says so; the JSON is not."""
    chosen = [(1, 0)] * 8 + [(0, 1)]
    section = from_frame(frame_of(chosen, ("a", "b"), workers=[n % 3 for n in range(9)], turns=3), tmp_path)
    table = next(table for table in section.data_tables() if table.key == "turns_models")
    beyond = [row for row in section.models if row.wald_high is not None and (row.wald_high > 1 or row.wald_low < 0)]
    assert beyond
    assert CUT in table.notes
    shares = [column.key for column in table.columns if column.kind == "share"]
    assert all(row[key] is None or 0 <= row[key] <= 1 for row in table.rows for key in shares)
