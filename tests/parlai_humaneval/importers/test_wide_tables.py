"""Tables with a column for each model, or for each model and criterion; criteria are never taken for models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables

BOTH = {("gpt", "fluency", 4), ("gpt", "coherence", 3), ("llama", "fluency", 2), ("llama", "coherence", 1)}


def imported(command: Any, tmp_path: Path, text: str, *arguments: str) -> Any:
    (tmp_path / "sheet.csv").write_text(text, encoding="utf-8")
    return command("--from", "tables", tmp_path / "sheet.csv", *arguments)


@pytest.mark.parametrize(
    ("header", "arguments"),
    [
        ("gpt_fluency,gpt_coherence,llama_fluency,llama_coherence", []),
        ("gpt [fluency],gpt [coherence],llama [fluency],llama [coherence]", []),
        ("fluency.gpt,coherence.gpt,fluency.llama,coherence.llama", []),
        ("fluency of gpt,coherence of gpt,fluency of llama,coherence of llama", ["--wide", "{criterion} of {model}"]),
        ("gpt,,llama,\n,,fluency,coherence,fluency,coherence", []),
        ("gpt,gpt,llama,llama\n,,fluency,coherence,fluency,coherence", []),
    ],
)
def test_a_column_for_each_model_and_criterion(command, tmp_path: Path, header: str, arguments: list[str]):
    text = f"item,rater,{header}\nq1,ann,4,3,2,1\nq2,ann,4,3,2,1\n"
    done = imported(command, tmp_path, text, "--table", "ratings", *arguments)
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert set(zip(got["model"], got["criterion"], got["value"], strict=True)) == BOTH
    assert len(got) == 8


@pytest.mark.parametrize("arguments", [["--wide", "{model}"], ["--wide", "gpt,llama", "--set", "criterion=quality"]])
def test_a_column_for_each_model(command, tmp_path: Path, arguments: list[str]):
    """An empty cell is nobody's rating."""
    text = "item,rater,gpt,llama\nq1,ann,4,3\nq1,bob,5,\n"
    done = imported(command, tmp_path, text, "--table", "ratings", *arguments)
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert list(zip(got["model"], got["value"], strict=True)) == [("gpt", 4), ("llama", 3), ("gpt", 5)]
    assert set(got["criterion"]) == ({"quality"} if "--set" in arguments else {"rating"})


def test_a_pattern_of_one_field_takes_the_name_out_of_the_question(command, tmp_path: Path):
    """As forms on the web name the columns of a grid."""
    text = "item,rater,How fluent? [Bot A],How fluent? [Bot B]\nq1,ann,4,3\n"
    done = imported(command, tmp_path, text, "--table", "ratings", "--wide", "How fluent? [{model}]")
    assert done.exit_code == 0, done.stderr
    assert list(read_tables(command.out).ratings["model"]) == ["Bot A", "Bot B"]


def test_columns_that_identify_raters_are_left_out(command, tmp_path: Path):
    text = "item,rater,model,criterion,value,IPAddress,RecipientEmail\nq1,ann,a,x,4,10.1.2.3,ann@example.org\n"
    done = imported(command, tmp_path, text, "--table", "ratings")
    assert done.exit_code == 0, done.stderr
    assert "left out: IPAddress, RecipientEmail" in done.output
    assert not any(
        "10.1.2.3" in file.read_text() or "example.org" in file.read_text() for file in command.out.iterdir()
    )


def test_criteria_without_a_model_are_not_taken_for_models(command, tmp_path: Path):
    done = imported(command, tmp_path, "item,rater,helpful,kind\nq1,ann,4,3\n", "--table", "ratings")
    assert done.exit_code == 1
    assert "missing column model" in done.stderr
    assert "--wide '{model}'" in done.stderr


def test_ranks_are_a_comparison_of_every_two(command, tmp_path: Path):
    text = "question,rater,gpt,llama,vicuna\n1,ann,1,2,3\n2,ann,2,1,2\n3,bob,1,,2\n"
    done = imported(command, tmp_path, text, "--table", "comparisons")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).comparisons
    found = list(zip(got["item_id"], got["model_a"], got["model_b"], got["winner"], got["n_models"], strict=True))
    assert found == [
        ("1", "gpt", "llama", "gpt", 3),
        ("1", "gpt", "vicuna", "gpt", 3),
        ("1", "llama", "vicuna", "llama", 3),
        ("2", "gpt", "llama", "llama", 3),
        ("2", "gpt", "vicuna", "tie", 3),
        ("2", "llama", "vicuna", "llama", 3),
        ("3", "gpt", "vicuna", "gpt", 2),
    ]


def test_numbers_that_are_no_ranks_are_not_guessed(command, tmp_path: Path):
    text = "question,rater,labels,score_1,score_2\n1,ann,1,20,3\n2,ann,0,5,9\n3,bob,1,7,2\n"
    done = imported(command, tmp_path, text, "--table", "comparisons")
    assert (done.exit_code, "missing column model_a" in done.stderr) == (1, True)


def test_what_is_no_rating_is_no_criterion(command, tmp_path: Path):
    """Ids, times and ages are numbers, too; questions of Qualtrics and their ids are no answers."""
    ids = ",".join(f'"{{""ImportId"":""QID{n}""}}"' for n in range(6))
    text = f"ResponseId,item,model,doc_id,Age,Q1\nResponse,Item,Model,Doc,Age,How kind?\n{ids}\nR_1,i1,x,7,30,Agree\n"
    done = imported(command, tmp_path, text, "--table", "ratings")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert list(zip(got["criterion"], got["value"], strict=True)) == [("Q1", 4)]


def test_a_spreadsheet_of_results_in_words(command, tmp_path: Path):
    """“Model A wins”, with the question as the item."""
    rows = ["1,ann,gpt,llama,Model A wins", "2,ann,llama,gpt,B is better", "3,bob,gpt,llama,Tie"]
    assert imported(command, tmp_path, "\n".join(["Question,Rater,Model A,Model B,Result", *rows])).exit_code == 0
    got = read_tables(command.out).comparisons
    assert list(zip(got["item_id"], got["winner"], strict=True)) == [("1", "gpt"), ("2", "gpt"), ("3", "tie")]


def test_a_report_of_other_words_says_how_to_import_them(tmp_path: Path):
    """Its own words are the only ones that the report reads; the advice is the command that knows the others."""
    (tmp_path / "comparisons.csv").write_text("item_id,worker_id,metric,model_a,model_b,winner\n1,r,m,x,y,model_a\n")
    with pytest.raises(TableError) as refused:
        read_tables(tmp_path)
    assert f"parlai-humaneval import {tmp_path / 'comparisons.csv'} --out" in " ".join(refused.value.try_)


def test_a_slip_in_a_column_of_ratings_is_refused_and_hides_no_model(command, tmp_path: Path):
    """Guards the model whose column holds one text: else the others would be compared without it."""
    lines = [f"w{number},d{number},{'four' if number == 7 else 4},2" for number in range(20)]
    text = "\n".join(["worker_id,dialogue_id,alpha,beta", *lines])
    given = ("--wide", "{model}", "--set", "criterion=overall", "--set", "minimum=1", "--set", "maximum=5")
    refused = imported(command, tmp_path, text, "--table", "ratings", *given)
    assert refused.exit_code != 0
    assert "four" in refused.stderr
    done = imported(command, tmp_path, text, "--table", "ratings", *given, "--skip-bad")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings["model"].value_counts().to_dict() == {"beta": 20, "alpha": 19}


def test_skip_bad_leaves_out_single_rows_and_not_most_of_a_file(command, tmp_path: Path):
    """Guards a form in which one 55 among ratings of 1 to 5 makes all others look as if they were on another scale."""
    some = [number % 5 + 1 for number in range(40)]
    lines = [f"w{number},d{number},m,{55 if number == 7 else one},{one},{one}" for number, one in enumerate(some)]
    text = "\n".join(["worker_id,dialogue_id,model,fluency,warmth,depth", *lines])
    refused = imported(command, tmp_path, text, "--table", "ratings", "--wide", "auto", "--skip-bad")
    assert refused.exit_code != 0
    assert "55" in refused.stderr
    scale = ("--set", "minimum=1", "--set", "maximum=5")
    done = imported(command, tmp_path, text, "--table", "ratings", "--wide", "auto", *scale, "--skip-bad")
    assert done.exit_code == 0, done.stderr
    assert len(read_tables(command.out).ratings) == 119


def test_the_answers_of_a_form_response_stay_together(command, tmp_path: Path):
    """Without an id of dialogues a row of the file counts as one, with all of its criteria."""
    text = "worker_id,model,fluent,engaging\nw1,m,1,2\nw2,n,3,4\n"
    done = imported(command, tmp_path, text, "--table", "ratings", "--set", "dialogue_id=")
    assert done.exit_code == 0, done.stderr
    ratings = read_tables(command.out).ratings
    assert ratings.groupby("dialogue_id")["value"].apply(list).tolist() == [[1, 2], [3, 4]]


def test_averages_below_a_table_are_no_rater(command, tmp_path: Path):
    """Spreadsheets end with them; a rater whose name is such a word and who rated before stays."""
    lines = ["mean,d1,1,2", "w2,d1,3,4", "AVERAGE,,2,3", "SD,,1,1"]
    text = "\n".join(["worker_id,dialogue_id,alpha,beta", *lines])
    arguments = ("--table", "ratings", "--wide", "{model}", "--set", "criterion=overall")
    done = imported(command, tmp_path, text, *arguments)
    assert done.exit_code == 0, done.stderr
    assert "Left out: rows below the table with averages or sums: 2." in done.stdout
    assert read_tables(command.out).ratings["value"].tolist() == [1, 2, 3, 4]
    done = imported(
        command, tmp_path, text.replace("AVERAGE,,", "mean,d2,").replace("\nSD,,1,1", ""), *arguments, "--force"
    )
    assert read_tables(command.out).ratings["value"].tolist() == [1, 2, 3, 4, 2, 3]


FORMS = {
    "Qualtrics": "StartDate,Status,Progress,Duration (in seconds),Finished,ResponseId,LocationLatitude,Q1_Page Submit",
    "SurveyMonkey": "Date Created,Collector ID,Date Modified,Custom Data 1,Total score,Respondent ID,Latitude,Age",
}


@pytest.mark.parametrize("form", FORMS)
def test_what_forms_note_themselves_is_no_criterion(command, tmp_path: Path, form: str):
    """Left out and said, with what can identify raters; a table of anybody's own keeps such columns."""
    text = f"{FORMS[form]},model,fluent,warm\n" + "".join(f"1,2,100,{n},1,{n},5.5,9.5,heron,4,{n}\n" for n in (2, 3))
    given = ("--table", "ratings", "--set", "dialogue_id=d", "--yes")
    done = imported(command, tmp_path, text, *given)
    assert done.exit_code == 0, done.stderr
    ratings = read_tables(command.out).ratings
    assert {*ratings["criterion"]} == {"fluent", "warm"}
    assert ratings["worker_id"].nunique() == 2
    names = FORMS[form].split(",")
    assert f"are left out (--rename keeps them): {', '.join(names[:5])}." in done.stdout
    assert {*names} & {*ratings} == {names[7]}
    own = text.replace(",".join(names[:5]), "one,two,three,Status,progress")
    done = imported(command, tmp_path, own, *given, "--wide", "fluent,warm", "--force")
    assert {"Status", "progress"} <= {*read_tables(command.out).ratings}


AGREE5 = ["Strongly disagree", "Somewhat disagree", "Neither agree nor disagree", "Somewhat agree", "Strongly agree"]


@pytest.mark.parametrize(
    ("fluent", "kind", "values"),
    [
        (["Poor", "Fair", "Good", "Very good", "Excellent"], [], [1, 2, 3, 4, 5]),
        (["Very poor", "Poor", "Fair", "Good", "Excellent"], [], [1, 2, 3, 4, 5]),
        (["Very poor", "Poor", "Fair", "Good", "Very good", "Excellent"], [], [1, 2, 3, 4, 5, 6]),
        (["差", "一般", "好", "很好", "非常好"], [], [1, 2, 3, 4, 5]),
        (["Not at all", "Slightly", "Somewhat", "Moderately", "Extremely"], [], [1, 2, 3, 4, 5]),
        (AGREE5, [], [1, 2, 3, 4, 5]),
        (AGREE5, ["Agree", "Disagree"], [1, 3, 4, 5, 7]),
        (["Strongly disagree", "Disagree", "Agree", "Strongly agree"], [], [1, 2, 4, 5]),
    ],
)
def test_a_scale_in_words_is_the_one_that_has_them_all(
    command, tmp_path: Path, fluent: list[str], kind: list[str], values: list[int]
):
    """Guards “Very good” and “Excellent” as one number, and Qualtrics' five points as five of seven; another question of
    the form shows which scale it is. A scale without a middle is a remark."""
    kinds = [*kind, *fluent][: len(fluent)]
    rows = [f"q{n},ann,bot,{one},{two}" for n, (one, two) in enumerate(zip(fluent, kinds, strict=True))]
    text = "\n".join(["item,rater,model,fluent,kind", *rows, ""])
    done = imported(command, tmp_path, text, "--table", "ratings", "--wide", "fluent,kind")
    assert done.exit_code == 0, done.stderr
    ratings = read_tables(command.out).ratings
    assert ratings[ratings["criterion"] == "fluent"]["value"].tolist() == values
    assert done.stdout.count("become 1, 2, 4, 5 (no word means “middle”)") == 2 * (len(fluent) == 4)


def test_two_words_of_a_scale_are_never_one_number(command, tmp_path: Path):
    """What no scale holds together is refused, with what to type; typed so, it is read."""
    words = ["Very bad", "Bad", "OK", "Fair", "Good"]
    text = "\n".join(["item,rater,model,fluent", *(f"q{n},ann,bot,{word}" for n, word in enumerate(words)), ""])
    arguments = ["--table", "ratings", "--wide", "fluent"]
    done = imported(command, tmp_path, text, *arguments)
    assert done.exit_code != 0
    assert "Fair and OK would both be 3" in done.stderr
    assert "--map 'value:Bad=…,Fair=…,Good=…,OK=…,Very bad=…'" in " ".join(done.stderr.split())
    given = ["--map", "value:Very bad=1,Bad=2,OK=3,Fair=4,Good=5"]
    assert imported(command, tmp_path, text, *arguments, *given).exit_code == 0
    assert read_tables(command.out).ratings["value"].tolist() == [1, 2, 3, 4, 5]
