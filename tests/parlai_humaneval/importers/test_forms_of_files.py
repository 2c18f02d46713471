"""Files of tables in any form: CSV as spreadsheets write it, JSON, Excel, Parquet, gzip; and the numbers of their rows."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_tables_of_any_form import NESTED, VOTES, csv_of, lines

from parlai_humaneval._util.table_files import plain_cell, read_frame
from parlai_humaneval.tables.files import read_tables


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comparisons.csv", csv_of(VOTES).encode()),
        ("comparisons.csv", b"\xef\xbb\xbf" + csv_of(VOTES).encode()),
        ("comparisons.csv", csv_of(VOTES, ";").encode()),
        ("comparisons.csv", ("sep=;\n" + csv_of(VOTES, ";")).encode()),
        ("comparisons.csv", (csv_of(VOTES) + ",,,,,\n\n").encode()),
        ("comparisons.csv", csv_of([{key.title(): cell for key, cell in vote.items()} for vote in VOTES]).encode()),
        ("comparisons.tsv", csv_of(VOTES, "\t").encode()),
        ("comparisons.txt", csv_of(VOTES, "\t").encode("utf-16")),
        ("comparisons.csv.gz", gzip.compress(csv_of(VOTES).encode(), mtime=0)),
        ("comparisons.jsonl", lines(VOTES).encode()),
        ("comparisons.ndjson", lines(NESTED).encode()),
        ("comparisons.ndjson.gz", gzip.compress(lines(NESTED).encode(), mtime=0)),
        ("comparisons.json", json.dumps(NESTED, indent=1).encode()),
        ("comparisons.json", json.dumps({"version": 2, "data": VOTES}).encode()),
        ("comparisons.json", pd.DataFrame(VOTES).to_json().encode()),
    ],
)
def test_the_same_votes_in_every_form(command, tmp_path: Path, name: str, content: bytes):
    """Read by the report and by the import, with the same result."""
    (tmp_path / name).write_bytes(content)
    assert read_tables(tmp_path).comparisons["winner"].tolist() == ["x", "y", "tie", "x"]
    done = command("--from", "tables", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons["winner"].tolist() == ["x", "y", "tie", "x"]


@pytest.mark.parametrize(
    ("package", "name", "write"), [("openpyxl", "t.xlsx", "to_excel"), ("pyarrow", "t.parquet", "to_parquet")]
)
def test_forms_of_other_packages(tmp_path: Path, package: str, name: str, write: str):
    pytest.importorskip(package)
    getattr(pd.DataFrame(VOTES), write)(tmp_path / name, index=False)
    assert read_frame(tmp_path / name).to_dict("records") == VOTES


@pytest.mark.parametrize(("package", "name"), [("openpyxl", "t.xlsx"), ("pyarrow", "t.parquet")])
def test_a_missing_package_is_named(command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    (tmp_path / name).write_bytes(b"PK\x03\x04" if name.endswith("x") else b"PAR1PAR1")
    done = command("--from", "tables", tmp_path / name, "--table", "comparisons")
    assert (done.exit_code, f"pip install {package}" in done.stderr) == (1, True)


def test_errors_have_the_rows_of_the_file_with_blank_ones_counted(command, tmp_path: Path):
    """Guards whoever looks for the row in a spreadsheet: both numbers of an error are the file's, its cells are short."""
    rows = csv_of(VOTES).splitlines()
    text = "\n".join([rows[0], "", rows[1], ",,,,,", *rows[2:]]).removesuffix("x") + "nobody"
    (tmp_path / "v.csv").write_text(text, encoding="utf-8")
    done = command("--from", "tables", tmp_path / "v.csv")
    assert "'nobody' in row 7, expected" in done.stderr
    assert "row 7 of the file: item_id i3" in done.stderr
    long = [
        {**vote, "response_a": f"{vote['winner']} {'long ' * 200}"} for vote in [*VOTES, {**VOTES[0], "winner": "y"}]
    ]
    (tmp_path / "v.csv").write_text("\n" + csv_of(long).replace("\ni1", "\n\ni1"), encoding="utf-8")
    done = command("--from", "tables", tmp_path / "v.csv")
    assert "rows 3 and 8 contradict each other" in done.stderr
    assert len(done.stderr) < 1500, "the cells are cut"


@pytest.mark.parametrize(
    ("name", "row"), [("v.csv", 5), ("v.tsv", 5), ("v.xlsx", 5), ("v.jsonl", 4), ("v.json", 3), ("v.parquet", 3)]
)
@pytest.mark.parametrize("release", [False, True])
def test_a_row_has_the_number_that_a_spreadsheet_or_an_editor_shows(
    command, tmp_path: Path, name: str, row: int, release: bool
):
    """The header of a table is row 1, and blank rows and lines count; here the second row is blank."""
    import pandas as pd

    rows = [{**vote, "winner": winner} for vote, winner in zip(VOTES, ("x", "y", "nobody"), strict=False)]
    if release:  # as a reader of a known form sees them
        rows = [
            {**{{"worker_id": "judge_hash"}.get(one, one): cell for one, cell in vote.items()}, "tstamp": 1}
            for vote in rows
        ]
    path, blank = tmp_path / name, pd.DataFrame([rows[0], dict.fromkeys(rows[0]), *rows[1:]])
    if name in ("v.csv", "v.tsv"):
        blank.to_csv(path, index=False, sep="\t" if name == "v.tsv" else ",")
    elif name == "v.xlsx":
        pytest.importorskip("openpyxl")
        blank.to_excel(path, index=False)
    elif name == "v.parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(rows).to_parquet(path)
    else:
        lines = list(map(json.dumps, rows))
        path.write_text("\n\n".join([lines[0], "\n".join(lines[1:])]) if name == "v.jsonl" else f"[{','.join(lines)}]")
    done = command(path)
    assert ("Read as --from arena" in done.stderr) == release
    assert f"'nobody' in row {row}, expected" in done.stderr
    assert f"row {row} of the file: " in done.stderr


@pytest.mark.parametrize("value", ["4,5", "\uff14.5", "4.5"])
def test_a_decimal_comma_among_ratings_is_read_and_said(command, tmp_path: Path, value: str):
    """One cell typed in another country's way must not be an error, nor vanish."""
    rows = [f"d{n},w{n},m,fluent,{n}" for n in range(1, 5)] + [f'd5,w5,m,fluent,"{value}"']
    (tmp_path / "r.csv").write_text("dialogue_id,worker_id,model,criterion,value\n" + "\n".join(rows), encoding="utf-8")
    done = command("--from", "tables", tmp_path / "r.csv")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings["value"].tolist() == [1, 2, 3, 4, 4.5]
    assert ("fluent: 4,5 is 4.5" in done.stderr) == (value == "4,5")


def test_a_printed_minus_is_one_and_no_answer_in_chinese_is_none(command, tmp_path: Path):
    """A scale from −3 to 3 is copied with the minus of its form."""
    rows = "".join(f"d{n},w{n},m,fluent,{value}\n" for n, value in enumerate(["−3", "-1", "0", "+2", "不适用", "−"]))
    (tmp_path / "r.csv").write_text(f"dialogue_id,worker_id,model,criterion,value\n{rows}", encoding="utf-8")
    done = command("--from", "tables", tmp_path / "r.csv")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings["value"].tolist() == [-3, -1, 0, 2]


def test_lists_inside_the_objects_of_a_parquet_file_stay_json():
    """They come as arrays at every depth, as in the conversations of the arena."""
    parts = np.array([{"type": "text", "text": "Hi!", "tokens": np.int64(2)}], dtype=object)
    said = np.array([{"role": "user", "content": parts, "day": date(2024, 5, 1)}], dtype=object)
    content = [{"type": "text", "text": "Hi!", "tokens": 2}]
    assert json.loads(plain_cell(said)) == [{"role": "user", "content": content, "day": "2024-05-01"}]


@pytest.mark.parametrize(("workers", "other", "raters"), [("5.0", "5", 1), ("5.5", "5", 2), ("5.0", "05", 3)])
def test_whole_numbers_with_a_point_are_the_same_id(command, tmp_path: Path, workers: str, other: str, raters: int):
    """Spreadsheets and pandas write 5.0 where a cell of the column is empty. 05 shows that ids are texts."""
    row = {"dialogue_id": "d1", "model": "heron", "criterion": "fluent", "value": 4}
    (tmp_path / "a.json").write_text(json.dumps([{**row, "worker_id": 5}]))
    rows = "".join(f"{one},heron,fluent,3\n" for one in (f"d2,{workers}", f"d4,{other}"))
    (tmp_path / "b.csv").write_text(f"dialogue_id,worker_id,model,criterion,value\n{rows}")
    (tmp_path / "c.json").write_text(json.dumps([{**row, "dialogue_id": 3.0, "worker_id": float(workers)}]))
    done = command(*(tmp_path / name for name in ("a.json", "b.csv", "c.json")), "--table", "ratings")
    assert done.exit_code == 0, done.stderr
    ratings = read_tables(command.out).ratings
    assert (ratings["worker_id"].nunique(), ratings["dialogue_id"].tolist()) == (raters, ["d1", "d2", "d4", "3"])


def test_sheets_of_excel_are_read_or_named(command, tmp_path: Path):
    """No vote is lost in silence: sheets with the same columns are one table, others a remark, also the first."""
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "v.xlsx") as file:
        pd.DataFrame({"how to": ["vote for the better one"]}).to_excel(file, sheet_name="Notes", index=False)
        pd.DataFrame(VOTES[:2]).to_excel(file, sheet_name="Ann", index=False)
        pd.DataFrame().to_excel(file, sheet_name="Empty", index=False)
        pd.DataFrame(VOTES[2:])[[*reversed(VOTES[0])]].to_excel(file, sheet_name="Ben", index=False)
    done = command("--from", "tables", tmp_path / "v.xlsx")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons["item_id"].tolist() == ["i0", "i1", "i2", "i3"]
    said = " ".join(done.stdout.split())
    assert "read as one: Ann, Ben." in said
    assert "sheets whose columns differ from those of Ann are left out: Notes." in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rater,score,score\nw,1,2\n", "and the header has score more than once"),
        ("rater,model,score\nw;m;1\n", "the header is separated by commas, but the rows by semicolons"),
        ("rater\tmodel\tscore\nw,m,1\n", "the header is separated by tabs, but the rows by commas"),
        ("rater model score\nw m 1\n", "it has only one column, rater model score"),
    ],
)
def test_a_header_that_does_not_go_with_its_rows_is_named(command, tmp_path: Path, text: str, said: str):
    (tmp_path / "export.csv").write_text(text)
    assert said in " ".join(command("--from", "tables", tmp_path / "export.csv").stderr.split())
