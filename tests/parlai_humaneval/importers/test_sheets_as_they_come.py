"""Sheets as people export them, without options: taken for what they are, and what was guessed is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from parlai_humaneval.importers import vocabulary
from parlai_humaneval.tables.files import read_tables


def imported(command: Any, tmp_path: Path, text: str, *arguments: str, name: str = "sheet.csv") -> Any:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return command(tmp_path / name, *arguments, "--force", "--yes")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("null", "holds no rows, only null"),
        ("5", "holds no rows, only 5"),
        ('"text"', "holds no rows, only"),
        ("true", "holds no rows, only true"),
        ("[]", "has no rows"),
        ("{}", "has no rows"),
        ("[1, 2]", "entry 1 of its list: is not a JSON object"),
    ],
)
@pytest.mark.parametrize("arguments", [[], ["--table", "ratings"]])
def test_json_without_rows_is_an_error(command, tmp_path: Path, text: str, said: str, arguments: list[str]):
    """Guards a traceback, and the advice to name the table of a file that holds none."""
    done = imported(command, tmp_path, text, *arguments, name="one.json")
    assert done.exit_code == 1
    assert said in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--wide", "fluency,warmth"]])
@pytest.mark.parametrize(
    "header",
    ["rater,model,dialogue,fluency,warmth", "Rater ID,System,ID,fluency,warmth", "评分者,模型,对话,fluency,warmth"],
)
def test_a_sheet_of_criteria_needs_no_table(command, tmp_path: Path, header: str, arguments: list[str]):
    """By its columns, which is a guess; ``--wide`` says that it holds ratings."""
    done = imported(command, tmp_path, f"{header}\nann,gpt,d1,4,2\nbob,llama,d2,3,1\n", *arguments)
    assert done.exit_code == 0, done.stderr
    assert sorted(read_tables(command.out).ratings["value"]) == [1, 2, 3, 4]
    assert ("by its columns (--table names another)" in done.stderr) == (not arguments)


def test_votes_under_single_letters_need_no_table(command, tmp_path: Path):
    done = imported(command, tmp_path, "item,rater,a,b,winner\nq1,ann,gpt,llama,a\nq2,bob,gpt,llama,tie\n")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons["winner"].tolist() == ["gpt", "tie"]


@pytest.mark.parametrize("who", ["System left,System right", "chatbot left,chatbot right", "System A,System B"])
def test_a_sheet_of_votes_with_a_question_for_a_heading(command, tmp_path: Path, who: str):
    """Guards models that are named by their side, whose votes were taken for ratings because no column is a winner."""
    text = (
        f"Annotator ID,{who},Which one did you like more?,How sure are you (1-5),chat no.\n"
        "a1,x,y,left,3,1\na1,y,x,right,4,2\n"
    )
    done = imported(command, tmp_path, text)
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons[["item_id", "winner"]].values.tolist() == [["1", "x"], ["2", "x"]]


def test_a_missing_file_is_not_any_other(command, tmp_path: Path):
    """Guards a suggestion whose name is like the missing one by its ending alone."""
    (tmp_path / "one.csv").touch()
    assert "Did you mean" not in command(tmp_path / "votes.csv").stderr
    (tmp_path / "vote.csv").touch()
    assert "Did you mean vote.csv?" in command(tmp_path / "votes.csv").stderr


def test_rows_of_averages_below_an_empty_cell_are_left_out(command, tmp_path: Path):
    """Where a spreadsheet writes “Mean” under its second column."""
    done = imported(command, tmp_path, "rater,dialogue,model,fluency\nann,d1,gpt,4\nbob,d2,gpt,2\n,Mean,,3\n")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings["value"].tolist() == [4, 2]


ADDRESSES = {
    **dict.fromkeys(("E-Mail-Adresse", "What is your email?", "annotator_email", "mail", "邮箱"), "ann@example.org"),
    **dict.fromkeys(("Username", "Name", "Contact", "yourName", "请填写姓名"), "Ann Example"),
    **dict.fromkeys(("IP", "Telefonnummer", "phone number"), "192.0.2.1"),
    "q7": "ann@example.org",
    "q8": "+49 171 1234567",
    "q9": "13812345678",
    "q10": "192.0.2.1",
    "q11": "555-867-5309",
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_what_says_who_a_rater_is_does_not_stay(command, tmp_path: Path, name: str):
    """By the name of a column in any spelling, or by its cells."""
    text = f"rater,model,dialogue,fluency,{name}\nw1,gpt,d1,4,{ADDRESSES[name]}\nw2,llama,d2,3,{ADDRESSES[name]}\n"
    done = imported(command, tmp_path, text)
    assert done.exit_code == 0, done.stderr
    assert f"left out: {name}." in done.stdout
    assert all(ADDRESSES[name] not in file.read_text() for file in command.out.iterdir())
    assert {*read_tables(command.out).ratings["criterion"]} == {"fluency"}


@pytest.mark.parametrize("name", ["Your e-mail address", "What is your email?", "annotator_email", "邮箱"])
def test_an_address_that_names_the_rater_is_a_pseudonym(command, tmp_path: Path, name: str):
    text = f"{name},Which system did you see?,dialogue,fluency\nann@example.org,gpt,d1,4\nbob@example.org,llama,d2,3\n"
    done = imported(command, tmp_path, text)
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings["worker_id"].nunique() == 2
    assert all("example.org" not in file.read_text() for file in command.out.iterdir())


@pytest.mark.parametrize(
    ("name", "cell"), [("mail quality", "4"), ("model name", "x"), ("email text", "a" * 200), ("date", "2024-01-02")]
)
def test_ratings_models_and_texts_are_no_addresses(command, tmp_path: Path, name: str, cell: str):
    """Guards a criterion that is about e-mail, and dates, which look like numbers of telephones."""
    text = f"rater,model,dialogue,fluency,{name}\nw1,gpt,d1,4,{cell}\nw2,llama,d2,3,{cell}\n"
    done = imported(command, tmp_path, text)
    assert done.exit_code == 0, done.stderr
    ratings = read_tables(command.out).ratings
    assert name in {*ratings.columns, *ratings["criterion"]}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--map", "Helpful:Yes=1,No=0"], [("Helpful", 1), ("Fun", 4), ("Helpful", 0), ("Fun", 3)]),
        (["--map", "Helpful:Yes=0,No=1"], [("Helpful", 0), ("Fun", 4), ("Helpful", 1), ("Fun", 3)]),
        (["--wide", "Helpful,Fun"], [("Helpful", 1), ("Fun", 4), ("Helpful", 0), ("Fun", 3)]),
        (["--drop", "Fun"], [("Helpful", 1), ("Helpful", 0)]),
    ],
)
def test_yes_and_no_are_ratings(command, tmp_path: Path, arguments: list[str], expected: list[tuple[str, int]]):
    """Mapped, named, or where nothing else is a rating."""
    text = "rater,model,dialogue,Helpful,Fun\nann,gpt,d1,Yes,4\nbob,llama,d2,No,3\n"
    done = imported(command, tmp_path, text, *arguments)
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert list(zip(got["criterion"], got["value"], strict=True)) == expected


@pytest.mark.parametrize(
    ("word", "winner"),
    [
        *dict.fromkeys(("About the same", "Both are good", "unentschieden"), "tie").items(),
        *dict.fromkeys(("Option 1", "links"), "gpt").items(),
        *dict.fromkeys(("Option 2", "rechts"), "llama").items(),
    ],
)
def test_more_words_for_a_winner(command, tmp_path: Path, word: str, winner: str):
    done = imported(command, tmp_path, f"item,Bewerter,a,b,winner\nq1,ann,gpt,llama,{word}\n")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons["winner"].tolist() == [winner]


@pytest.mark.parametrize("word", ["True", "1", "0"])
def test_a_winner_that_may_be_either_is_not_guessed(command, tmp_path: Path, word: str):
    done = imported(command, tmp_path, f"item,Bewerter,a,b,winner\nq1,ann,gpt,llama,{word}\n")
    assert done.exit_code == 1
    assert "--map 'winner:" in done.stderr


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1 = strongly agree", "2", "5 = strongly disagree"], [5, 4, 1]),
        (["1 (strongly agree)", "6", "7 (strongly disagree)"], [7, 2, 1]),
        (["2 = agree", "3 = neutral", "4 = disagree"], [4, 3, 2]),
        (["1 = strongly disagree", "2", "5 = strongly agree"], [1, 2, 5]),
        (["1 - bad", "2", "5 - good"], [1, 2, 5]),
    ],
)
def test_a_scale_whose_numbers_run_against_its_words_is_turned_round(
    command, tmp_path: Path, cells: list[str], values: list[int]
):
    """Guards agreement that counts as disagreement; it is a guess, and shown."""
    rows = [f"r{n},gpt,d{n},{cell}" for n, cell in enumerate(cells)]
    done = imported(command, tmp_path, "\n".join(["rater,model,dialogue,fluency", *rows, ""]))
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings["value"].tolist() == values
    assert ("low numbers mean the most" in done.stderr) == (values[0] > values[-1])


@pytest.mark.parametrize("name", ["x.pdf", "votes.csv", "x.csv.gz"])
def test_what_is_no_table_is_called_so(command, tmp_path: Path, name: str):
    done = imported(command, tmp_path, "%PDF-1.4\n", name=name)
    assert done.exit_code == 1
    assert "is not a table: it contains only" in done.stderr


def test_a_column_to_rename_that_no_file_has_is_named_before_its_new_name(command, tmp_path: Path):
    """Guards advice on the new name, where the old one is misspelt."""
    text = "rater,model,dialogue,fluency\nann,gpt,d1,4\n"
    assert "No file has a column foo to rename" in imported(command, tmp_path, text, "--rename", "foo=bar").stderr


def test_whole_dialogues_are_not_compared_with_the_words_of_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the import of large files, which took minutes; and answers in words beside one long text."""
    compared: list[str] = []
    plain = vocabulary._plain
    monkeypatch.setattr(vocabulary, "_plain", lambda word: compared.append(word) or plain(word))
    answers = pd.Series(["agree"] * 30 + ["disagree"] * 20 + ["I agree. " * 1000])
    assert vocabulary.in_numbers(answers)[0] == {"agree": 4, "disagree": 2}
    assert sorted(compared) == ["agree", "disagree"]


@pytest.mark.parametrize(
    "header", ["题号,评审,模型A,模型B,胜者", "Frage;Bewerterin;Modell A;Modell B;Sieger"], ids=["Chinese", "German"]
)
def test_headings_in_other_languages_are_known(command, tmp_path: Path, header: str) -> None:
    """Guards votes with no option at all: the words for winners were known, but not those for the columns."""
    mark = ";" if ";" in header else ","
    text = "\n".join([header, *(mark.join([f"q{n}", f"r{n % 2}", "x", "y", "x"]) for n in range(4))])
    assert imported(command, tmp_path, text).exit_code == 0
    votes = read_tables(command.out).comparisons
    assert votes["item_id"].tolist() == ["q0", "q1", "q2", "q3"]
    assert votes[["model_a", "model_b", "winner"]].drop_duplicates().values.tolist() == [["x", "y", "x"]]
    assert votes["worker_id"].nunique() == 2


def test_of_an_empty_table_nothing_is_shown(command, tmp_path: Path) -> None:
    """Guards the import of what ``export`` wrote, of which most tables are empty."""
    (tmp_path / "in").mkdir()
    text = "dialogue_id,worker_id,model,criterion,value\n"
    (tmp_path / "in" / "ratings.csv").write_text(text + "d,w,x,fun,3\n", encoding="utf-8")
    (tmp_path / "in" / "points.csv").write_text(
        "dialogue_id,worker_id,technique,model,points,rank,n_turns\n", encoding="utf-8"
    )
    said = command("--from", "tables", tmp_path / "in", "--yes").stderr
    assert "points.csv: 0 rows → points" in said
    assert said.count("first row:") == said.count("becomes:") == 1


def test_a_question_above_the_names_of_its_models(command, tmp_path: Path) -> None:
    """Guards exports of SurveyMonkey, whose last question has no name above its further columns."""
    rows = ["Respondent ID,Rate the replies,,", ",BotX,BotY,BotZ", "1,5,4,3", "2,4,4,1"]
    done = imported(command, tmp_path, "\n".join(rows), "--wide", "{criterion} | {model}", "--set", "dialogue_id=")
    assert done.exit_code == 0
    means = read_tables(command.out).ratings.groupby(["criterion", "model"])["value"].mean()
    assert means.to_dict() == {("Rate the replies", f"Bot{n}"): value for n, value in (("X", 4.5), ("Y", 4), ("Z", 2))}


def test_cells_without_a_heading_are_no_second_row_of_names(command, tmp_path: Path) -> None:
    done = imported(command, tmp_path, "rater,model,,\n1,x,4,5\n2,y,3,4\n")
    assert "rows 2, 3 have 4 cells, the header 2" in done.stderr


@pytest.mark.parametrize("heading", ["winnr", "Winer", "winners", "preferred_model"])
@pytest.mark.parametrize("metric", [True, False])
def test_a_slip_in_the_heading_of_the_winner_is_a_guess(command, tmp_path: Path, heading: str, metric: bool):
    """Guards votes whose column was taken for a criterion of its own name, beside or in place of the metric."""
    header = f"item_id,worker_id,{'metric,' * metric}model_a,model_b,{heading}"
    cells = "fluency," * metric
    done = imported(command, tmp_path, f"{header}\nq1,ann,{cells}ada,bob,ada\nq2,ben,{cells}ada,bob,bob\n")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).comparisons
    assert list(zip(got["metric"], got["winner"], strict=True)) == [
        ("fluency" if metric else "preference", winner) for winner in ("ada", "bob")
    ]
    assert f"guessed: {heading} is winner" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--table", "comparisons"]])
def test_votes_under_an_unknown_heading_beside_a_metric_lack_a_winner(command, tmp_path: Path, arguments: list[str]):
    """Guards the advice to drop the metric, which is right."""
    header = "item_id,worker_id,metric,model_a,model_b,pick"
    done = imported(command, tmp_path, f"{header}\nq1,ann,fluency,ada,bob,ada\n", *arguments)
    assert done.exit_code == 1
    assert "--drop metric" not in done.stderr
    assert ("missing column winner" if arguments else "it lacks winner") in done.stderr


@pytest.mark.parametrize("heading", ["critrion", "Criterium", "criterino", "metric"])
@pytest.mark.parametrize("dialogues", [("d1", "d2"), ("d1", "d1")])
def test_a_slip_in_the_heading_of_the_criterion_is_a_guess(
    command, tmp_path: Path, heading: str, dialogues: tuple[str, str]
):
    """Guards ratings of two criteria that became ratings of one, or contradicted each other."""
    rows = zip(dialogues, ("fluency,4", "warmth,3"), strict=True)
    lines = [f"dialogue_id,worker_id,model,{heading},value", *(f"{one},ann,ada,{cells}" for one, cells in rows)]
    done = imported(command, tmp_path, "\n".join(lines))
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert list(zip(got["criterion"], got["value"], strict=True)) == [("fluency", 4), ("warmth", 3)]
    assert f"guessed: {heading} is criterion" in done.stderr


@pytest.mark.parametrize(
    ("heading", "column"),
    [
        ("winner2", None),
        ("model_x", None),
        ("winner_reason", None),
        ("dialogue_a", None),
        ("modl_a", "model_a"),
        ("wroker_id", "worker_id"),
        ("model_a", None),
    ],
)
def test_a_name_that_another_column_may_have_is_no_slip(heading: str, column: str | None):
    missing = ["item_id", "worker_id", "model", "model_a", "winner", "dialogue_id"]
    assert vocabulary.guessed_columns(missing, [heading]).get(heading) == column


def test_a_criterion_called_values_is_no_slip(command, tmp_path: Path):
    """Guards the other criteria, which would not be ratings beside a column ``value``."""
    done = imported(command, tmp_path, "worker_id,dialogue_id,model,fluency,values\nann,d1,ada,4,3\nben,d1,ada,3,5\n")
    assert done.exit_code == 0, done.stderr
    assert set(read_tables(command.out).ratings["criterion"]) == {"fluency", "values"}
    done = imported(command, tmp_path, "worker_id,dialogue_id,model,criterion,values\nann,d1,ada,warmth,3\n")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings["value"].tolist() == [3]


def test_of_two_slips_none_is_taken():
    assert vocabulary.guessed_columns(["winner"], ["winnr", "winer"]) == {}


@pytest.mark.parametrize("heading", ["Rater Name", "worker name", "annotator_name"])
def test_the_name_of_a_rater_names_the_rater(command, tmp_path: Path, heading: str):
    text = f"item_id,{heading},metric,model_a,model_b,winner\nq1,ann,fluency,ada,bob,ada\nq2,ben,fluency,ada,bob,bob\n"
    done = imported(command, tmp_path, text)
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons["worker_id"].nunique() == 2


def test_who_skips_bad_rows_is_not_advised_to(command, tmp_path: Path):
    """Neither for a column that is missing, nor where most rows are wrong, which is said."""
    lines = [f"d{number},ann,ada,fluency" for number in range(12)]
    without = imported(command, tmp_path, "\n".join(["dialogue_id,worker_id,model,criterion", *lines]), "--skip-bad")
    wrong = ["dialogue_id,worker_id,model,criterion,value", *(f"{line},many" for line in lines)]
    most = imported(command, tmp_path, "\n".join(wrong), "--skip-bad")
    empty = imported(command, tmp_path, "\n".join([wrong[0], *(line.replace("ann", "") + ",3" for line in lines)]))
    skipped = imported(
        command, tmp_path, "\n".join([wrong[0], *(line.replace("ann", "") + ",3" for line in lines)]), "--skip-bad"
    )
    assert [done.exit_code for done in (without, most, empty, skipped)] == [1] * 4
    assert ["--skip-bad" in done.stderr for done in (without, most, empty, skipped)] == [False, False, True, False]
    assert vocabulary.WORDS["advice"]["most_bad"][1:] in " ".join(most.stderr.split())
    assert vocabulary.WORDS["advice"]["most_bad"][1:] not in without.stderr
