"""Ids and names are read without blanks and invisible characters at their ends; what people wrote stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from parlai_humaneval._util.text import clean_label
from parlai_humaneval.cli import main
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.facts import qualifying
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.columns import LISTS, WRITTEN, TableError
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import JUDGE_COLUMNS, TABLES

CASES = Path(__file__).parents[4] / "shared" / "cases" / "F7_blanks_at_the_end"
ENDS = (" ", "\u00a0", "\u200b", "\ufeff", "\u200e", "\t", "\u3000", "\u2060 ")
"""Blank, non-breaking blank, zero-width space, byte order mark, direction mark, tab, ideographic blank, word joiner."""


def ratings(workers=7, model=str, worker=str):
    """Two models of two dialogues a worker; every second time ``model`` and ``worker`` write their names."""
    rows = []
    for number in range(2 * workers):
        again = number % 2
        for place, name in enumerate("ab"):
            rows.append(
                {
                    "dialogue_id": f"d{number}{name}",
                    "worker_id": worker(f"w{number // 2}") if again else f"w{number // 2}",
                    "model": model(name) if again else name,
                    "criterion": "engaging",
                    "value": 1 + (number + place) % 5,
                    "degraded": "",
                }
            )
    return pd.DataFrame(rows)


def comparisons(**columns):
    rows = [
        {
            "item_id": f"i{number}",
            "worker_id": f"w{number}",
            "metric": "preference",
            "model_a": "a",
            "model_b": "b",
            "dialogue_a": f"a{number}",
            "dialogue_b": f"b{number}",
            "winner": "a",
            "seconds": 5,
            "reason": " because it is \u00a0",
            **columns,
        }
        for number in range(4)
    ]
    return pd.DataFrame(rows)


def saved(folder, **frames):
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.mark.parametrize("end", ENDS)
def test_ends_that_nobody_sees_are_taken_off(end):
    """On either side, and not inside."""
    assert clean_label(f"{end}Blender{end}90M{end}") == f"Blender{end}90M"
    assert clean_label(end) == ""


def test_one_name_has_one_spelling():
    """Guards an accent that is written as one character here and as two there."""
    assert clean_label("Zoe\u0301") == clean_label("Zo\u00e9") == "Zo\u00e9"
    assert clean_label("ab") == "ab"


@pytest.mark.parametrize("end", ENDS)
def test_models_and_workers_are_not_doubled(tmp_path, end):
    """Guards four models where there are two, and fourteen workers where there are seven."""
    read = read_tables(saved(tmp_path, ratings=ratings(model=lambda name: name + end, worker=lambda name: end + name)))
    assert set(read.ratings["model"]) == {"a", "b"}
    assert read.ratings["worker_id"].nunique() == 7
    (cleaned,) = read.cleaned
    assert cleaned.cells == {"worker_id": 14, "model": 14}
    assert cleaned.words.startswith(
        "ratings: 28 cells (worker_id, model) had blanks or invisible characters at either end"
    )


def test_the_report_is_that_of_clean_tables_and_says_what_was_done(tmp_path):
    """The remark stands among what qualifies the answer, and nothing is said where nothing was done."""
    folders = [tmp_path / name for name in ("clean", "typed")]
    for folder, end in zip(folders, ("", "\u00a0"), strict=True):
        folder.mkdir()
        saved(folder, ratings=ratings(worker=lambda name, end=end: name + end))
    clean, typed = (build_report(read_tables(folder), Options(draws=10)) for folder in folders)
    assert clean.sections == typed.sections
    (remark,) = set(qualifying(typed.facts, [], [])) - set(qualifying(clean.facts, [], []))
    assert "14 cells (worker_id)" in remark


def test_a_winner_with_a_blank_is_one_of_the_models(tmp_path):
    """It was refused, and the message did not show why. What raters wrote keeps its blanks."""
    read = read_tables(saved(tmp_path, comparisons=comparisons(winner="a ", model_b="\u200eb")))
    assert read.comparisons["winner"].tolist() == ["a"] * 4
    assert read.comparisons["model_b"].tolist() == ["b"] * 4
    assert read.comparisons["reason"].tolist() == [" because it is \u00a0"] * 4


def test_numbers_flags_headers_and_lists_are_read_with_blanks_too(tmp_path):
    """Guards an error about a number that looks like one, and a column that is called missing."""
    frame = ratings(worker=lambda name: name).rename(columns={"model": "model\u00a0"})
    frame["value"] = [f"\u00a0{value} " for value in frame["value"]]
    frame["model\u00a0"] = [f"{name} ; {name}2" for name in frame["model\u00a0"]]
    read = read_tables(saved(tmp_path, ratings=frame))
    assert read.ratings["value"].tolist()[:3] == [1.0, 2.0, 2.0]
    assert read.ratings["model"].unique().tolist() == ["a;a2", "b;b2"]


def test_a_cell_of_blanks_is_an_empty_one(tmp_path):
    """It is refused where a cell may not be empty."""
    with pytest.raises(TableError, match="worker_id: empty in row 4"):
        read_tables(saved(tmp_path, ratings=ratings(worker=lambda _: "\u00a0 ")))


def test_answers_that_become_the_same_are_not_counted_twice(tmp_path):
    """The same worker rated the same dialogue with two spellings of one id: that is said, not counted."""
    frame = ratings()
    frame.loc[1, ["dialogue_id", "worker_id", "model"]] = frame.loc[0, ["dialogue_id", "worker_id", "model"]]
    frame.loc[1, "worker_id"] += " "
    with pytest.raises(TableError, match="contradict each other"):
        read_tables(saved(tmp_path, ratings=frame))


def test_import_counts_what_it_cleaned_and_writes_it_clean(tmp_path):
    """A worker has one pseudonym, and a further column that holds ids too has no ids left, however they were typed."""
    frame = ratings(worker=lambda name: f"{name} ")
    frame["worker_id"] = [f"prolific{name}" for name in frame["worker_id"]]
    frame["rater"] = [f"{name}\u00a0" for name in frame["worker_id"]]
    folder = tmp_path / "typed"
    folder.mkdir()
    saved(folder, ratings=frame)
    key = ["--key", str(tmp_path / "key"), "--json"]
    told = CliRunner().invoke(main, ["import", "--from", "tables", str(folder), "--out", str(tmp_path / "out"), *key])
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["workers"] == 7
    assert any("14 cells (worker_id)" in note for note in found["notes"])
    read = read_tables(tmp_path / "out")
    assert read.cleaned == ()
    assert read.ratings["rater"].tolist() == read.ratings["worker_id"].tolist()
    assert "prolific" not in (tmp_path / "out" / "ratings.csv").read_text(encoding="utf-8")


def test_every_column_is_a_label_or_is_written():
    """Guards a new column of JSON or of free text in which blanks would be taken off; names here must exist."""
    columns = [column for table in TABLES for column in (*TABLES[table], *JUDGE_COLUMNS[table])]
    assert {column.name for column in columns if column.description.startswith("JSON")} <= WRITTEN | LISTS
    assert {column.name for column in columns} >= WRITTEN | LISTS


@pytest.mark.skipif(not CASES.is_dir(), reason="the published cases are not beside this checkout")
@pytest.mark.parametrize(("case", "workers"), [("models", 14), ("workers", 7)])
def test_the_published_cases(case, workers):
    """Two models, and as many workers as there are."""
    read = read_tables(CASES / case)
    assert (read.ratings["model"].nunique(), read.ratings["worker_id"].nunique()) == (2, workers)
