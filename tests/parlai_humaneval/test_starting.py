"""Commands answer at once: each imports what it needs, when it needs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
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


def imported(arguments: list[str], libraries: tuple[str, ...]) -> list[str]:
    """Those of ``libraries`` that a process has loaded when its command ends."""
    code = (
        "import sys\nfrom parlai_humaneval.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit as end: assert not end.code, end.code\n"
        f"print([name for name in {libraries!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names: list[str] = eval(done.stdout.splitlines()[-1])
    return names


@pytest.mark.parametrize("command", ["", "demo", "launch", "report", "import", "models", "self-chat"])
def test_help_waits_for_nothing(command: str) -> None:
    """Guards whoever looks something up: no library that takes longer to load than the text to read."""
    assert imported([*command.split(), "--help"], LIBRARIES) == []


@pytest.mark.parametrize(
    "command", ["pay", "workers", "unblock", "returned", "invite", "forget", "judge", "export", "watch"]
)
def test_help_of_studies_reads_no_records(command: str) -> None:
    """Guards a look at one option: what checks records takes three times as long to load as all else of these commands."""
    assert imported([command, "--help"], (*LIBRARIES, "pydantic", "omegaconf")) == []


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


def test_a_plan_needs_numbers_alone() -> None:
    """Guards a quick start of what is tried with many settings."""
    assert imported(["plan", "--technique", "pw_turn", "--gap", "0.1"], LIBRARIES) == ["scipy", "numpy"]


def test_a_report_of_turns_needs_numbers_and_tables_alone(tmp_path: Path) -> None:
    """Guards who reads a report again and again: what draws pages, fits models or searches texts takes seconds."""
    tables = example_tables()
    # Survival curves of segments, and checks of slider ratings, are fitted by what these libraries hold.
    of_turns = replace(tables, segments=tables.segments.iloc[:0], ratings=tables.ratings.iloc[:0])
    write_tables(of_turns, tmp_path / "tables")
    loaded = imported(
        ["report", "--tables", str(tmp_path / "tables"), "--draws", "100"],
        (*LIBRARIES, "scipy.stats", "scipy.optimize"),
    )
    assert loaded == ["pandas", "scipy", "numpy"]


def test_a_command_ends_with_its_last_word() -> None:
    """Guards the prompt's return: the last search for garbage takes seconds where torch is loaded, and finds nothing."""
    code = (
        "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # runs after what comes later
        "from parlai_humaneval.cli import main\nmain(['plan', '--help'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"
