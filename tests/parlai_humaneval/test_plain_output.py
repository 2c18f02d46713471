"""What somebody else wrote is obeyed neither by a terminal nor by whoever reads a log in one."""

from __future__ import annotations

import io
import json
import logging

import click
import pytest
from click.testing import CliRunner
from rich.table import Table

from parlai_humaneval import cli
from parlai_humaneval._util.terminal import PLAIN_RECORDS, PlainConsole, plain_logs, say, say_json
from parlai_humaneval._util.text import printable

ODD = "a\x1b[2J\x1b]0;t\x07b\x9b31m\x00\x7f\r\u202ec\u2066d\ud800\n\te\u200d👍 é"
"""Clears the screen, names the window, colours, turns the direction; a line, a tab, a joiner and accents are text."""
PLAIN = "a�[2J�]0;t�b�31m����c�d�\n\te\u200d👍 é"


def test_text_of_others_keeps_its_letters_and_loses_its_codes() -> None:
    assert printable(ODD) == PLAIN
    assert printable("as it is\n") == "as it is\n"


def test_json_for_programs_is_obeyed_by_no_terminal_and_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards who looks at what a program was to read: the control characters behind ASCII as well, and halves."""
    say_json({ODD: [ODD]})
    out = capsys.readouterr().out
    assert printable(out) == out
    assert json.loads(out) == {ODD: [ODD]}
    assert "👍 é" in out, "what can be read stays so"


def test_a_table_of_the_terminal_obeys_nothing_in_it() -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, force_terminal=True, width=80, color_system="standard")
    table = Table("worker", style="red")
    table.add_row("evil\x1b]0;t\x07")
    console.print(table)
    assert "\x1b[31m" in out.getvalue(), "its own colours are there"
    assert "\x1b]" not in out.getvalue()
    assert "evil�]0;" in out.getvalue()


def test_a_line_and_an_error_of_a_command_obey_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def failing() -> None:
        say("red\x1b[31m")
        raise click.ClickException("the server says \x1b[2J")

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *args: failing)
    result = CliRunner().invoke(cli.main, ["failing"], color=True)
    assert "\x1b" not in click.unstyle(result.output), "nothing but our own colours"
    assert "says �[2J" in result.output
    assert "red�[31m" in result.output


def test_logs_of_a_launch_obey_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards messages, their values and the errors that come with them, whoever logs and whatever writes it down."""
    logger, stream = logging.getLogger("somebody.elses"), io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    try:
        with plain_logs():
            logger.warning("worker %s", "w\x1b[2J")
            logger.warning("does not fit %s %s", "\x1b")
            try:
                raise ValueError("model says \x1b]0;t\x07")
            except ValueError:
                logger.exception("it broke")
            assert logging.lastResort is not None
            logging.lastResort.handle(logger.makeRecord("n", logging.ERROR, "f", 1, "nobody set up \x1b[2J", (), None))
        assert PLAIN_RECORDS not in handler.filters, "afterwards it is as it was"
    finally:
        logger.removeHandler(handler)
    assert "\x1b" not in stream.getvalue()
    assert "WARNING worker w�[2J" in stream.getvalue()
    assert "does not fit" in stream.getvalue()
    assert "ValueError: model says �]0;t�" in stream.getvalue()
    assert capsys.readouterr().err.endswith("nobody set up �[2J\n"), "a program without handlers"


@pytest.mark.parametrize(
    "words", [["export", "--task-name", "t"], ["workers", "block", "w1"], ["workers", "note", "w1"]]
)
def test_what_is_missing_is_named(words: list[str]) -> None:
    """Guards errors that have no words of their own, as click's of a missing option or argument."""
    result = CliRunner().invoke(cli.main, words)
    assert result.exit_code == 2
    assert result.output.startswith("error: the ")
    assert " is missing\n" in result.output
