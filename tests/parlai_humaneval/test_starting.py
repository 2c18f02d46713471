"""Commands answer at once: each imports what it needs, when it needs it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click
import pytest

from parlai_humaneval.cli import main
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.files import write_tables

LIBRARIES = (
    "torch",
    "parlai",
    "mephisto",
    "pandas",
    "scipy",
    "numpy",
    "statsmodels",
    "sklearn",
    "matplotlib",
    "aiohttp",
)


STARTED = """
import json, os, sys
from parlai_humaneval.cli import main
for arguments, libraries in json.load(sys.stdin):
    child = os.fork()
    if not child:
        try:
            main(arguments)
        except SystemExit as end:
            assert bool(end.code) == (sys.argv[1] == "fails"), end.code
        print("\\n" + json.dumps([name for name in libraries if name in sys.modules]), flush=True)
        os._exit(0)
    assert not os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), arguments
"""
"""What a new process does with each command line, in a fork that has only what every command starts with."""


def imported(commands: Sequence[tuple[list[str], tuple[str, ...]]], how: str = "ends") -> list[list[str]]:
    """Of each command line and the libraries to look for: those that a process has loaded when its command ends."""
    command = [sys.executable, "-c", STARTED, how]
    done = subprocess.run(command, input=json.dumps(commands), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(found) == len(commands)
    return found


def test_help_waits_for_nothing() -> None:
    """Guards whoever looks something up: no library that takes longer to load than the text to read.

    Of commands of studies neither what checks records, which takes three times as long to load as all else of them.
    """
    commands = {
        LIBRARIES: ("", "demo", "launch", "report", "import", "models", "self-chat"),
        (*LIBRARIES, "pydantic", "omegaconf"): (
            *("pay", "workers", "unblock", "returned", "invite", "forget", "judge", "export", "watch"),
        ),
    }
    asked = [([*command.split(), "--help"], libraries) for libraries, names in commands.items() for command in names]
    assert [(one, loaded) for (one, _), loaded in zip(asked, imported(asked), strict=True) if loaded] == []


def _commands(context: click.Context) -> Iterator[click.Context]:
    """A command, and all that stand below it."""
    yield context
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from _commands(click.Context(command, info_name=name, parent=context))


def test_every_help_has_an_example() -> None:
    """Guards who tries a command for the first time, of a group's commands, too."""
    contexts = list(_commands(click.Context(main, info_name="parlai-humaneval")))
    assert len(contexts) > 40
    without = [context.command_path for context in contexts if "Example" not in context.get_help()]
    assert without == []


@pytest.mark.parametrize(
    "words",
    [
        ["launch", "pw_turn", "models=a,b"],
        ["launch", "pw_turn", "models=[elizza,retrieval]"],
        ["launch", "pw_turn", "models=[eliza,retrieval]", "zoo_files=[nowhere.yaml]"],
        ["launch", "pw_dialog", "dialogues=[nowhere.jsonl]"],
        ["launch", "pw_dialog", "dialogues=[{file: nowhere.jsonl, entities: eliza}]"],
        ["launch", "pw_turn", "mephisto.blueprint.persona_file=nowhere.jsonl"],
        ["launch", "nowhere.yaml"],
        ["pilot", "pw_turn", "persona_file=nowhere.jsonl"],
        ["pilot", "pw_turn", "models=[elizza,retrieval]"],
        ["new", "--model", "nowhere.py", "--yes"],
        ["judge", "--judge", "nowhere.yaml", "--task-name", "x"],
        ["try", "nowhere.py"],
    ],
    ids=" ".join,
)
def test_unknown_files_and_models_are_named_before_anything_is_loaded(words: list[str]) -> None:
    """Guards whoever mistypes a word: the answer is there in half a second, not after ParlAI and Mephisto."""
    assert imported([(words, ("torch", "parlai", "mephisto", "hydra", "numpy"))], "fails") == [[]]


LATER = (
    "mephisto_tasks.control.snapshot",
    "mephisto_tasks.storage.results",
    "parlai_humaneval.display.text",
    "parlai_humaneval.schema.records",
    "parlai_humaneval.schema.steps",
)
"""Modules of ours that take a third of a second together, and that no setting is checked with."""


@pytest.mark.parametrize(
    "words",
    [
        ["launch", "pw_turn", "trns=4"],
        ["launch", "pw_turn", "conf=nowhere"],
        ["launch", "pw_turn", "place=mars"],
        ["launch", "pw_turn", "turns=many"],
        ["launch", "pw_turn", "replies.appearance=pretty"],
        ["launch", "pw_turn", "metric=charm"],
        ["launch", "pw_dialog", "metric=charm"],
        ["launch", "sata", "setting=charm"],
        ["launch", "pw_turn", "language=xx"],
        ["launch", "pw_turn", "port=65536"],
        ["launch", "pw_turn", "port={taken}"],
        ["launch", "pw_turn", "consent_file=setup.py"],
        ["launch", "pw_turn", "zoo_files=[study.yaml]"],
        ["launch", "pw_turn", "onboarding_file=setup.py"],
        ["launch", "study.yaml"],
        ["launch", "study.yaml", "models=[eliza,retrieval]", "zoo_files=[]", "turns=many"],
        ["pilot", "pw_turn", "trns=4"],
        ["demo", "pw_turn", "metric=charm"],
        ["new", "--yes", "trns=4"],
        ["plan", "--pilot", "nowhere"],
    ],
    ids=" ".join,
)
def test_wrong_settings_are_told_before_models_could_be_loaded(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards whoever mistypes a setting: what needs no model is checked before all that takes seconds to load."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARLAI_HUMANEVAL_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "setup.py").write_text("import os\n", encoding="utf-8")
    (tmp_path / "study.yaml").write_text("technique: pw_turn\nmodels: [elizza, retrieval]\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        typed = [word.format(taken=taken.getsockname()[1]) for word in words]
        assert imported([(typed, ("torch", "parlai", "mephisto", "numpy", *LATER))], "fails") == [[]]


@pytest.mark.parametrize("setting", ["persona_file", "openers", "replies.disclosures_file", "prereg"])
def test_files_of_settings_are_read_before_models_could_be_loaded(setting: str) -> None:
    """Guards whoever names a wrong file, which is told before all that takes seconds to load."""
    command = (
        ["launch", "pw_turn", f"{setting}={__file__}"] if setting != "openers" else ["launch", "pw_turn", "openers=/"]
    )
    assert imported([(command, ("torch", "parlai", "mephisto", "aiohttp"))], "fails") == [[]]


def test_the_names_of_confs_wait_for_no_library() -> None:
    assert imported([(["launch", "pw_turn", "--list-confs"], LIBRARIES)]) == [[]]


def test_a_plan_needs_numbers_alone() -> None:
    """Guards a quick start of what is tried with many settings."""
    assert imported([(["plan", "--technique", "pw_turn", "--gap", "0.1"], LIBRARIES)]) == [["scipy", "numpy"]]


def test_a_report_of_turns_needs_numbers_and_tables_alone(tmp_path: Path) -> None:
    """Guards who reads a report again and again: what draws pages, fits models or searches texts takes seconds."""
    tables = example_tables()
    # Survival curves of segments, and checks of slider ratings, are fitted by what these libraries hold.
    of_turns = replace(tables, segments=tables.segments.iloc[:0], ratings=tables.ratings.iloc[:0])
    write_tables(of_turns, tmp_path / "tables")
    command = ["report", "--tables", str(tmp_path / "tables"), "--draws", "100"]
    loaded = imported([(command, (*LIBRARIES, "scipy.stats", "scipy.optimize"))])
    assert loaded == [["pandas", "scipy", "numpy"]]


def test_a_command_ends_with_its_last_word() -> None:
    """Guards the prompt's return: the last search for garbage takes seconds where torch is loaded, and finds nothing."""
    code = (
        "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # runs after what comes later
        "from parlai_humaneval.cli import main\nmain(['plan', '--help'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"
