"""What a newcomer meets first: misspelt names, hints that can be typed, the check of the installation."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result
from live import TASK, config_of

from mephisto_tasks.cli.doctor import closing_sentence, data_directory, lines, port_free
from mephisto_tasks.cli.options import as_typed_here
from mephisto_tasks.launch.launch import run_launch
from mephisto_tasks.storage.provider_names import Finding
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
        (["demo", "--task", "pwtrun"], "Did you mean pw_turn?"),
        (["demo", "--task", "pwtrun", "--raters", "2"], "Did you mean pw_turn?"),
        (["launch", "pw-trun"], "Did you mean pw_turn?"),
        (["launch", "zzz"], "there is no technique 'zzz'"),
        (["repport"], "no such command: repport. Did you mean report?"),
        (["zzz"], "no such command"),
        (["steer", "puase"], "no such command: puase. Did you mean pause?"),
        (["workers", "lst"], "no such command: lst. Did you mean list?"),
        (["models", "lisst"], "no such command: lisst. Did you mean list?"),
        (["workers", "zzz"], "no such command"),
        (
            ["steer", "more", "-3", "--task-name", "x"],
            "NUMBER must be from 1 to 100000, not -3",
        ),
        (["report", "--blind-nmes"], "Did you mean --blind-names?"),
    ],
)
def test_a_misspelt_name_is_met_with_the_nearest_right_one(arguments: list[str], said: str) -> None:
    assert said in told(arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["demo", "--raters", "2", "--models", "eliza"],
            "but you named 1 in: main demo try: name them: --models a,b",
        ),
        (
            ["launch", "pw_turn", "models=[eliza]"],
            "but you named 1 in: main launch try: name them: 'models=[a,b]'",
        ),
        (["demo", "--raters", "2", "--task", "self_chat", "--models", "eliza"], "try: name them: --models a,b"),
        (["demo", "--task", "third_party", "conf=ma2023_gold"], "such as 'dialogues=[chats.jsonl]'"),
        (["demo", "--raters", "2", "models=eliza,dull"], "write 'models=[eliza,dull]'"),
    ],
)
def test_a_hint_can_be_typed_in_the_command_that_gave_it(tmp_path: Path, arguments: list[str], said: str) -> None:
    text = told([*arguments, "port=0", "--data-dir", str(tmp_path)])
    assert said in text
    assert ": models=[a,b]" not in text


def test_a_page_needs_a_folder_that_is_there(tmp_path: Path) -> None:
    page = tmp_path / "nowhere" / "x.html"
    assert f"{page.parent}: there is no such folder" in told(["report", "--tables", str(tmp_path), "--out", str(page)])
    assert not page.parent.exists()


def test_an_error_of_a_table_names_every_row_that_has_it(tmp_path: Path) -> None:
    row = {"item_id": "i", "metric": "m", "model_a": "a", "model_b": "b", "winner": "a"}
    row |= {"dialogue_a": "d", "dialogue_b": "e"}
    rows = [{**row, "worker_id": f"w{number}", "seconds": "soon"} for number in range(3)]
    (tmp_path / "comparisons.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(TableError, match="'soon' in row 1, and the same in rows 2, 3, expected a number") as raised:
        read_tables(tmp_path)
    assert str(raised.value).count("\n") == 0


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
    assert as_typed_here("report", "t", default) == f"{program} report --task-name t"
    monkeypatch.setenv("PATH", str(program.parent))
    other = tmp_path / "other"
    assert as_typed_here("report", "t", other) == f"parlai-humaneval report --task-name t --data-dir {other}"


def test_the_check_is_ten_lines_and_a_verdict(tmp_path: Path) -> None:
    """Nothing of a library's comes between, and models that nobody asked for are no lines."""
    done = CliRunner().invoke(main, ["doctor", "--port", "65000", "--data-dir", str(tmp_path)])
    assert done.exit_code == 0, done.output
    *lines, blank, verdict = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("ok ")]) == 7
    assert len(lines) <= 11  # a long name of the directory is folded
    assert (blank, verdict) == ("", "Everything works. To see it in action: parlai-humaneval demo")
    assert "ready: eliza, retrieval" in done.stdout
    assert done.stderr.splitlines() == ["Checking this installation…"]


def test_the_check_and_models_check_tell_one_state_of_every_model(tmp_path: Path) -> None:
    """Guards servers that were ready to one and to serve to the other; and what programs read."""
    where = ["--port", "65000", "--data-dir", str(tmp_path)]
    some = ["eliza", "local_ollama", "ma2023_glm_dialog", "human", "tiny_generator"]
    checked = json.loads(CliRunner().invoke(main, ["models", "check", *some, "--json"]).stdout)
    told = json.loads(CliRunner().invoke(main, ["doctor", "--models", "--json", *where]).stdout)
    assert told.keys() == {"ok", "verdict", "findings", "statuses", "models"}
    by_name = {model["name"]: model for model in told["models"]}
    assert [by_name[name] for name in some] == checked
    assert [model["state"] for model in checked[:4]] == ["ready", "to serve", "to serve", "in a launch"]
    (counted,) = [finding["found"] for finding in told["findings"] if finding["what"] == "All models"]
    assert sum(int(part.split()[0]) for part in counted.split("; ")) == len(load_zoo())


def test_a_model_that_lacks_something_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To `doctor --load` and `models check --load` alike; what its libraries print goes nowhere."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    where = ["--port", "65000", "--data-dir", str(tmp_path)]
    done = CliRunner().invoke(main, ["doctor", "--load", "tiny_generator,eliza", *where])
    assert done.exit_code == 1
    text = " ".join(done.stdout.split())
    assert "wrong Model tiny_generator The model has not been trained on this machine yet" in text
    assert "→ Needed: `parlai-humaneval models train-tiny` once" in text
    assert "ok Model eliza answers “" in text
    assert done.stdout.splitlines()[-1].endswith(": Model tiny_generator.")


def test_what_is_right_stands_together_and_what_is_not_by_itself() -> None:
    right, look = Finding("Python", "ok", "3.11"), Finding("Privacy", "warning", "open", "chmod")
    wrong = Finding("Port", "error", "taken", "--port")
    assert lines([right, Finding("Packages", "ok", "parlai 1"), Finding("Privacy", "ok", "shut")]) == [
        ("Python", "ok", "3.11; parlai 1")
    ]
    assert lines([right, look, wrong])[1:] == [
        ("Privacy", "warning", "open\n→ chmod"),
        ("Port", "error", "taken\n→ --port"),
    ]
    assert closing_sentence([right]).startswith("Everything works. ")
    assert closing_sentence([right, look]).startswith("Everything works. You can ignore a line")
    assert closing_sentence([right, look, wrong]).endswith(": Port.")


def test_the_check_fails_where_something_is_broken(tmp_path: Path) -> None:
    """Nothing of ParlAI's log comes before it."""
    (tmp_path / "database.db").write_text("no database")
    done = CliRunner().invoke(main, ["doctor", "--port", "65000", "--data-dir", str(tmp_path)])
    assert done.exit_code == 1
    assert "The lines marked “wrong” explain how to fix these problems: " in done.stdout
    assert "Data directory" in done.stdout.splitlines()[-1]
    assert "ERROR" not in done.stdout + done.stderr


def test_a_port_of_a_launch_from_here_is_no_fault(data_dir: Path) -> None:
    """Whoever looks while their study runs is told whose port it is; from another folder it stays a fault."""
    data_dir.mkdir()
    with run_launch("pw_turn", config_of(data_dir), data_dir) as run:
        port = urlsplit(run.url).port
        assert port is not None
        mine = port_free(data_dir, "127.0.0.1", port)
        assert (mine.status, TASK in mine.found) == ("ok", True)
        assert port_free(data_dir / "elsewhere", "127.0.0.1", port).status == "error"


def test_a_folder_that_takes_no_files_is_no_data_directory() -> None:
    """Its mode may say that it does: root may write everywhere."""
    assert data_directory(Path("/proc/x")).status == "error"


def test_a_file_is_checked_and_talked_to_as_it_is_tried(tmp_path: Path) -> None:
    """And whoever wants to launch it reads the entry that does, which is a zoo file as it is printed."""
    bot = tmp_path / "my_bot.py"
    bot.write_text("def reply(history):\n    return 'Good day!'\n")
    checked = CliRunner().invoke(main, ["models", "check", str(bot), "--load"])
    assert checked.exit_code == 0, checked.output
    said, _, entry = checked.stdout.partition("zoo_files=[FILE]:\n")
    assert "Good day!" in said
    zoo = tmp_path / "zoo.yaml"
    zoo.write_text(entry)
    for words in ([str(bot)], ["my_bot", "--zoo", str(zoo)]):
        assert "my_bot: Good day!" in CliRunner().invoke(main, ["models", "chat", *words], input="Hi!\n").stdout
