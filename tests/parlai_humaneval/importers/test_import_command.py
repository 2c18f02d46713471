"""``import`` from the command line: what is right is written, what is wrong is named, and nothing in between."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from parlai_samples import SAMPLES, sample

from parlai_humaneval.cli import main
from parlai_humaneval.importers.tidy import in_order
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.comparisons import build
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import from_rows
from parlai_humaneval.tables.files import read_frame, read_tables
from parlai_humaneval.tables.schema import TABLES

PSEUDONYM = re.compile(r"w[0-9a-f]{12}")
HEADER = "item,rater,a,b,dialogue_a,dialogue_b,choice,seconds"
VOTES = [
    "i1,A1VOTERNUMBER1,zoe,adam,d1,d2,zoe,3",
    "i2,A1VOTERNUMBER1,adam,zoe,d2,d3,tie,4",
    "i1,A2VOTERNUMBER2,zoe,adam,d1,d2,adam,",
]
RENAMES = [
    *("--rename", "item=item_id", "--rename", "rater=worker_id", "--rename", "choice=winner"),
    *("--rename", "a=model_a", "--rename", "b=model_b", "--set", "metric=preference"),
]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path, VOTES)


def write(folder: Path, rows: list[str], header: str = HEADER) -> Path:
    path = folder / "votes.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def text_of(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_table_of_other_names_is_renamed_and_completed(command, votes: Path, form: str):
    """Columns renamed, one added; model_a is the first of the alphabet; workers are pseudonyms; all reads back."""
    done = command("--from", "tables", votes, "--table", "comparisons", *RENAMES, "--format", form)
    assert done.exit_code == 0, done.stderr
    rows = read_tables(command.out).comparisons
    assert rows["model_a"].tolist() == ["adam"] * 3
    assert rows["winner"].tolist() == ["zoe", "tie", "adam"]
    assert rows["dialogue_a"].tolist() == ["d2", "d2", "d2"]
    assert rows["dialogue_b"].tolist() == ["d1", "d3", "d1"]
    assert set(rows["metric"]) == {"preference"}
    assert rows["worker_id"].nunique() == 2
    assert all(PSEUDONYM.fullmatch(worker) for worker in rows["worker_id"])
    assert "VOTERNUMBER" not in text_of(command.out)
    assert (command.out / "README.md").is_file()


def test_one_column_becomes_two(command, tmp_path: Path):
    """Both sides of a turn have the same dialogue, which such files hold once."""
    path = write(tmp_path, ["d1:1,V1,zoe,adam,d1,zoe,3"], "item,rater,a,b,dialogue,choice,seconds")
    twice = ("--rename", "dialogue=dialogue_a", "--rename", "dialogue=dialogue_b")
    done = command("--from", "tables", path, "--table", "comparisons", *RENAMES, *twice)
    assert done.exit_code == 0, done.stderr
    row = read_tables(command.out).comparisons.iloc[0]
    assert (row["dialogue_a"], row["dialogue_b"], "dialogue" in row) == ("d1", "d1", False)
    both = (*twice, "--rename", "item=dialogue_a")
    refused = command("--from", "tables", path, "--table", "comparisons", *RENAMES, *both, "--force")
    assert "column dialogue_a appears twice" in refused.stderr


def test_dialogues_without_ids(command, tmp_path: Path):
    """Written empty; read, an item's dialogues are its own, the same for all its raters and whichever side a model is."""
    rows = ["i1,V1,zoe,adam,zoe", "i1,V2,adam,zoe,adam", "i2,V1,adam,zoe,tie"]
    path = write(tmp_path, rows, "item,rater,a,b,choice")
    empty = ("--set", "dialogue_a=", "--set", "dialogue_b=", "--set", "seconds=")
    done = command("--from", "tables", path, "--table", "comparisons", *RENAMES, *empty)
    assert done.exit_code == 0, done.stderr
    assert read_frame(command.out / "comparisons.csv")["dialogue_a"].isna().all()
    got = read_tables(command.out).comparisons
    assert got["dialogue_a"].tolist() == ["i1:adam", "i1:adam", "i2:adam"]
    assert got["dialogue_b"].tolist() == ["i1:zoe", "i1:zoe", "i2:zoe"]
    section = build(Tables(from_rows("turns", []), from_rows("dialogues", []), got), Options())
    assert section is not None
    assert (section.pairs[0].kind, section.pairs[0].n, section.pairs[0].n_dialogues) == ("dialogue", 3, 4)
    turned = write(tmp_path, ["i1,V1,zoe,adam,zoe,1"], "item,rater,a,b,choice,turn")
    refused = command("--from", "tables", turned, "--table", "comparisons", *RENAMES, *empty, "--force")
    assert "dialogue_a: None in row 2, expected the dialogue that the given turn belongs to" in refused.stderr


def test_the_columns_are_told():
    """Of one table or of all, with what may be empty, and without naming any file."""
    shown = CliRunner().invoke(main, ["import", "--list-columns", "comparisons"])
    assert shown.exit_code == 0
    for column in TABLES["comparisons"]:
        assert re.search(rf"\b{column.name}\b", shown.output)
    assert (
        "  seconds (number, may be empty or missing): seconds between showing the comparison and the answer"
        in shown.output
    )
    assert "  winner (text): " in shown.output
    everything = CliRunner().invoke(main, ["import", "--list-columns", "all"]).output
    assert all(f"\n{name}: " in f"\n{everything}" for name in TABLES)


def test_odd_turns_are_told(command, tmp_path: Path):
    """A misspelt model is no error, as another model may have been there; it is said."""
    header = "dialogue_id,worker_id,technique,setting,metric,turn,model,position,selected,continued,written,seconds"
    names = [("zoe", "adam"), ("zoe", "adam"), ("zeo", "adam")]
    rows = [
        f"d1,V1,pw_turn,,fun,{turn},{name},{place},{2 - place},0,0,3"
        for turn, pair in enumerate(names, start=1)
        for place, name in enumerate(pair, start=1)
    ]
    done = command("--from", "tables", write(tmp_path, rows, header), "--table", "turns")
    assert done.exit_code == 0, done.stderr
    assert "dialogue d1 has adam, zeo in turn 3, elsewhere adam, zoe" in done.stdout


def test_a_summary_for_programs(command, votes: Path):
    """Everything that the screen says, and more."""
    done = command("--from", "tables", votes, "--table", "comparisons", *RENAMES, "--json")
    found = json.loads(done.stdout)
    assert (found["format"], found["rows"], found["workers"]) == ("tables", {"comparisons": 3}, 2)
    assert (found["skipped"], found["left_out"]) == ([], {})
    assert {Path(path).name for path in found["files"]} == {path.name for path in command.out.iterdir()}


def test_an_import_can_be_imported(command, votes: Path, tmp_path: Path):
    """A folder of ours goes through unchanged, pseudonyms among it: they are not renamed twice."""
    command("--from", "tables", votes, "--table", "comparisons", *RENAMES)
    first, command.out = command.out, tmp_path / "again"
    assert command("--from", "tables", first).exit_code == 0
    pd.testing.assert_frame_equal(read_tables(first).comparisons, read_tables(command.out).comparisons)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["i1,V1,zoe,adam,d1,d2,nobody,3"], r"comparisons.winner: 'nobody' in row 2, expected 'adam'"),
        (["i1,V1,zoe,zoe,d1,d2,zoe,3"], "expected a model other than model_a"),
        (["i1,V1,zoe,adam,d1,d2,zoe,-3"], "comparisons.seconds: -3.0 in row 2"),
        (["i1,,zoe,adam,d1,d2,zoe,3"], "comparisons.worker_id: empty in row 2"),
        (["i1,V1,zoe,adam,d1,d2,zoe,3"] * 2, "rows 2 and 3 are the same answer"),
        (
            ["i1,V1,zoe,adam,d1,d2,zoe,3", "i1,V1,zoe,adam,d1,d2,adam,3"],
            "rows 2 and 3 contradict .*winner 'zoe' and 'adam'",
        ),
        (["i1,V1,zoe"], "row 2 has 3 cells, the header 8"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_written(command, tmp_path: Path, rows: list[str], words: str):
    """One sentence with file, row and column; the folder is not even made."""
    path = write(tmp_path, rows)
    done = command("--from", "tables", path, "--table", "comparisons", *RENAMES)
    assert done.exit_code == 1
    assert re.search(words, done.stderr)
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr
    assert not command.out.exists()


def test_bad_rows_are_skipped_when_asked_and_listed_by_their_own_numbers(command, tmp_path: Path):
    """Rows 3, 4 and 6 of the file are bad for three reasons; the numbers are those of the file."""
    bad = ["i4,V1,zoe,adam,d1,d2,nobody,3", "i5,V1,zoe,adam,d1,d2,zoe,soon"]
    path = write(tmp_path, [VOTES[0], *bad, VOTES[1], VOTES[0]])
    done = command("--from", "tables", path, "--table", "comparisons", *RENAMES, "--skip-bad", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == {"comparisons": 2}
    assert len(found["skipped"]) == 3
    text = "\n".join(found["skipped"])
    assert re.search(r"votes.csv, row 4: comparisons.seconds: 'soon', expected a number", text)
    assert re.search(r"votes.csv, row 6: .*are the same answer", text)
    assert re.search(r"votes.csv, row 3: comparisons.winner: 'nobody', expected", text)
    shown = command("--from", "tables", path, "--table", "comparisons", *RENAMES, "--skip-bad", "--force")
    assert "Skipped because of errors: 3" in shown.stdout


def test_nothing_good_is_no_import(command, tmp_path: Path):
    """Skipping everything is an error, not an empty folder."""
    path = write(tmp_path, ["i1,V1,zoe,adam,d1,d2,nobody,3"])
    done = command("--from", "tables", path, "--table", "comparisons", *RENAMES, "--skip-bad")
    assert done.exit_code == 1
    assert "nothing to import" in done.stderr
    assert "nobody" in done.stderr
    assert not command.out.exists()


def test_tables_that_stand_there_are_kept_unless_forced(command, votes: Path):
    """Other files of the folder stay in any case; with --force the other format goes, so that one is left."""
    arguments = ("--from", "tables", votes, "--table", "comparisons", *RENAMES)
    assert command(*arguments, "--format", "jsonl").exit_code == 0
    (command.out / "notes.txt").write_text("mine")
    before = text_of(command.out)
    refused = command(*arguments)
    assert refused.exit_code == 1
    assert "comparisons.jsonl" in refused.stderr
    assert text_of(command.out) == before
    assert command(*arguments, "--force").exit_code == 0
    assert (command.out / "notes.txt").read_text() == "mine"
    assert not list(command.out.glob("*.jsonl"))
    assert len(read_tables(command.out).comparisons) == 3


def test_a_readme_of_somebody_is_not_overwritten(command, votes: Path):
    """--out . in a project would take its README."""
    command.out.mkdir()
    (command.out / "README.md").write_text("# My project\n")
    done = command("--from", "tables", votes, "--table", "comparisons", *RENAMES)
    assert done.exit_code == 1
    assert (command.out / "README.md").read_text() == "# My project\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--table", "comparisons", "--drop", "b"], "missing column model_b.*--rename OLD=NEW.*--set NAME=VALUE"),
        (
            ["--table", "comparisons", "--drop", "rater"],
            r"worker_id: pseudonym.* --set worker_id= where it is not known: .*too narrow",
        ),
        (
            ["--table", "comparisons", "--rename", "a=model_a", "--rename", "a=model_a"],
            "--rename names a=model_a twice",
        ),
        (["--drop", "b"], "does not show which table it is.*--table.*--wide"),
        (["--table", "comparisons", *RENAMES, "--rename", "mood=reason"], "No file has a column mood"),
        (
            ["--table", "comparisons", "--rename", "itm=item_id"],
            "No file has a column itm to rename. Did you mean item",
        ),
        (["--table", "comparisons", *RENAMES, "--set", "techniqe=x"], "techniqe: .*Did you mean technique"),
        (["--table", "comparisons", *RENAMES, "--set", "dialogue_a=x"], "column dialogue_a with other values: d1, d2"),
        (["--table", "comparisons", *RENAMES, "--map", "winner"], "--map winner: expected COLUMN:FROM=TO"),
        (
            ["--table", "comparisons", *RENAMES, "--map", "chioce:1=tie"],
            "No file has a column chioce to map. Did you mean choice",
        ),
        (["--table", "comparisons", *RENAMES, "--drop", "mood"], "No file has a column mood to drop"),
        (["--table", "comparisons", "--rename", "rater=werker"], "werker: no column of comparisons"),
        (["--table", "comparisons", "--rename", "rater"], "--rename rater: expected OLD=NEW"),
        (["--table", "comparisons", "--set", "metric=a", "--set", "metric=b"], "--set names metric twice"),
        (["--task-name", "x"], "--task-name is for --from mephisto"),
        (["--criteria", "x"], "--criteria is for --from model_chat or mephisto"),
    ],
)
def test_wrong_requests_say_what_to_do(command, votes: Path, arguments: list[str], words: str):
    """Before anything is read or written."""
    done = command("--from", "tables", votes, *arguments)
    assert done.exit_code == 1
    assert re.search(words, " ".join(done.stderr.split()))
    assert not command.out.exists()


@pytest.mark.parametrize("source", ["tables", "model_chat", "mephisto"])
def test_a_path_that_is_not_there(command, tmp_path: Path, source: str):
    """Named, with what was looked for."""
    done = command("--from", source, tmp_path / "nowhere")
    assert done.exit_code == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_several_files_of_one_table_are_put_together(command, tmp_path: Path):
    """The same answer in two of them is found."""
    first, second = tmp_path / "one", tmp_path / "two"
    for folder, rows in ((first, VOTES[:2]), (second, VOTES[2:])):
        folder.mkdir()
        write(folder, rows)
    arguments = ("--table", "comparisons", *RENAMES)
    assert command("--from", "tables", first / "votes.csv", second / "votes.csv", *arguments).exit_code == 0
    assert len(read_tables(command.out).comparisons) == 3
    again = command("--from", "tables", first / "votes.csv", first / "votes.csv", *arguments, "--force")
    assert again.exit_code == 1
    assert "same answer" in again.stderr


def test_flags_may_be_words(command, tmp_path: Path):
    """pandas writes True and False."""
    header = "dialogue_id,worker_id,model,criterion,value,degraded"
    path = write(tmp_path, ["d1,V1,a,fun,3,True", "d2,V1,b,fun,4,false"], header)
    assert command("--from", "tables", path, "--table", "ratings").exit_code == 0
    assert read_tables(command.out).ratings["degraded"].tolist() == [1, 0]


def test_no_column_keeps_workers_names(command, tmp_path: Path):
    """A second column of raw ids, which passes through, and an id inside a comment are found as well."""
    header = "dialogue_id,worker_id,model,criterion,value,degraded,mturk_id,comment,passed"
    rows = [
        "d1,A1VOTERNUMBER1,a,fun,3,0,A1VOTERNUMBER1,I am A1VOTERNUMBER1: hello,1",
        "d2,12,a,fun,3,0,,12 is a number,1",
    ]
    done = command("--from", "tables", write(tmp_path, rows, header), "--table", "ratings", "--json")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).ratings
    assert "VOTERNUMBER" not in text_of(command.out)
    worker = got["worker_id"].iloc[0]
    assert got["mturk_id"].iloc[0] == worker
    assert got["comment"].tolist() == [f"I am {worker}: hello", "12 is a number"]
    assert got["passed"].tolist() == ["1", "1"]
    assert "replaced with pseudonyms in 1 text" in " ".join(json.loads(done.stdout)["notes"])


def test_swapping_two_models_swaps_all_that_is_theirs():
    """Side, place, ranks, selections and columns of the file's own go with the model; of more than two the other's place is
    not known."""
    row: dict[str, Any] = {"item_id": "i", "worker_id": "w", "metric": "m", "model_a": "z", "model_b": "b"}
    row |= {"dialogue_a": "dz", "dialogue_b": "db", "winner": "z", "seconds": 1, "selected_a": 1, "selected_b": 0}
    row |= {"rank_a": 1, "rank_b": 2, "side": 1, "position_a": 1, "n_models": 2}
    rows = from_rows("comparisons", [row, {**row, "n_models": 4}, {**row, "model_a": "a", "winner": "a"}])
    frame = in_order(rows.assign(reply_a="I am z", reply_b="I am b"))
    names = ["model_a", "model_b", "dialogue_a", "selected_a", "selected_b", "rank_a", "winner", "side", "position_a"]
    assert frame[names].iloc[0].tolist() == ["b", "z", "db", 0, 1, 2, "z", 2, 2]
    assert frame[["reply_a", "reply_b"]].iloc[0].tolist() == ["I am b", "I am z"]
    assert frame["position_a"].isna().tolist() == [False, True, False]
    assert frame[names].iloc[2].tolist() == ["a", "b", "dz", 1, 0, 1, "a", 1, 1]


@pytest.mark.parametrize(
    ("source", "files", "rows"),
    [
        ("model_chat", ["model_chat_state.json"], {"turns": 3, "dialogues": 1, "ratings": 2}),
        ("pairwise_per_turn_eval", ["per_turn_state.json"], {"turns": 6, "dialogues": 1, "comparisons": 3}),
        ("acute_eval", ["acute_unit.json"], {"comparisons": 2, "judgements": 3}),
    ],
)
def test_what_parlai_saved_becomes_tables(command, source: str, files: list[str], rows: dict[str, int]):
    """Written, read back, and without the workers' names."""
    done = command("--from", source, *(SAMPLES / name for name in files), "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == rows
    tables = read_tables(command.out)
    assert {name: len(getattr(tables, name)) for name in rows} == rows
    assert "PARLAIWORKER" not in text_of(command.out)


def test_a_folder_with_a_bad_file(command, tmp_path: Path):
    """Refused with its name; with --skip-bad the others come, and it is listed."""
    folder = tmp_path / "chats" / "2024_05_01"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / "model_chat.json", folder / "1.json")
    (folder / "2.json").write_text("{broken", encoding="utf-8")
    other = sample("model_chat.json")
    other["workers"] = []
    (folder / "3.json").write_text(json.dumps(other), encoding="utf-8")
    refused = command("--from", "model_chat", tmp_path / "chats")
    assert refused.exit_code == 1
    assert "2.json is not JSON" in refused.stderr
    assert not command.out.exists()
    done = command("--from", "model_chat", tmp_path / "chats", "--skip-bad", "--json")
    found = json.loads(done.stdout)
    assert (found["units"], len(found["skipped"])) == (1, 2)
    assert "3.json: workers is missing" in found["skipped"][1]


def test_a_worker_has_one_pseudonym_in_all_imports(command, tmp_path: Path):
    """The key decides, and the prefix that ParlAI writes before a name does not."""
    state = sample("per_turn_state.json")
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state).replace("A2PARLAIWORKER", "A1PARLAIWORKER"), encoding="utf-8")
    workers = set()
    for source, file in (("model_chat", SAMPLES / "model_chat.json"), ("pairwise_per_turn_eval", path)):
        assert command("--from", source, file, "--force").exit_code == 0
        workers |= set(read_tables(command.out).turns["worker_id"])
    assert len(workers) == 1


def test_the_command_is_there_and_teaches():
    """Listed, with examples."""
    assert "import" in CliRunner().invoke(main, ["--help"]).output
    shown = CliRunner().invoke(main, ["import", "--help"]).output
    assert "Examples:" in shown
    assert "--rename rater=worker_id" in shown


REPEATED = [VOTES[0], "i1,A1VOTERNUMBER1,adam,zoe,d2,d1,adam,9", *VOTES[1:]]
"""The first worker judged the first pair a second time, with the sides swapped, and changed their mind."""


def test_answers_given_again_are_refused_and_the_option_is_named(command, tmp_path: Path):
    """Nothing is written; who reads the error knows what to type."""
    done = command("--from", "tables", write(tmp_path, REPEATED), "--table", "comparisons", *RENAMES)
    assert done.exit_code == 1
    assert "--repeats" in done.stderr
    assert not command.out.exists()


@pytest.mark.parametrize(("repeats", "winners"), [("keep", ["zoe", "adam"]), ("first", ["zoe"]), ("last", ["adam"])])
def test_answers_given_again_count_as_asked(command, tmp_path: Path, repeats: str, winners: list[str]):
    """All, numbered; the first; or the last. The count is told, also over two files."""
    arguments = ("--table", "comparisons", *RENAMES, "--repeats", repeats)
    done = command("--from", "tables", write(tmp_path, REPEATED), *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    (told,) = json.loads(done.stdout)["repeats"]
    assert (told["answers"], told["more_rows"], told["left_out"]) == (1, 1, 0 if repeats == "keep" else 1)
    read = read_tables(command.out)
    worker = read.comparisons["worker_id"].iloc[0]
    own = read.comparisons[(read.comparisons["worker_id"] == worker) & (read.comparisons["dialogue_a"] == "d2")]
    assert own[own["dialogue_b"] == "d1"]["winner"].tolist() == winners
    assert len(read.repeats) == (repeats == "keep")
    parts = []
    for number, rows in enumerate((REPEATED[:1], REPEATED[1:])):
        (tmp_path / str(number)).mkdir()
        parts.append(write(tmp_path / str(number), rows))
    shown = command("--from", "tables", *parts, *arguments, "--force")
    assert shown.exit_code == 0, shown.stderr
    assert "1 answer was given again by the same rater" in shown.stdout
    pd.testing.assert_frame_equal(read_tables(command.out).comparisons, read.comparisons)


def test_an_error_across_files_names_each_file_and_its_row(command, tmp_path: Path):
    """Rows are those of the files, as an editor shows them (the header is row 1), blank ones counted."""
    for number, rows in enumerate((VOTES, ["", VOTES[2].replace("d2,adam", "d2,zoe")])):
        (tmp_path / str(number)).mkdir()
        write(tmp_path / str(number), rows)
    paths = [tmp_path / str(number) / "votes.csv" for number in (0, 1)]
    done = command("--from", "tables", *paths, "--table", "comparisons", *RENAMES)
    assert f"rows 4 of {paths[0]} and 3 of {paths[1]}" in " ".join(done.stderr.split())
    done = command("--from", "tables", *paths, "--table", "comparisons", *RENAMES, "--skip-bad")
    assert done.exit_code == 0, done.stderr
    assert "Skipped because of errors: 1" in done.stdout
    assert f"row 3 of {paths[1]}: " in done.stdout
    assert len(read_tables(command.out).comparisons) == len(VOTES)


def test_a_saved_unit_given_twice_counts_as_asked(command, tmp_path: Path):
    """ParlAI's own files: the same unit in two files is refused, or counts once."""
    for number in (1, 2):
        shutil.copy(SAMPLES / "model_chat.json", tmp_path / f"{number}.json")
    refused = command("--from", "model_chat", tmp_path)
    assert "--repeats" in refused.stderr
    done = command("--from", "model_chat", tmp_path, "--repeats", "first", "--json")
    assert done.exit_code == 0, done.stderr
    alone = command("--from", "model_chat", tmp_path / "1.json", "--force", "--json")
    assert json.loads(done.stdout)["rows"] == json.loads(alone.stdout)["rows"]
    assert json.loads(done.stdout)["repeats"]


def test_what_is_read_and_what_a_saved_chat_has_besides_is_said(command, tmp_path: Path):
    """A field that ParlAI does not write is counted with its name, and the line of the progress names the files."""
    data = sample("model_chat.json")
    (tmp_path / "chat.json").write_text(json.dumps({**data, "shoe_size": 44}))
    done = command("--from", "model_chat", tmp_path / "chat.json")
    assert "fields that model_chat is not known to have (shoe_size): 1." in done.stdout
    assert done.stderr.splitlines()[0] == f"Reading {tmp_path / 'chat.json'}"
    assert "not known to have" not in command("--from", "model_chat", SAMPLES / "model_chat.json", "--force").stdout
