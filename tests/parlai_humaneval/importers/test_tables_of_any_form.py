"""Tables as people have them: other words for columns, winners and ratings, columns of criteria."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.viewer.entries import entries

CASES = Path(__file__).parents[4] / "shared" / "cases"
published = pytest.mark.skipif(not CASES.is_dir(), reason="the published cases are not beside this checkout")
VOTES = [
    {
        "item_id": f"i{n}",
        "worker_id": f"w{n % 2}",
        "metric": "preference",
        "model_a": "x",
        "model_b": "y",
        "winner": winner,
    }
    for n, winner in enumerate(["x", "y", "tie", "x"])
]
NESTED = [{**vote, "chat": [{"role": "user", "content": "Hi"}]} for vote in VOTES]


def lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def csv_of(rows: list[dict], separator: str = ",") -> str:
    return pd.DataFrame(rows).to_csv(index=False, sep=separator)


@pytest.mark.parametrize(
    ("words", "arguments", "sided"),
    [
        (["model_a", "model_b", "tie", "tie (bothbad)"], [], True),
        (["left", "right", "no preference", "neither"], [], True),
        (["A", "B", "Tie", "both bad"], [], True),
        (["A>>B", "b>a", "A=B", "Both_Bad"], [], True),
        (["左", "右", "平局", "都不好"], [], True),
        (["左边更好", "B更好", "差不多", "两个都不好"], [], True),
        (["strongly prefer A", "B is slightly better", "tie", "neither"], [], True),
        (["1", "2", "0", "0"], [], True),
        (["-3", "+1", "0", "0"], [], True),
        (["X", "Y", "TIE", "tie"], [], False),
        (["0", "1", "2", "3"], ["--map", "winner:0=model_a,1=model_b,2=tie,3=both_bad"], True),
        (["0.0", "1.0", "0.5", "0.5"], ["--map", "winner:0=x,1=y,0.5=tie"], False),
    ],
)
def test_winners_in_other_words(command, tmp_path: Path, words: list[str], arguments: list[str], sided: bool):
    """The side is known where winners are named by it; the models stay where they are, or change places with it."""
    rows = [{**vote, "winner": word} for vote, word in zip(VOTES, words, strict=True)]
    rows[1] |= {"model_a": "y", "model_b": "x"}
    (tmp_path / "v.csv").write_text(csv_of(rows), encoding="utf-8")
    done = command("--from", "tables", tmp_path / "v.csv", *arguments)
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).comparisons
    second = "x" if sided else "y"
    assert got["winner"].tolist() == ["x", second, "tie", "tie"]
    assert got["side"].dropna().tolist() == ([1, 2, 1, 1] if sided else [])
    if "bad" in words[3].lower() or words[3] in ("neither", "都不好") or "both_bad" in str(arguments):
        assert got["both_bad"].tolist() == [0, 0, 0, 1]


def test_models_whose_names_are_words_for_sides_stay_models(command, tmp_path: Path):
    """With models called b and a, the winner a is the second."""
    rows = [{**vote, "model_a": "b", "model_b": "a", "winner": "a"} for vote in VOTES]
    (tmp_path / "v.csv").write_text(csv_of(rows))
    assert command("--from", "tables", tmp_path / "v.csv").exit_code == 0
    got = read_tables(command.out).comparisons
    assert (set(got["winner"]), got["side"].isna().all()) == ({"a"}, True)


def test_0_and_1_alone_are_not_guessed(command, tmp_path: Path):
    """Either may be the first model: a wrong guess would turn the result round."""
    (tmp_path / "v.csv").write_text(csv_of([{**vote, "winner": n % 2} for n, vote in enumerate(VOTES)]))
    done = command("--from", "tables", tmp_path / "v.csv")
    assert done.exit_code == 1
    assert "--map 'winner:0=…,1=…'" in done.stderr


def test_a_form_with_a_column_for_each_criterion(command, tmp_path: Path):
    """Names of columns, words of scales and numbers before words are known; blanks are left out and counted."""
    form = {"Rater": "r", "System": "s", "Dialogue": "d"}
    rows = [
        {**form, "Fluent": "Strongly agree", "Fun": "4 - good", "Age": "30s", "评": "同意"},
        {**form, "Dialogue": "e", "Fluent": "disagree", "Fun": "n/a", "Age": "40s", "评": "非常不同意"},
    ]
    (tmp_path / "form.csv").write_text(csv_of(rows), encoding="utf-8")
    for wide in ([], ["--wide", "Fluent,Fun,评"], ["--wide", "auto", "--force"]):
        done = command("--from", "tables", tmp_path / "form.csv", "--table", "ratings", *wide, "--force")
        assert done.exit_code == 0, done.stderr
        got = read_tables(command.out).ratings
        values = list(zip(got["dialogue_id"], got["criterion"], got["value"], strict=True))
        assert values == [("d", "Fluent", 5), ("d", "Fun", 4), ("d", "评", 4), ("e", "Fluent", 2), ("e", "评", 1)]
        assert got["maximum"].dropna().tolist() == [5, 5, 5, 5]
        assert re.search("Left out: .*: 1\\.", done.stdout)


def test_what_was_understood_is_printed_and_asked_only_on_a_terminal(command, tmp_path: Path, monkeypatch):
    """A script goes on, and has the guesses on standard error; a person may say no, and nothing is written."""
    rows = [{("id" if key == "item_id" else key): cell for key, cell in vote.items()} for vote in VOTES]
    (tmp_path / "v.csv").write_text(csv_of(rows))
    done = command("--from", "tables", tmp_path / "v.csv", "--table", "comparisons")
    assert done.exit_code == 0
    assert "item_id ← id" in done.stderr
    assert "guessed: id is item_id" in done.stderr
    found = json.loads(
        command("--from", "tables", tmp_path / "v.csv", "--table", "comparisons", "--force", "--json").stdout
    )
    assert found["understood"][0]["columns"] == {"item_id": "id"}


def test_votes_without_raters_are_taken_when_said_and_say_what_that_costs(command, tmp_path: Path):
    (tmp_path / "v.csv").write_text(csv_of([{key: vote[key] for key in vote if key != "worker_id"} for vote in VOTES]))
    assert "missing column worker_id" in command("--from", "tables", tmp_path / "v.csv").stderr
    done = command("--from", "tables", tmp_path / "v.csv", "--set", "worker_id=")
    assert "intervals are too narrow" in done.stdout
    assert read_tables(command.out).comparisons["worker_id"].nunique() == 4


def test_a_name_in_the_way_and_a_header_twice(command, tmp_path: Path):
    """A column that only looks like ours is renamed or dropped, and the advice on a second one leads somewhere."""
    (tmp_path / "v.csv").write_text(csv_of([{**vote, "turn": "opening"} for vote in VOTES]))
    assert "--rename turn=NAME or --drop turn" in command("--from", "tables", tmp_path / "v.csv").stderr
    assert command("--from", "tables", tmp_path / "v.csv", "--rename", "turn=phase").exit_code == 0
    assert read_tables(command.out).comparisons["phase"].tolist() == ["opening"] * 4
    (tmp_path / "w.csv").write_text(csv_of(VOTES).replace("model_b", "model_a"))
    table = ("--from", "tables", tmp_path / "w.csv", "--table", "comparisons", "--force")
    assert "--rename 'model_a (2)=model_b'" in command(*table).stderr
    assert command(*table, "--rename", "model_a (2)=model_b").exit_code == 0


def test_a_misspelt_model_is_a_remark_and_a_misspelt_winner_an_error(command, tmp_path: Path):
    rows = [
        {**vote, "item_id": f"{vote['item_id']}.{n}", "model_b": "llama", "winner": "x"}
        for n in range(5)
        for vote in VOTES
    ]
    rows[0]["model_b"] = "Llama"
    (tmp_path / "v.csv").write_text(csv_of(rows))
    assert "--map model:Llama=llama." in command("--from", "tables", tmp_path / "v.csv").stdout
    assert command("--from", "tables", tmp_path / "v.csv", "--map", "model:Llama=llama", "--force").exit_code == 0
    assert set(read_tables(command.out).comparisons["model_a"]) == {"llama"}
    (tmp_path / "v.csv").write_text(csv_of([{**rows[1], "winner": "lama\u200b"}]), encoding="utf-8")
    refused = command("--from", "tables", tmp_path / "v.csv", "--force")
    assert "--map winner:lama=llama" in refused.stderr


def test_all_faults_of_a_file_are_listed_at_once(command, tmp_path: Path):
    """Of several columns, each with row and cell, ten at most; and rows whose cells are too many or too few."""
    rows = [{**VOTES[0], "item_id": f"i{n}", "seconds": "4"} for n in range(30)]
    for n in range(2, 14):
        rows[n]["winner"] = f"bot{n}"
    rows[1]["seconds"], rows[20]["worker_id"] = "soon", ""
    (tmp_path / "comparisons.csv").write_text(csv_of(rows))
    with pytest.raises(TableError) as raised:
        read_tables(tmp_path)
    for said in (command(tmp_path / "comparisons.csv").stderr, str(raised.value)):
        assert "comparisons.worker_id: empty in row 22 (" in said
        assert "comparisons.seconds: 'soon' in row 3, expected a number" in said
        assert (
            said.count("comparisons.winner: 'bot")
            == said.count(", expected 'x' (model_a), 'y' (model_b) or 'tie'")
            == 8
        )
        assert "… and 4 more rows" in said
    reply = {"response": "r", "model": "m", "Overall": [1, 2]}
    (tmp_path / "usr.json").write_text(json.dumps([{"fact": "f", "context": "c", "responses": [reply] * 9}]))
    said = command("--from", "usr", tmp_path / "usr.json").stderr
    assert (said.count("rows 1 and 1 are the same answer"), "… and 15 more rows" in said) == (1, True)
    (tmp_path / "comparisons.csv").write_text("a,b\n1\n1,2\n1,2,3\n1\n")
    with pytest.raises(TableError, match="rows 2, 5 have 1 cell, the header 2; row 4 has 3 cells, the header 2"):
        read_tables(tmp_path)


def test_the_same_fault_of_many_rows_is_one_line(command, tmp_path: Path):
    """Neighbours as a range, and of very many rows how many there are; the hint about the first row stays."""
    rows = [{**VOTES[0], "item_id": f"i{n}", "seconds": "4"} for n in range(500)]
    for n in (1, 3, 4, *range(10, 479)):
        rows[n]["winner"] = "nobody"
    for n in range(480, 500):
        rows[n] |= {"winner": "none here", "model_a": "x", "model_b": "y"}
    (tmp_path / "comparisons.csv").write_text(csv_of(rows))
    done = command(tmp_path / "comparisons.csv")
    said = " ".join(done.stderr.split())
    assert "'nobody' in row 3, and the same in rows 5, 6, 12–480, expected" in said
    assert "'none here' in row 482, and the same in rows 483–501, expected" in said
    assert ("more row" in said, "row 3 of the file: item_id i1" in said) == (False, True)
    for n in range(500):
        rows[n]["winner"] = ("x", "nobody")[n % 2]
    (tmp_path / "comparisons.csv").write_text(csv_of(rows))
    with pytest.raises(TableError) as raised:
        read_tables(tmp_path)
    assert "the same in rows 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25," in str(raised.value)
    assert "41, 43 … (249 in all), expected" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("conversations", []), ("messages", []), ("talk", ["--rename", "talk=response"])],
)
def test_a_rated_conversation_is_kept_and_shown_turn_by_turn(command, tmp_path: Path, name: str, arguments: list[str]):
    """ShareGPT's column is not taken for a misspelt ``conversation``, which is a number."""
    talk = [{"from": "human", "value": "Hi!"}, {"from": "gpt", "value": "Hello."}]
    rated = [{"id": "c1", "model": "x", "rating": 3, name: talk}]
    (tmp_path / "rated.json").write_text(json.dumps(rated))
    given = ("--table", "ratings", "--set", "worker_id=", "--set", "criterion=quality", *arguments)
    result = command(tmp_path / "rated.json", *given)
    assert (result.exit_code, "is ignored" in result.output + result.stderr) == (0, False)
    (shown,) = entries(read_tables(command.out))[0].talks.values()
    assert [(line["who"], line["text"]) for line in shown["lines"]] == [("human", "Hi!"), ("x", "Hello.")]


def test_a_missing_file_is_told_the_nearest_name(command, tmp_path: Path):
    (tmp_path / "chats.csv").write_text("a\n1\n")
    assert "Did you mean chats.csv?" in command("--from", "tables", tmp_path / "nochats.csv").stderr


def test_advice_shows_what_cannot_be_seen_and_can_be_typed(command, tmp_path: Path):
    """A zero-width space inside a word is an escape in the advice, which ``--map`` reads."""
    path = tmp_path / "comparisons.csv"
    path.write_text(csv_of([*VOTES, {**VOTES[0], "item_id": "i9", "winner": "the\u200bfirst"}]), encoding="utf-8")
    assert r"--map 'winner:the\u{200b}first=…'" in command(path).stderr
    assert command(path, "--map", r"winner:the\u{200b}first=model_a").exit_code == 0
    assert read_tables(command.out).comparisons["winner"].tolist()[-1] == "x"


def test_what_was_understood_is_shown_for_names_cleaned_cells_and_a_first_row(command, tmp_path: Path):
    """Other letters of a header, blanks at the ends, and columns that pass through: the first row before and after."""
    rows = [{("Item_ID" if key == "item_id" else key): cell for key, cell in vote.items()} for vote in NESTED]
    (tmp_path / "comparisons.csv").write_text(csv_of([rows[0], {**rows[1], "worker_id": "w1 "}, *rows[2:]]))
    done = command(tmp_path / "comparisons.csv")
    assert "  item_id ← Item_ID\n  worker_id (values) ← cleaned in 1 cell\n" in done.stderr
    assert "\n  passed through: chat\n" in done.stderr
    assert "  first row: Item_ID i0, worker_id w0" in done.stderr
    assert "  becomes: item_id i0, worker_id w0" in done.stderr


def test_the_row_that_is_shown_has_nothing_that_is_left_out(command, tmp_path: Path):
    """Guards whoever shares the screen or the log: addresses and columns that the table leaves out are not printed."""
    private = {"IP Address": "10.1.2.3", "Your name": "Ann Bee", "note": "secret", "reviewers": '["sm", "me"]'}
    rows = [{**vote, **private, "worker_id": f"ann{number}@example.org"} for number, vote in enumerate(VOTES)]
    (tmp_path / "comparisons.csv").write_text(csv_of(rows))
    done = command(tmp_path / "comparisons.csv", "--drop", "note")
    assert done.exit_code == 0, done.output
    assert "  first row: item_id i0, worker_id …, " in done.stderr
    assert "  becomes: item_id i0, worker_id …, " in done.stderr
    shown = "\n".join(line for line in done.stderr.splitlines() if line.startswith(("  first row", "  becomes")))
    assert not [word for word in ("10.1", "Ann", "secret", "sm", "@", *private) if word in shown]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "winner:lft=x,right=model_b",
            "--map winner:lft= changes nothing: no cell contains that word. The column has: left ….",
        ),
        (
            "model:modelx=z",
            "--map model:modelx= changes nothing: no cell contains that word. The column has: left, right, x, y.",
        ),
        (
            "note:often=1,nevr=0",
            "--map note:nevr= changes nothing: no cell contains that word. The column has: never ….",
        ),
        ("note:often=1,never=0", ""),
        ("model:x=z,left=z", ""),
    ],
)
def test_a_value_of_map_that_no_cell_has_is_a_remark(command, tmp_path: Path, given: str, said: str):
    """A slip of the pen would else leave all as it is, and nobody would know. One of several files may have the value."""
    first = {
        "item_id": "i",
        "worker_id": "w",
        "metric": "m",
        "model_a": "x",
        "model_b": "y",
        "winner": "left",
        "note": "often",
    }
    (tmp_path / "a.csv").write_text(csv_of([first]))
    (tmp_path / "b.csv").write_text(csv_of([{**first, "item_id": "j", "winner": "right", "note": "never"}]))
    done = command("--table", "comparisons", tmp_path / "a.csv", tmp_path / "b.csv", "--map", given)
    assert done.exit_code == 0, done.output
    told = [line for line in done.stdout.splitlines() if "changes nothing" in line]
    assert told == ([said] if said else [])


def test_a_word_with_a_comma_can_be_mapped(command, tmp_path: Path):
    rows = [{**vote, "winner": {"x": "first, surely", "y": "other"}.get(vote["winner"], "tie")} for vote in VOTES]
    (tmp_path / "v.csv").write_text(csv_of(rows))
    done = command("--from", "tables", tmp_path / "v.csv", "--map", 'winner:"first, surely=model_a",other=model_b')
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons["winner"].tolist() == ["x", "y", "tie", "x"]


@pytest.mark.parametrize(("name", "winners"), [("score", ["x", "y", "tie", "x"]), ("Rank ", ["y", "x", "tie", "y"])])
def test_two_models_with_a_score_each_have_the_better_one_as_winner(
    command, tmp_path: Path, name: str, winners: list[str]
):
    """Guards against ranks, of which 1 is the best, being read as scores."""
    scores = {"x": (5, 2), "y": (1, 4), "tie": (3, 3)}
    rows = [{**vote, **dict(zip((f"{name}a", f"{name}b"), scores[vote["winner"]], strict=True))} for vote in VOTES]
    (tmp_path / "v.csv").write_text(csv_of([{k: v for k, v in row.items() if k != "winner"} for row in rows]))
    done = command("--from", "tables", "--table", "comparisons", tmp_path / "v.csv")
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).comparisons["winner"].tolist() == winners
    assert "guessed: the winner has the" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rename", "winer=winner"], "winner is there already"),
        (["--rename", "chat=conversation_a"], ""),
        (["--rename", "chat=conversation_z"], "no column of comparisons"),
    ],
)
def test_columns_are_renamed_to_what_is_read(command, tmp_path: Path, arguments: list[str], words: str):
    """Texts of both models have names of their own, which are no columns of ours; a rename without an effect says why."""
    (tmp_path / "v.csv").write_text(csv_of([{**vote, "chat": "Hi"} for vote in VOTES]))
    done = command("--from", "tables", tmp_path / "v.csv", *arguments)
    assert (done.exit_code, words in done.stderr) == (int(bool(words)), True), done.stderr


def test_a_file_whose_name_does_not_say_its_table_is_told_the_likeliest(command, tmp_path: Path):
    (tmp_path / "export.csv").write_text("rater,system,comment\nw,m,hm\n")
    said = " ".join(command("--from", "tables", tmp_path / "export.csv").stderr.split())
    assert "it is most like ratings (it has worker_id, model; it lacks " in said


@pytest.mark.parametrize(
    ("row", "are_dialogues"),
    [
        ({"id": "c1", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}, True),
        ({"question": "Hi?", "answer": "Hello."}, True),
        ({"dialogue_id": "d", "turns": ["Hi?", "Hello."]}, True),
        ({"question": "Hi?", "answer": "Hello.", "rating": 3}, False),
        ({"question": "Hi?", "answer": "Hello.", "Overall": 3}, False),
        ({"question": "Hi?", "answer": "Hello.", "choice": "left"}, False),
    ],
)
def test_a_file_of_dialogues_alone_is_sent_to_those_who_judge(command, tmp_path: Path, row: dict, are_dialogues: bool):
    """With the command that has them judged; not where a column may hold a judgement."""
    path = tmp_path / "some export.jsonl"
    path.write_text(lines([{**row, "model": "m", "seed": n} for n in range(3)]))
    said = " ".join(command("--from", "tables", path).stderr.split())
    assert ("there are no judgements in it, only dialogues" in said) is are_dialogues
    assert (f"launch pw_dialog 'dialogues=[{path}]'" in said) is are_dialogues


@published
@pytest.mark.parametrize(
    ("case", "arguments", "table", "rows"),
    [
        (
            "A1_winner_by_side/votes.jsonl",
            "--table comparisons --rename id=item_id --rename judge=worker_id --set metric=preference --set dialogue_a= "
            "--set dialogue_b= --set seconds=",
            "comparisons",
            40,
        ),
        ("A2_json_array/votes.json", "--table comparisons --rename item=item_id", "comparisons", 12),
        ("A4_nested_columns/comparisons.jsonl", "", "comparisons", 12),
        (
            "F1_wide_ratings/ratings_wide.csv",
            "--table ratings --rename dialogue=dialogue_id --rename rater=worker_id --rename system=model --set degraded=",
            "ratings",
            60,
        ),
        ("F3_wrong_hints/case.csv", "--table comparisons", "comparisons", 9),
        ("F7_blanks_at_the_end/models", "", "ratings", 28),
    ],
)
def test_published_tables(command, case: str, arguments: str, table: str, rows: int):
    done = command("--from", "tables", CASES / case, *arguments.split())
    assert done.exit_code == 0, done.stderr
    got = getattr(read_tables(command.out), table)
    assert len(got) == rows
    if case.startswith("A1"):
        wins = got["winner"].value_counts().to_dict()
        assert (wins, int(got["both_bad"].sum())) == ({"m1": 9, "m2": 11, "tie": 20}, 10)
        first = (got["side"] == 1) == (got["winner"] == got["model_a"])
        assert int(first[got["winner"] != "tie"].sum()) == 10
    if case.startswith("F1"):
        means = got.groupby(["criterion", "model"])["value"].mean().round(2).to_dict()
        assert {key[0]: (means[key[0], "a"], means[key[0], "b"]) for key in means} == {
            "fluency": (3.9, 4.0),
            "coherence": (3.0, 4.0),
            "engaging": (3.0, 3.0),
        }


@pytest.mark.parametrize("criteria", [(1, 2), ("1", 2), ("flu", 2)])
def test_criteria_that_are_numbers_in_json_lose_no_rating(command, tmp_path: Path, criteria):
    rows = [
        {"dialogue_id": f"d{n}", "worker_id": "w", "model": "m", "criterion": one, "value": n % 5 + 1}
        for n in range(4)
        for one in criteria
    ]
    (tmp_path / "ratings.jsonl").write_text(lines(rows))
    done = command(tmp_path / "ratings.jsonl", "--yes")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert len(got) == len(rows)
    assert set(got["criterion"]) == set(map(str, criteria))


@pytest.mark.parametrize(("winners", "named"), [([0, 1, 0, 0.5], "winner:0=")])
def test_a_winner_of_zero_is_an_answer(command, tmp_path: Path, winners, named):
    """Guards a study against the loss of every vote for one model."""
    votes = [{**vote, "winner": one} for vote, one in zip(VOTES, winners, strict=True)]
    (tmp_path / "comparisons.jsonl").write_text(lines(votes))
    known = ["--map", "winner:0.5=tie,1=model_b"]
    refused = command(tmp_path / "comparisons.jsonl", "--yes", *known)
    assert refused.exit_code == 1
    assert named in refused.stderr
    done = command(tmp_path / "comparisons.jsonl", "--yes", "--map", "winner:0.5=tie,1=model_b,0=model_a")
    assert done.exit_code == 0, done.stderr
    assert list(read_tables(command.out).comparisons["winner"]) == ["x", "y", "x", "tie"]


def test_several_ticks_in_a_cell_are_a_tie_where_any_number_may_be_chosen(command, tmp_path: Path):
    """Of a technique in which raters choose one, they are an error as before."""
    rows = [{**VOTES[0], "technique": "sata"}, {**VOTES[1], "technique": "sata", "winner": "y, x"}]
    (tmp_path / "comparisons.csv").write_text(csv_of(rows))
    done = command(tmp_path / "comparisons.csv")
    assert "where a cell names both models, both were chosen, which is a tie: 1." in done.stdout
    got = read_tables(command.out).comparisons
    assert got[["winner", "selected_a", "selected_b"]].values.tolist() == [["x", 1, 0], ["tie", 1, 1]]
    (tmp_path / "comparisons.csv").write_text(csv_of(rows).replace("sata", "pw_turn"))
    assert "'y, x' in row 3, expected" in command(tmp_path / "comparisons.csv", "--force").stderr


def test_points_of_a_quiz_of_google_forms_are_no_ratings(command, tmp_path: Path):
    """Its sum, and points and feedback of each question, are left out with a remark."""
    row = {"Timestamp": "5/1/2024 10:00:00", "Username": "a@x.org", "Score": "1 / 2", "model": "x", "dialogue": "d1"}
    row |= {"Fluent?": 4, "Fluent? [Score]": "1.00 / 1", "Fluent? [Feedback]": ""}
    rows = [row, {**row, "Username": "b@x.org", "Score": "0 / 2", "Fluent?": 2}]
    (tmp_path / "form.csv").write_text(csv_of(rows))
    done = command(
        "--from", "tables", "--table", "ratings", tmp_path / "form.csv", "--rename", "Username=worker_id", "--yes"
    )
    assert done.exit_code == 0, done.stderr
    assert "left out (--rename keeps them): Fluent? [Score], Fluent? [Feedback], Score." in done.stdout
    got = read_tables(command.out).ratings
    assert got[["criterion", "value"]].values.tolist() == [["Fluent?", 4.0], ["Fluent?", 2.0]]


def test_a_winner_beyond_the_other_end_of_its_scale_is_a_remark(command, tmp_path: Path):
    """Guards a slip among −3…3; a whole −5…5 is none."""
    for end in (4, 5):
        winners = ["-3", "0", "3", "4"] if end == 4 else ["-5", "0", "3", "5"]
        rows = [{**vote, "winner": winner} for vote, winner in zip(VOTES, winners, strict=True)]
        (tmp_path / "v.csv").write_text(csv_of(rows))
        done = command("--from", "tables", tmp_path / "v.csv", "--force")
        assert done.exit_code == 0, done.stderr
        said = " ".join(done.stdout.split())
        what = "winners go from -3 to 4. If the scale ends at 3, leave out the answers beyond it with --map winner:4=."
        assert (what in said, "winners go from" in said) == (end == 4, end == 4)
