"""Rows that cannot be are refused, by table, column and row; rows of our own never are."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.tables.columns import TableError, check_unique, typed
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.tables.validate import check_rules

TURN = {
    "dialogue_id": "d1",
    "worker_id": "w1",
    "technique": "pw_turn",
    "setting": "",
    "metric": "preference",
    "turn": 1,
    "model": "a",
    "position": 1,
    "selected": 1,
    "continued": 1,
    "written": 0,
    "seconds": 4.0,
}
OTHER = {**TURN, "model": "b", "position": 2, "selected": 0, "continued": 0}
PAIR = {
    "item_id": "i1",
    "worker_id": "w1",
    "metric": "preference",
    "model_a": "a",
    "model_b": "b",
    "dialogue_a": "d1",
    "dialogue_b": "d2",
    "winner": "tie",
    "seconds": 1,
}
TURNED = {**PAIR, "model_a": "b", "model_b": "a", "dialogue_a": "d2", "dialogue_b": "d1"}
RATING = {"dialogue_id": "d1", "worker_id": "w1", "model": "a", "criterion": "fun", "value": 50, "degraded": 0}
SEGMENT = {
    "dialogue_id": "d1",
    "worker_id": "w1",
    "k": 2,
    "entity": 0,
    "model": "a",
    "opponent": "human",
    "label": "bot",
    "fluent": 0,
    "sensible": 1,
    "specific": -1,
    "seconds": 3,
}
DIALOGUE = {
    "dialogue_id": "d1",
    "worker_id": "w1",
    "technique": "pw_turn",
    "setting": "",
    "started": "2024-05-01T09:30:00Z",
    "seconds": 60,
    "n_turns": 6,
    "complete": 1,
}


def checked(table: TableName, *rows: dict[str, Any]) -> None:
    check_rules(table, typed(table, pd.DataFrame(list(rows), dtype=object)))


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("turns", [TURN, OTHER]),
        ("turns", [{**TURN, "seconds": None}, {**OTHER, "seconds": ""}]),
        ("turns", [{**TURN, "position": 0, "selected": 0, "continued": 0}]),
        ("turns", [{**TURN, "continued_each": 1}, {**OTHER, "continued": 1, "continued_each": 1}]),
        ("turns", [TURN, {**TURN, "worker_id": "w2", "seconds": 9.0}]),
        ("turns", [TURN, {**TURN, "metric": "humanness", "seconds": 9.0}]),
        ("turns", [TURN, {**OTHER, "position": 1, "selected": 1}]),
        ("turns", [{**TURN, "selected": 0}, {**OTHER, "position": 1}]),
        ("turns", [{**TURN, "candidate_id": "c1"}, {**OTHER, "position": 1, "selected": 1, "same_as": "c1"}]),
        ("turns", [{**TURN, "position": 0, "failed": 0}, {**OTHER, "position": 0, "failed": 0}]),
        ("turns", [{**row, "technique": "sata", "setting": "sata_user", "selected": 1} for row in (TURN, OTHER)]),
        ("turns", [{**row, "technique": "free_for_all", "selected": 1} for row in (TURN, OTHER)]),
        ("turns", [{**row, "selected": 1, "rank": 1, "judgement_id": "j"} for row in (TURN, OTHER)]),
        ("comparisons", [{**PAIR, "dialogue_a": "", "dialogue_b": ""}]),
        ("ratings", [{**RATING, "value": 1000, "maximum": 1000}, {**RATING, "value": 100}, {**RATING, "value": 0}]),
        ("comparisons", [PAIR, {**PAIR, "winner": "a"}, {**PAIR, "winner": "b"}]),
        ("ratings", [RATING, {**RATING, "minimum": 0, "maximum": 100}, {**RATING, "value": 100, "maximum": 100}]),
        ("segments", [SEGMENT]),
        ("dialogues", [DIALOGUE, {**DIALOGUE, "started": ""}, {**DIALOGUE, "started": "2024-05-01"}]),
    ],
)
def test_rows_that_can_be_are_not_refused(table: TableName, rows: list[dict[str, Any]]):
    """Missing values, ties, unknown positions and every border of a range are right."""
    checked(table, *rows)


@pytest.mark.parametrize(
    ("table", "rows", "words"),
    [
        ("turns", [TURN, {**OTHER, "turn": 0}], r"turns.turn: 0 in row 2, expected 1 or more"),
        ("turns", [{**TURN, "position": -1}], r"turns.position: -1 in row 1, expected 0 or more"),
        ("turns", [{**TURN, "seconds": -0.5}], r"turns.seconds: -0.5 in row 1, expected 0 or more"),
        (
            "turns",
            [TURN, {**OTHER, "seconds": 5}],
            r"turns.seconds: 5.0 in row 2, expected 4.0 as in row 1 of the same",
        ),
        ("turns", [TURN, {**OTHER, "seconds": None}], r"turns.seconds: <NA> in row 2, expected 4.0 as in row 1"),
        (
            "turns",
            [{**TURN, "seconds": None}, OTHER],
            r"turns.seconds: 4.0 in row 2, expected an empty cell as in row 1",
        ),
        ("turns", [TURN, {**OTHER, "written": 1}], r"turns.written: 1 in row 2, expected 0 as in row 1"),
        ("turns", [TURN, {**OTHER, "continued": 1}], r"continued: 1 in rows 1, 2, which are one turn .*'d1', turn 1"),
        (
            "turns",
            [TURN, {**OTHER, "selected": 1}],
            r"selected: 1 in rows 1, 2, which are one turn .*'d1', turn 1.*raters choose one reply",
        ),
        (
            "turns",
            [{**TURN, "position": 0, "failed": 0}, {**OTHER, "position": 0, "failed": 0, "selected": 1}],
            r"selected: 1 in rows 1, 2",
        ),
        (
            "turns",
            [{**row, "technique": "sata", "setting": "SOBA", "selected": 1} for row in (TURN, OTHER)],
            r"selected: 1 in rows 1, 2",
        ),
        (
            "turns",
            [TURN, {**OTHER, "position": 1}],
            r"position: the same in rows 1, 2, .*different replies have different positions",
        ),
        (
            "turns",
            [{**TURN, "candidate_id": "c1"}, {**OTHER, "candidate_id": "c2", "position": 1, "selected": 1}],
            r"position: the same in rows 1, 2",
        ),
        (
            "comparisons",
            [{**PAIR, "turn": 1, "dialogue_a": ""}],
            r"dialogue_a: None in row 1, expected the dialogue that the given turn belongs to",
        ),
        (
            "ratings",
            [RATING, {**RATING, "value": 1000}],
            r"ratings.value: 1000.0 in row 2, expected 100 or less, the end",
        ),
        (
            "ratings",
            [{**RATING, "technique": "direct_assessment", "value": -1}],
            r"value: -1.0 in row 1, expected 0 or more",
        ),
        ("turns", [{**TURN, "written": 1}], r"turns.continued: 1 in row 1, expected 0, because written is 1"),
        ("turns", [{**TURN, "seconds": float("inf")}], r"turns.seconds: inf in row 1, expected a finite number"),
        ("turns", [{**TURN, "turn": "first"}], r"turns.turn: 'first' in row 1, expected a number"),
        ("turns", [{**TURN, "turn": 1.5}], r"turns.turn: 1.5 in row 1, expected a whole number"),
        (
            "turns",
            [{**TURN, "turn": 2**63}],
            r"turns.turn: 9223372036854775808 in row 1, expected a whole number of at most 18 digits",
        ),
        ("turns", [{**TURN, "selected": 2}], r"turns.selected: 2 in row 1, expected 0 or 1"),
        (
            "comparisons",
            [PAIR, {**PAIR, "winner": "c"}],
            r"winner: 'c' in row 2, expected 'a' \(model_a\), 'b' .* or 'tie'",
        ),
        ("comparisons", [{**PAIR, "model_b": "a"}], r"comparisons.model_b: 'a' in row 1, expected a model other"),
        (
            "ratings",
            [{**RATING, "value": 101, "maximum": 100}],
            r"ratings.value: 101.0 in row 1, expected 100 .* or less",
        ),
        ("ratings", [{**RATING, "value": 0, "minimum": 1}], r"ratings.value: 0.0 in row 1, expected 1 .* or more"),
        ("ratings", [{**RATING, "minimum": 5, "maximum": 1}], r"ratings.maximum: 1.0 in row 1, expected 5"),
        ("segments", [{**SEGMENT, "k": 0}], r"segments.k: 0 in row 1, expected 1 or more"),
        (
            "segments",
            [{**SEGMENT, "label": "robot"}],
            r"segments.label: 'robot' in row 1, expected human, unsure or bot",
        ),
        ("segments", [{**SEGMENT, "fluent": 2}], r"segments.fluent: 2 in row 1, expected -1, 0 or 1"),
        (
            "dialogues",
            [{**DIALOGUE, "started": "yesterday"}],
            r"started: 'yesterday' in row 1, expected an ISO 8601 time",
        ),
        ("dialogues", [{**DIALOGUE, "n_turns": -1}], r"dialogues.n_turns: -1 in row 1, expected 0 or more"),
        ("turns", [{**TURN, "position": 0}, OTHER], "turns.position: 0 in row 1, expected 1 or more"),
        ("turns", [{**OTHER, "position": 1}, {**TURN, "position": 0}], "0 in row 2, .* positions start at 1"),
        ("comparisons", [{**PAIR, "model_b": "tie"}], "comparisons.model_b: 'tie' in row 1, expected a model's name"),
        ("comparisons", [PAIR, TURNED], "swapped; keep one of them"),
    ],
)
def test_rows_that_cannot_be_are_named(table: TableName, rows: list[dict[str, Any]], words: str):
    """Table, column, row, what stands there and what was expected; the error carries the places of all bad rows."""
    with pytest.raises(TableError, match=words) as error:
        checked(table, *rows)
    assert error.value.rows


@given(turns=st.lists(st.integers(-2, 3), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_all_bad_rows_are_told(turns: list[int]):
    """Whoever skips bad rows gets their places, all and no others."""
    rows = [{**TURN, "dialogue_id": f"d{number}", "turn": turn} for number, turn in enumerate(turns)]
    expected = tuple(place for place, turn in enumerate(turns) if turn < 1)
    if not expected:
        checked("turns", *rows)
        return
    with pytest.raises(TableError) as error:
        checked("turns", *rows)
    assert error.value.rows == expected


@given(order=st.permutations(range(6)))
@settings(max_examples=30, deadline=None)
def test_rows_of_a_turn_need_not_stand_together(order: list[int]):
    """Two replies with which one turn went on are found in any order; those of two turns never."""
    rows = [{**row, "turn": turn} for turn in (1, 2, 3) for row in (TURN, OTHER)]
    checked("turns", *(rows[place] for place in order))
    rows[3] = {**rows[3], "continued": 1}
    with pytest.raises(TableError, match=r"which are one turn .*turn 2") as error:
        checked("turns", *(rows[place] for place in order))
    assert sorted(order[place] for place in error.value.rows) == [2, 3]


def test_a_near_name_of_a_column_is_pointed_out():
    """The commonest fault of tables from elsewhere."""
    row = {("dialog_id" if name == "dialogue_id" else name): value for name, value in TURN.items()}
    with pytest.raises(TableError, match=r"missing column dialogue_id.*'dialog_id' may be dialogue_id: rename it"):
        checked("turns", row)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("turns.jsonl", "[1]\n", "line 1: is not a JSON object"),
        ("turns.jsonl", '{"a": 1}\n{"b"', "line 2: not JSON"),
        (
            "turns.csv",
            "turn,turn," + ",".join(set(TURN) - {"turn"}) + "\n" + "1," * 12 + "1\n",
            "column turn appears twice",
        ),
        (
            "ratings.csv",
            "dialogue_id,worker_id,model,criterion,value,degraded\nd,w,a,fun,x,0\n",
            "ratings.value: 'x' in row 2",
        ),
        ("ratings.csv", 'dialogue_id,model\nd,"a\ne,b\n', "line 2: a quotation mark is not closed"),
        (
            "ratings.csv",
            'dialogue_id,model\n"d,a\ne,b\n',
            "row 2 has 1 cell, the header 2; check that every quotation mark is closed, starting in line 2",
        ),
        ("ratings.csv", "", "is empty; let the first line name the columns"),
        ("ratings.csv", "\n\n", "is empty"),
    ],
)
def test_the_file_is_named(tmp_path, name: str, content: str, words: str):
    """A folder holds seven of them."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(TableError, match=words) as error:
        read_tables(tmp_path)
    assert str(tmp_path / name) in str(error.value)


@pytest.mark.parametrize("name", ["turns.csv", "turns.jsonl"])
def test_another_encoding_is_told_how_to_save(tmp_path, name: str):
    """A spreadsheet's CSV is often in Latin-1."""
    (tmp_path / name).write_bytes("model\nré\n".encode("latin-1"))
    with pytest.raises(TableError, match="is not text in UTF-8") as error:
        read_tables(tmp_path)
    assert error.value.where == f"{tmp_path / name}, line 2"


def test_a_contradiction_is_no_copy():
    """Who has to keep one of two rows must know that they differ, and in what."""
    frame = typed("comparisons", pd.DataFrame([PAIR, {**PAIR, "winner": "a"}], dtype=object))
    with pytest.raises(
        TableError,
        match=r"rows 1 and 2 contradict each other: .*item_id 'i1'.*winner 'tie' and 'a'; keep the right one",
    ):
        check_unique("comparisons", frame)
    same = typed("comparisons", pd.DataFrame([PAIR, {**PAIR, "seconds": "1.0"}], dtype=object))
    with pytest.raises(TableError, match="rows 1 and 2 are the same answer"):
        check_unique("comparisons", same)


@given(order=st.permutations(range(6)))
@settings(max_examples=30, deadline=None)
def test_two_picks_of_a_turn_need_not_stand_together(order: list[int]):
    """All rows of turns with two picks are told, and those of no other turn."""
    rows = [{**row, "turn": turn} for turn in (1, 2, 3) for row in (TURN, OTHER)]
    rows[3] = {**rows[3], "selected": 1}
    with pytest.raises(TableError, match=r"raters choose one reply") as error:
        checked("turns", *(rows[place] for place in order))
    assert sorted(order[place] for place in error.value.rows) == [2, 3]
