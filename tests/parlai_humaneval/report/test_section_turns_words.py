"""The section on turns: what its sentences, tables and figures say, and that little or odd data breaks none of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_live_records import make_choice, make_choices
from turn_frames import check_shown, frame_of, from_frame, numbers, section_of

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turn_choices import build
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.rows import CUT
from parlai_humaneval.tables.build import Tables, tables


def test_disagreement_of_the_two_tests_is_said(tmp_path):
    """Two of twelve workers decide everything: significant by turns, not by workers."""
    workers = np.repeat(np.arange(12), 10)
    first = np.where(np.isin(workers, (0, 1, 2)), 1, np.arange(120) % 2)
    section = from_frame(frame_of(np.stack([first, 1 - first], axis=1), ["a", "b"], workers=workers), tmp_path)
    (test,) = section.tests
    assert test["p_value"] < 0.05 < test["p_clustered"]
    assert any("Rely on the second result" in text for text in section.remarks)
    assert "are statistically tied" in section.headline


def test_unfinished_dialogues_are_left_out_and_said():
    """As in the reports: who leaves early may not leave at random."""
    records = [
        *make_choices({"a": 0.6, "b": 0.4}, workers=4),
        make_choice("left", [("a",), ("a",)], worker="w9", status="partial"),
    ]
    section = section_of(records)
    assert section.models[0]["n"] == 40
    assert any("2 turns in 1 dialogue that did not end" in text for text in section.remarks)


def test_anchoring_is_found_and_said(tmp_path):
    """The reply shown first is chosen in 3 of 4 turns."""
    rng = np.random.default_rng(0)
    n = 200
    first = np.where(rng.random(n) < 0.75, np.arange(n) % 2 == 0, np.arange(n) % 2 == 1)
    section = from_frame(frame_of(np.stack([first, ~first], axis=1), ["a", "b"], workers=np.arange(n) // 10), tmp_path)
    gap = section.patterns.anchoring[0]
    assert gap["p_value"] < 0.001
    assert any("shown first" in text for text in section.remarks)
    places = {(row.position, row.model): row for row in section.by_position}
    assert places[1, None]["win_rate"] == pytest.approx((gap["estimate"] + 1) / 2)
    assert places[1, "a"]["n"] + places[2, "a"]["n"] == n
    assert places[1, "a"]["lin"] == places[1, "a"]["win_rate"]


def test_places_of_several_picks_are_tested_as_such():
    """Cochran's Q where any number is picked, Pearson's χ² where one is."""
    for records, expected in (
        (make_choices({"a": 0.5, "b": 0.5, "c": 0.5}), "Cochran's Q"),
        (make_choices({"a": 4, "b": 3, "c": 2}, setting="soba", one_pick=True), "Pearson"),
    ):
        assert expected in section_of(records).patterns.anchoring[1]["method"]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("case", ["one rater", "two raters", "all", "none", "one turn"])
def test_little_data_never_gives_nan(tmp_path, k, case):
    """One worker, two, everything chosen, nothing chosen, one turn: numbers or None, and words."""
    rng = np.random.default_rng(0)
    n = 1 if case == "one turn" else 24
    chosen = {"all": np.ones((n, k)), "none": np.zeros((n, k))}.get(case, (rng.random((n, k)) < 0.5).astype(int))
    workers = np.arange(n) % {"one rater": 1, "two raters": 2}.get(case, 6)
    section = from_frame(frame_of(chosen, "abc"[:k], workers=workers), tmp_path)
    if k == 1 and not np.any(chosen):
        assert section is None  # nothing was asked
        return
    check_shown(section)
    if case in ("one rater", "two raters"):
        assert all(row["ci_low"] is None for row in section.models)
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
    assert wide.models[0]["ci_low"] < usual.models[0]["ci_low"]
    assert "99 % interval" in wide.headline
    assert "95 % interval" in usual.headline


def test_the_papers_tests_are_named_once():
    """Below the table, not in each row; the JSON has them in each."""
    section = section_of(make_choices({"a": 0.7, "b": 0.4}, workers=6))
    table = next(table for table in section.data_tables() if table.key == "turns_tests")
    assert "method" not in {column.key for column in table.columns}
    method = section.tests[0]["method"]
    assert [note for note in table.notes if method in note]
    labels = [column.label for column in table.columns]
    assert "Holm" not in labels


def test_shown_shares_end_at_their_ends(tmp_path):
    """Wald's interval of eight turns in nine goes to 109 %: the table is cut, and says so; the JSON is not."""
    chosen = [(1, 0)] * 8 + [(0, 1)]
    section = from_frame(frame_of(chosen, ("a", "b"), workers=[n % 3 for n in range(9)], turns=3), tmp_path)
    table = next(table for table in section.data_tables() if table.key == "turns_models")
    beyond = [
        row for row in section.models if row["wald_high"] is not None and (row["wald_high"] > 1 or row["wald_low"] < 0)
    ]
    assert beyond
    assert CUT in table.notes
    shares = [column.key for column in table.columns if column.kind == "share"]
    assert all(row[key] is None or 0 <= row[key] <= 1 for row in table.rows for key in shares)


picks = st.lists(st.lists(st.sampled_from("abc"), max_size=3, unique=True), min_size=1, max_size=8)


@settings(max_examples=4, deadline=None)
@given(dialogues=st.lists(picks, min_size=1, max_size=5), seed=st.integers(0, 99))
def test_whatever_was_picked(dialogues, seed):
    """Shares lie in 0–1, picks add up, p-values are p-values, and the order of rows changes nothing."""
    records = [make_choice(f"d{i}", turns, models="abc", worker=f"w{i}") for i, turns in enumerate(dialogues)]
    data, options = tables(records), Options(draws=10)
    section = build(data, options)
    if not section.models:
        return
    for row in [row for row in (*section.models, *section.by_position, *section.by_turn) if row.n]:
        assert 0 <= row["win_rate"] <= 1
        assert row["ci_low"] is None or 0 <= row["ci_low"] <= row["win_rate"] <= row["ci_high"] <= 1
    if section.models[0].kind == "any":
        picked = sum(len(turn) for turns in dialogues for turn in turns)
        assert sum(row.selected for row in section.models) == picked
        assert sum(row.selected for row in section.by_position if row.model is None) == picked
    for pair in section.pairs:
        assert pair.only_a + pair.only_b + pair.both + pair.neither == pair.n
    assert all(test["p_value"] is None or 0 <= test["p_value"] <= 1 for test in section.tests)
    other = build(Tables(data.turns.sample(frac=1, random_state=seed), data.dialogues, data.comparisons), options)
    for one, two in zip(section.tests, other.tests, strict=True):
        for name in ("estimate", "p_value", "p_clustered"):
            assert (one[name] or 0) == pytest.approx(two[name] or 0)


def side_by_side(chances, **where):
    """Turns of pairs with a model a: ``chances`` that the reply shown first is chosen, by the other model."""
    rng, n, frames = np.random.default_rng(0), 200, []
    for other, chance in chances.items():
        first_stands_first = np.arange(n) % 2 == 0
        first = np.where(rng.random(n) < chance, first_stands_first, ~first_stands_first)
        frame = frame_of(np.stack([first, ~first], axis=1), ["a", other], workers=np.arange(n) // 10, **where)
        frames.append(frame.assign(dialogue_id=frame["dialogue_id"] + other, worker_id=frame["worker_id"] + other))
    return pd.concat(frames)


def test_what_holds_of_one_pair_says_so(tmp_path):
    """The place matters where b stands beside a, and for nobody else; its p is corrected over the pairs."""
    section = from_frame(side_by_side({"b": 0.8, "c": 0.5, "d": 0.5}), tmp_path)
    (remark,) = [text for text in section.remarks if "shown first" in text]
    assert "more often than the others where a – b were shown together, by" in remark
    assert "after Holm's correction" in remark or "p < .0001" in remark
    assert any(remark.endswith(text) for text in section.summary()[0].remarks)


def test_a_place_that_matters_by_chance_alone_is_not_told(tmp_path):
    """One p below .05 of several pairs is no finding once they are corrected; the rows keep it."""
    section = from_frame(side_by_side(dict.fromkeys("bcd", 0.5) | {"j": 0.57}), tmp_path)
    p_values = [row["p_value"] for row in section.patterns.anchoring if "first place" in row["name"]]
    assert min(p_values) < 0.05 < min(holm(p_values))
    assert not [text for text in section.remarks if "shown first" in text]


def test_remarks_of_one_setting_name_it(tmp_path):
    """In the summary of several questions; what holds for all of them is told once, without a name."""
    frames = [
        side_by_side({"b": chance}, setting=setting).assign(worker_id=lambda frame: frame["worker_id"].str[-2:])
        for setting, chance in (("soba", 0.8), ("sata_user", 0.5))
    ]
    answers = from_frame(pd.concat(frames), tmp_path).summary()
    remarks = [text for answer in answers for text in answer.remarks if "shown first" in text]
    assert len(remarks) == 1
    assert remarks[0].startswith("In study, soba, preference: replies shown first were chosen more often")


def test_captions_name_what_they_are_of(tmp_path):
    """No two figures have the same caption; of one group alone nothing need be named."""
    section = from_frame(side_by_side({"b": 0.8, "c": 0.5}), tmp_path)
    titles = [figure.title for figure in section.figures()]
    assert len(set(titles)) == len(titles)
    assert "Win rates: a – b" in titles
    alone = from_frame(side_by_side({"b": 0.8}), tmp_path)
    assert {figure.title for figure in alone.figures()} == {"Win rates", "Win rate by turn"}


def test_no_two_columns_have_one_name(tmp_path):
    """Tests of habits: what was tested, how, and a p that is the paper's in one row and clustered in the next."""
    section = from_frame(side_by_side({"b": 0.8}), tmp_path)
    tables_of_patterns = [
        table for table in section.data_tables() if table.key in ("turns_cascading", "turns_anchoring")
    ]
    assert len(tables_of_patterns) == 2
    for table in tables_of_patterns:
        labels = [column.label for column in table.columns]
        assert len(set(labels)) == len(labels)
        assert "p" in labels
        assert "Paper's p" not in labels


def test_a_winner_of_turns_is_named():
    """Ahead of both others: told as such, with the pairs by their gaps, and over several groups with the clearest."""
    section = section_of(make_choices({"b": 0.2, "a": 0.5, "c": 0.9}, workers=20))
    assert "c is ahead of both others; " in section.headline
    assert section.headline.index("c from b") < section.headline.index("c from a")
    gaps = [line.gap for line in section.summary()[0].pairs]
    assert gaps == sorted(gaps, reverse=True)
