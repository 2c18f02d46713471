"""What a file's criteria and sides are taken for is said, also where their headings are words for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.tables.files import read_tables

RATED = "worker_id,dialogue_id,model"


def imported(command: Any, folder: Path, table: str, *lines: str) -> str:
    path = folder / f"{table}.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    done = command(path, "--yes")
    assert done.exit_code == 0, done.output
    return str(done.stderr)


def test_a_column_of_ratings_called_quality_is_a_criterion(command, tmp_path: Path):
    """Its name is also that of a column that names criteria."""
    said = imported(command, tmp_path, "ratings", f"{RATED},Quality,Fluency", "r1,d1,alpha,4,5", "r2,d1,alpha,3,2")
    ratings = read_tables(command.out).ratings
    assert sorted(zip(ratings["criterion"], ratings["value"], strict=True)) == [
        ("Fluency", 2),
        ("Fluency", 5),
        ("Quality", 3),
        ("Quality", 4),
    ]
    assert "  criterion (values) ← Quality (2), Fluency (2)\n" in said
    assert "guessed: a criterion each: Quality, Fluency" in said


def test_a_column_quality_with_names_still_names_criteria(command, tmp_path: Path):
    said = imported(
        command, tmp_path, "ratings", f"{RATED},Quality,rating", "r1,d1,alpha,clear,5", "r2,d1,alpha,kind,2"
    )
    assert [*read_tables(command.out).ratings["criterion"]] == ["clear", "kind"]
    assert "  criterion (values) ← clear (1), kind (1)\n" in said


def test_a_column_of_choices_for_each_criterion(command, tmp_path: Path):
    header = "worker_id,item_id,model_a,model_b,Quality,Fluency"
    said = imported(
        command, tmp_path, "comparisons", header, "r1,d1,alpha,beta,left,right", "r2,d1,alpha,beta,tie,left"
    )
    votes = read_tables(command.out).comparisons[["metric", "winner"]]
    assert sorted(votes.itertuples(index=False, name=None)) == [
        ("Fluency", "alpha"),
        ("Fluency", "beta"),
        ("Quality", "alpha"),
        ("Quality", "tie"),
    ]
    assert "guessed: a criterion each: Quality, Fluency" in said


@pytest.mark.parametrize("replies", ["response_left,response_right", "Left response,Right response"])
@pytest.mark.parametrize("headings", ["left,right", "Left,Right", "Left model,Right model"])
def test_left_and_right_name_the_models(command, tmp_path: Path, headings: str, replies: str):
    header = f"worker_id,item_id,{headings},winner,{replies}"
    votes = ["r1,d1,alpha,beta,left,Hi,Yo", "r2,d2,beta,alpha,right,Yo,Hi"]
    said = imported(command, tmp_path, "comparisons", header, *votes)
    read = read_tables(command.out).comparisons
    assert [*read["winner"]] == ["alpha", "alpha"]
    assert [*read["response_a"]] == ["Hi", "Hi"]
    assert "is model_a\n" in said


def test_texts_under_left_and_right_are_no_models(command, tmp_path: Path):
    path = tmp_path / "comparisons.csv"
    path.write_text(f"worker_id,item_id,left,right,winner\nr1,d1,{'Yes. ' * 20},No.,left\n", encoding="utf-8")
    done = command(path)
    assert done.exit_code != 0
    assert "missing column model_a" in done.output
