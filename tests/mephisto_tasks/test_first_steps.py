"""What a newcomer meets first: misspelt names, hints that can be typed, the check of the installation."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mephisto_tasks.commands.doctor import closing_sentence
from mephisto_tasks.commands.options import report_and_export
from mephisto_tasks.study import health
from mephisto_tasks.study.health import Finding
from parlai_humaneval.cli import main
from parlai_humaneval.models.zoo.entries import load_zoo
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables


def told(arguments: list[str]) -> str:
    """What a command that fails says, on one line."""
    done: Result = CliRunner().invoke(main, arguments)
    assert done.exit_code in (1, 2), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--task", "pwturn"], "did you mean pw_turn?"),
        (["demo", "--task", "pwturn", "--raters", "2"], "did you mean pw_turn?"),
        (["launch", "pw-turn"], "did you mean pw_turn?"),
        (["launch", "zzz"], "there is no task 'zzz'; choose one of:"),
        (["repport"], "No such command 'repport'. Did you mean report?"),
        (["zzz"], "No such command"),
        (["steer", "puase"], "No such command 'puase'. Did you mean pause?"),
        (["workers", "lst"], "No such command 'lst'. Did you mean list?"),
        (["models", "lisst"], "No such command 'lisst'. Did you mean list?"),
        (["workers", "zzz"], "No such command"),
        (["report", "--blind-nmes"], "Did you mean --blind-names?"),
    ],
)
def test_a_misspelt_name_is_met_with_the_nearest_right_one(arguments: list[str], said: str) -> None:
    assert said in told(arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--raters", "2", "--models", "eliza"], "name at least 2 models (--models a,b); 1 named"),
        (["launch", "pw_turn", "mephisto.blueprint.models=[eliza]"], "(mephisto.blueprint.models=[a,b]); 1 named"),
        (["demo", "--raters", "2", "--task", "self_chat", "--models", "eliza"], "two models or more (--models a,b)"),
        (["demo", "--raters", "2", "--task", "third_party"], "such as mephisto.blueprint.dialogues=[chats.jsonl]"),
        (["demo", "--raters", "2", "models=eliza,dull"], "models by name: --models a,b"),
    ],
)
def test_a_hint_can_be_typed_in_the_command_that_gave_it(tmp_path: Path, arguments: list[str], said: str) -> None:
    text = told([*arguments, "--data-dir", str(tmp_path)])
    assert said in text
    assert "(models=[a,b])" not in text


def test_a_page_needs_a_folder_that_is_there(tmp_path: Path) -> None:
    page = tmp_path / "nowhere" / "x.html"
    assert f"{page.parent}: there is no such folder" in told(["report", "--task-name", "x", "--out", str(page)])
    assert not page.parent.exists()


def test_an_error_of_a_table_says_how_many_rows_more_have_it(tmp_path: Path) -> None:
    row = {"item_id": "i", "metric": "m", "model_a": "a", "model_b": "b", "winner": "a"}
    row |= {"dialogue_a": "d", "dialogue_b": "e"}
    rows = [{**row, "worker_id": f"w{number}", "seconds": "soon"} for number in range(3)]
    (tmp_path / "comparisons.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(TableError, match=r"in row 1, expected a number\. 2 more rows have this fault"):
        read_tables(tmp_path)


def test_next_commands_can_be_typed_where_the_program_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path where that is how it was started; the directory only where it is not the default."""
    program = tmp_path / "bin" / "parlai-humaneval"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    default = tmp_path / "data"
    monkeypatch.setenv("PARLAI_HUMANEVAL_DATA_DIR", str(default))
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", os.defpath)
    assert report_and_export("t", default) == (
        f"{program} report --task-name t",
        f"{program} export --task-name t --out tables",
    )
    monkeypatch.setenv("PATH", str(program.parent))
    other = tmp_path / "other"
    assert report_and_export("t", other)[0] == f"parlai-humaneval report --task-name t --data-dir {other}"


def test_the_check_counts_every_model_in_two_lines() -> None:
    """Models that nobody asked for are no warnings."""
    ready, others = health.models()
    assert ready.found.startswith("ready: eliza, retrieval")
    counts = [int(part.split()[0]) for part in others.found.partition(" (")[0].split("; ")]
    assert sum(counts) + ready.found.count(",") + 1 == len(load_zoo())
    assert (ready.status, others.status) == ("ok", "ok")
    assert "models check --all" in others.found


def test_the_check_ends_with_what_is_to_be_mended() -> None:
    right, look = Finding("Python", "ok", "3.11"), Finding("Node.js", "warning", "not found")
    assert closing_sentence([right]) == "All is right."
    assert closing_sentence([right, look]).startswith("All is right; ")
    assert closing_sentence([right, look, Finding("Port", "error", "taken")]).endswith(": Port.")


def test_the_check_fails_where_something_is_broken(tmp_path: Path) -> None:
    """Nothing of ParlAI's log comes before it."""
    (tmp_path / "database.db").write_text("no database")
    done = CliRunner(mix_stderr=False).invoke(main, ["doctor", "--port", "65000", "--data-dir", str(tmp_path)])
    assert done.exit_code == 1
    assert "To be mended, as the lines marked “wrong” say: " in done.stdout
    assert "Data directory" in done.stdout.splitlines()[-1]
    assert "ERROR" not in done.stdout + done.stderr
