"""Sheets of Google Forms and Qualtrics: which dialogue a row is about, and what the questions were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.tables.files import read_tables

NAMES = ["ResponseId", "Q1", "Q2_1", "Q2_2", "Q3"]
ASKED = ["Response ID", "Which chat did you read?", "How kind was it?", "How clear was it?", "Anything else?"]


def sheet(path: Path, header: list[list[str]], rows: list[list[Any]]) -> Path:
    quoted = (",".join(json.dumps(str(cell)).replace('\\"', '""') for cell in row) for row in [*header, *rows])
    path.write_text("\n".join(quoted) + "\n", encoding="utf-8")
    return path


def qualtrics(path: Path, rows: list[list[Any]]) -> Path:
    ids = [json.dumps({"ImportId": f"QID{n}"}) for n in range(len(NAMES))]
    return sheet(path, [NAMES, ASKED, ids], rows)


def test_questions_of_qualtrics_are_kept(command, tmp_path: Path):
    """As the statements of their criteria; and one that asks for the dialogue names it, whatever its column is called."""
    rows = [["R_1", 7, "Agree", "Disagree", "no"], ["R_2", 7, "Neutral", "Agree", ""], ["R_3", 9, "Agree", "Agree", ""]]
    done = command(qualtrics(tmp_path / "survey.csv", rows), "--set", "model=heron")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert {*zip(got["criterion"], got["statement"], strict=True)} == {("Q2_1", ASKED[2]), ("Q2_2", ASKED[3])}
    assert sorted(zip(got["dialogue_id"], got["criterion"], got["value"], strict=True)) == sorted(
        [("7", "Q2_1", 4), ("7", "Q2_2", 2), ("7", "Q2_1", 3), ("7", "Q2_2", 4), ("9", "Q2_1", 4), ("9", "Q2_2", 4)]
    )
    assert "guessed: Q1 is dialogue_id" in done.stderr


@pytest.mark.parametrize(
    "heading", ["Which conversation did you read?", "Chat number", "Dialogue ID", "What is the code of the chat?"]
)
def test_a_question_that_names_the_dialogue(command, tmp_path: Path, heading: str):
    """Its answers may be numbers like the ratings."""
    header = [["Timestamp", "Your name", heading, "Which bot did you talk to?", "Fluency"]]
    rows = [["1/1/2025", "ann", 1, "gpt", 4], ["1/1/2025", "bob", 1, "gpt", 2], ["1/2/2025", "cem", 2, "llama", 5]]
    done = command(sheet(tmp_path / "form.csv", header, rows), "--rename", "Your name=worker_id")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert got["dialogue_id"].tolist() == ["1", "1", "2"]
    assert {*got["criterion"]} == {"Fluency"}


@pytest.mark.parametrize("first", ["Timestamp", "Zeitstempel"])
def test_a_form_that_names_no_dialogue_has_one_for_each_row(command, tmp_path: Path, first: str):
    """Which is a guess, with what it costs; a plain table without dialogues is still refused."""
    rows = [["1/1/2025", "ann", "gpt", 4, 3], ["1/1/2025", "bob", "llama", 2, 1]]
    header = [[first, "Username", "model", "Fluency", "Warmth"]]
    done = command(sheet(tmp_path / "form.csv", header, rows))
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert got.groupby("dialogue_id")["criterion"].apply(sorted).tolist() == [["Fluency", "Warmth"]] * 2
    assert "guessed: dialogue_id is the row number, as no column has it" in done.stderr
    assert "every row counts as a separate dialogue" in done.stdout
    plain = sheet(tmp_path / "ratings.csv", [["rater", "model", "Fluency", "Warmth"]], [row[1:] for row in rows])
    refused = command(plain, "--force")
    assert (refused.exit_code, "missing column dialogue_id" in refused.stderr) == (1, True)
