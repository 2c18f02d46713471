"""Spreadsheets as people keep them: a title above the header, and several sheets, whose rows are named as they are there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables

HEADER = "worker_id,item_id,model_a,model_b,winner"
VOTES = [f"r{n},d{n},alpha,beta,{winner}" for n, winner in enumerate(["alpha", "beta", "tie"])]


def table(votes: list[str]) -> pd.DataFrame:
    return pd.DataFrame([vote.split(",") for vote in votes], columns=HEADER.split(","))


@pytest.mark.parametrize("title", ["Study of March", "Study of March,,,,", "Study of March\n", "Votes\nof March 1,,,,"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_title_above_the_header_is_left_out(command, tmp_path: Path, title: str, separator: str):
    path = tmp_path / "comparisons.csv"
    path.write_text("\n".join([title, HEADER, *VOTES]).replace(",", separator), encoding="utf-8")
    done = command(path)
    assert done.exit_code == 0, done.output
    assert [*read_tables(command.out).comparisons["winner"]] == ["alpha", "beta", "tie"]
    rows = title.count("\n") + 1
    assert (
        f"rows above the header are left out as a title ({rows}): {title.split(',')[0].splitlines()[0]}." in done.output
    )


def test_errors_below_a_title_have_the_rows_of_the_file(command, tmp_path: Path):
    path = tmp_path / "comparisons.csv"
    path.write_text("\n".join(["Study of March", "", HEADER, *VOTES, "r9,d9,alpha,beta,gamma"]), encoding="utf-8")
    done = command(path)
    assert done.exit_code != 0
    assert "row 7" in done.output


def test_a_lonely_line_above_unknown_names_is_an_error_that_names_the_title(command, tmp_path: Path):
    path = tmp_path / "comparisons.csv"
    path.write_text("Study of March\nfoo,bar\n1,2\n", encoding="utf-8")
    assert "if this line is a title, remove" in command(path).output


@pytest.mark.parametrize("blank", [0, 1])
def test_a_title_in_excel_is_left_out(command, tmp_path: Path, blank: int):
    pytest.importorskip("openpyxl")
    above = [["Study of March", *[None] * 4], *[[None] * 5] * blank]
    rows = [*above, *(row.split(",") for row in [HEADER, *VOTES, "r9,d9,alpha,beta,gamma"])]
    pd.DataFrame(rows).to_excel(tmp_path / "comparisons.xlsx", index=False, header=False)
    done = command(tmp_path / "comparisons.xlsx")
    assert f"row {5 + blank + 1}" in done.output
    done = command(tmp_path / "comparisons.xlsx", "--skip-bad")
    assert [*read_tables(command.out).comparisons["winner"]] == ["alpha", "beta", "tie"]
    assert f"left out as a title ({1 + blank}): Study of March." in done.output


def test_a_row_of_a_second_sheet_has_its_number_there(command, tmp_path: Path):
    """In import, in what it skips, and where tables are read."""
    pytest.importorskip("openpyxl")
    path = tmp_path / "comparisons.xlsx"
    with pd.ExcelWriter(path) as file:
        table(VOTES).to_excel(file, sheet_name="Ann", index=False)
        table(["r5,d5,alpha,beta,alpha", "r9,d9,alpha,beta,gamma"]).to_excel(file, sheet_name="Ben B", index=False)
    said = " ".join(command(path).output.split())
    assert "in row 3 of sheet Ben B" in said
    assert "row 3 of sheet Ben B of the file" in said
    skipped = " ".join(command(path, "--skip-bad").output.split())
    assert "comparisons.xlsx, row 3 of sheet Ben B: " in skipped
    assert len(read_tables(command.out).comparisons) == 4
    with pd.ExcelWriter(path) as file:
        for sheet, winner in (("Ann", "alpha"), ("Ben B", "gamma")):
            table([f"r5,{sheet},alpha,beta,{winner}"]).assign(metric="m").to_excel(file, sheet_name=sheet, index=False)
    with pytest.raises(TableError, match="row 2 of sheet Ben B"):
        read_tables(path)
