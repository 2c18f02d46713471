"""Tables ↔ files: what raters typed comes back exactly, and no spreadsheet runs it."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_judgements import one_of_each
from make_live_records import make_choice, make_rated, make_ticked, make_verdict
from make_records import make_record, make_study, make_turn

from parlai_humaneval._util.text import csv_text, guarded, unguarded, write_columns
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import check_free, read_tables, save_tables, write_tables
from parlai_humaneval.tables.schema import COLUMNS, TABLES

NAMES = ("turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements")
typed_text = st.text(st.characters(codec="utf-8"), min_size=1)
formula = st.builds("".join, st.tuples(st.sampled_from(["", "'", "''"]), st.sampled_from("=+-@\t\r\n"), typed_text))


def assert_same(got: Tables, expected: Tables) -> None:
    for name in NAMES:
        pd.testing.assert_frame_equal(getattr(got, name), getattr(expected, name))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@given(reasons=st.lists(typed_text | formula, min_size=5, max_size=9))
@settings(max_examples=4, deadline=None)
def test_what_was_typed_comes_back_exactly(tmp_path_factory, form, reasons):
    """Quotes, line breaks, formulas, apostrophes, any script: reading back gives the same tables."""
    turns = [
        *(
            make_turn(number, ("eliza", "retrieval"), "eliza", reason=reason)
            for number, reason in enumerate(reasons, 1)
        ),
        make_turn(len(reasons) + 1, ("eliza", "retrieval"), None),
    ]
    expected = tables([make_record("d1", turns, status="partial")])
    folder = tmp_path_factory.mktemp("out")
    write_tables(expected, folder, form)
    assert_same(read_tables(folder), expected)


@pytest.mark.parametrize(
    ("simulated", "said"), [(2, "All raters are programs (2)"), (1, "1 program, 1 person"), (0, "")]
)
def test_the_readme_says_whose_answers_these_are(tmp_path, simulated, said):
    """Who gets a folder of tables must not take answers of programs for answers of people."""
    records = [
        make_choice(f"d{i}", [("a",)], worker=f"w{i}").model_copy(update={"simulated": i < simulated}) for i in range(2)
    ]
    write_tables(tables(records), tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert said in text.split("##")[0]
    assert ("rogram" in text.split("##")[0]) == bool(simulated)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_technique_comes_back_exactly(tmp_path, form):
    """Choices, ticks, ratings and verdicts, flags and empty cells among them."""
    expected = tables(
        [make_choice("d1", [("a", "b"), ()]), make_ticked("d2"), make_rated("d3"), make_verdict("d4", "both_bad")]
    )
    write_tables(expected, tmp_path, form)
    assert_same(read_tables(tmp_path), expected)


def test_tables_of_an_older_export_are_read(tmp_path):
    """A folder without ratings and points, and without the newer columns, is still good."""
    new = tables(make_study(1, 1))
    write_tables(new, tmp_path)
    for name in ("ratings", "points"):
        (tmp_path / f"{name}.csv").unlink()
    for name in ("turns", "dialogues", "comparisons"):
        columns = [c.name for c in TABLES[name] if c.exchange]
        path = tmp_path / f"{name}.csv"
        pd.read_csv(path, dtype=str)[columns].to_csv(path, index=False)
    got = read_tables(tmp_path)
    assert got.ratings.empty
    assert got.turns["selected"].tolist() == new.turns["selected"].tolist()
    assert got.turns["failed"].isna().all()


@given(texts=st.lists(formula, min_size=5, max_size=9))
@settings(max_examples=4, deadline=None)
def test_no_cell_of_a_csv_begins_as_a_formula(tmp_path_factory, texts):
    """A rater's “=HYPERLINK(…)” must not run on a researcher's machine."""
    folder = tmp_path_factory.mktemp("out")
    turns = [make_turn(number, ("eliza", "retrieval"), "eliza", reason=text) for number, text in enumerate(texts, 1)]
    write_tables(tables([make_record("d1", turns)]), folder, "csv")
    with (folder / "turns.csv").open(encoding="utf-8", newline="") as file:
        reasons = {int(row["turn"]): row["reason"] for row in csv.DictReader(file) if row["reason"]}
    assert len(reasons) == len(texts)
    for number, text in enumerate(texts, 1):
        assert reasons[number].startswith("'")
        assert reasons[number].endswith(text)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_empty_tables_come_back_with_all_columns(tmp_path, form):
    """An export of a task with no dialogues can be read and reported."""
    write_tables(tables([]), tmp_path, form)
    got = read_tables(tmp_path)
    for name in NAMES:
        assert list(getattr(got, name).columns) == list(COLUMNS[name])


def test_readme_describes_every_column(tmp_path):
    """Whoever gets the folder needs nothing else to read it."""
    paths = write_tables(tables(make_study(1, 1)), tmp_path)
    assert [path.name for path in paths] == [*(f"{name}.csv" for name in NAMES), "README.md"]
    readme = paths[-1].read_text(encoding="utf-8")
    for columns in COLUMNS.values():
        for name, description in columns.items():
            assert f"| {name} | {description} |" in readme


def test_json_stands_last_in_the_dialogues():
    """Whoever opens the table in a spreadsheet sees readable columns first, the failed checks among them."""
    names = list(COLUMNS["dialogues"])
    is_json = ["JSON" in COLUMNS["dialogues"][name] for name in names]
    assert is_json == sorted(is_json)
    assert is_json.count(True) == 8
    assert not is_json[names.index("checks_failed")]


def test_a_table_from_elsewhere_needs_the_exchange_columns_only(tmp_path):
    """A hand-made comparisons.csv is enough; what it lacks is empty, its own columns stay."""
    header = "item_id,worker_id,metric,model_a,model_b,dialogue_a,dialogue_b,winner,seconds,country"
    (tmp_path / "comparisons.csv").write_text(f"{header}\n1,9,preference,a,b,x,x,a,3.5,CH\n", encoding="utf-8")
    got = read_tables(tmp_path)
    row = got.comparisons.iloc[0]
    assert (row["worker_id"], row["winner"], row["seconds"], row["country"]) == ("9", "a", 3.5, "CH")
    assert row["reason"] is None
    assert got.turns.empty


def test_a_folder_without_tables_is_refused(tmp_path):
    """A wrong path is said to be one."""
    with pytest.raises(TableError, match="holds none of turns"):
        read_tables(tmp_path)


def test_folders_may_be_texts(tmp_path):
    """As everywhere in Python."""
    expected = tables(make_study(1, 1))
    write_tables(expected, f"{tmp_path}/one")
    save_tables(expected, f"{tmp_path}/two", "jsonl")
    assert_same(read_tables(f"{tmp_path}/one"), expected)
    assert_same(read_tables(f"{tmp_path}/two"), expected)
    with pytest.raises(TableError, match=r"already contains comparisons\.jsonl"):
        check_free(f"{tmp_path}/two")


def test_two_formats_at_once_are_refused_unless_one_is_named(tmp_path):
    """An older export beside a newer one is not read by chance."""
    expected = tables(make_study(1, 1))
    write_tables(tables([]), tmp_path, "csv")
    write_tables(expected, tmp_path, "jsonl")
    with pytest.raises(TableError, match=r"as \.csv and as \.jsonl"):
        read_tables(tmp_path)
    assert_same(read_tables(tmp_path, "jsonl"), expected)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("turns.jsonl", "{broken", "line 1: not JSON"),
        ("turns.csv", "a,b\n1\n", "row 2 has 1 cell, the header 2"),
        ("turns.csv", "a,b\n1,2\n", "missing column dialogue_id"),
    ],
)
def test_broken_files_are_named(tmp_path, name, content, message):
    """The error says which file or column, not where the code was."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(TableError, match=message):
        read_tables(tmp_path)


@pytest.mark.parametrize("name", ["turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements"])
def test_an_answer_that_stands_there_twice_is_refused(tmp_path, name):
    """It would count twice; the message names table, rows and answer."""
    whole = tables([make_choice("d1", [("a",)]), make_rated("d3"), *one_of_each()])
    frame = getattr(whole, name)
    assert len(frame) > 0
    twice = pd.concat([frame, frame.iloc[:1]], ignore_index=True)
    write_tables(replace(whole, **{name: twice}), tmp_path)
    with pytest.raises(
        TableError, match=rf"{name}: rows 2 and {len(twice) + 1} are the same answer \(.*_id '.*keep one of them"
    ):
        read_tables(tmp_path)


@pytest.mark.parametrize("number", ["-1.33", "-4", "-2.5e-07"])
def test_numbers_below_0_stay_numbers_in_texts(number: str) -> None:
    """Spreadsheets run neither; what only begins like one is guarded, and all come back."""
    cells = [number, f"{number}+1", f"'{number}", f"{number}\n"]
    assert list(map(guarded, cells)) == [number, *(f"'{cell}" for cell in cells[1:])]
    assert list(map(unguarded, map(guarded, cells))) == cells


def test_columns_are_written_as_their_rows_would_be() -> None:
    columns = [["=1+1", "a", None, "'=x"], [1, 2.5, True, None], [None] * 4, [1, "+1", 1.0, "1"]]
    by_column = StringIO(newline="")
    write_columns(by_column, "abcd", columns)
    assert by_column.getvalue() == csv_text("abcd", zip(*columns, strict=True))
