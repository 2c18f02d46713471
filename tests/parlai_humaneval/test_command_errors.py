"""The three lines in which commands tell what went wrong: what, where, how to mend it."""

from __future__ import annotations

import errno
import io
import json

import click
import pytest
from click.testing import CliRunner

from parlai_humaneval._util.errors import HumanevalError, Misspelt, Problem
from parlai_humaneval.cli import COMMANDS, main
from parlai_humaneval.cli.errors import CommandError, cli_errors


class _Elsewhere(Exception):
    """An error of another package."""


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        (
            ["reprot", "--task-name", "x y"],
            [
                "error: no such command: reprot. Did you mean report?",
                "   in: main",
                "  try: main report --task-name 'x y'",
            ],
        ),
        (
            ["plan", "--gapp", "0.1"],
            ["error: no such option: --gapp. Did you mean --gap?", "   in: main plan", "  try: main plan --gap 0.1"],
        ),
        (
            ["plan", "--gap", "0.1", "--tests=pair"],
            [
                "error: --tests cannot be 'pair'. Did you mean pairs?",
                "   in: main plan",
                "  try: main plan --gap 0.1 --tests=pairs",
                "       choose one of: overall, pairs",
            ],
        ),
        (
            ["plan", "--gap", "two"],
            ["error: --gap takes a number, not 'two'", "   in: main plan", "  try: write ten points as --gap 0.1"],
        ),
        (
            ["new", "--gap", "10"],
            [
                "error: --gap takes a number from 0 to 1, not 10.0",
                "   in: main new",
                "  try: write ten points as --gap 0.1",
            ],
        ),
        (
            ["demo", "--port", "99999"],
            [
                "error: --port takes a whole number from 0 to 65535, not 99999",
                "   in: main demo",
                "  try: main demo --help",
            ],
        ),
        (
            ["plan", "--gap", "0.1", "turns=3"],
            [
                "error: unexpected argument 'turns=3' here. Did you mean --turns=3?",
                "   in: main plan",
                "  try: main plan --gap 0.1 --turns=3",
            ],
        ),
        (
            ["report", "nosuchdir"],
            [
                "error: unexpected argument 'nosuchdir' here",
                "   in: main report",
                "  try: name a task (--task-name NAME) or a folder of tables (--tables DIR)",
            ],
        ),
        (
            ["launch", "pw_turn", "models=[eliza", "retrieval]"],
            [
                "error: models=[eliza retrieval] was split into 2 pieces",
                "   in: main launch",
                "  try: quote it: 'models=[eliza, retrieval]'",
            ],
        ),
        (
            ["demo", "--raters", "few"],
            [
                "error: --raters takes a whole number from 1 to 64, not 'few'",
                "   in: main demo",
                "  try: main demo --help",
            ],
        ),
        (["plan", "--gap"], ["error: --gap needs a value after it", "   in: main plan", "  try: main plan --help"]),
        (
            ["pay", "--task-name", "x", "--minimum", "much"],
            ["error: --minimum: 'much' is not an amount of money", "   in: main pay", "  try: write 8 or 8.50"],
        ),
        (
            ["models", "check", "--zoo-file", "/not/there.yaml"],
            [
                "error: --zoo: File '/not/there.yaml' does not exist",
                "   in: main models check",
                "  try: main models check --help",
            ],
        ),
        (
            ["demo", "--metric", "humanness", "metric=preference"],
            [
                "error: --metric and metric=… are the same setting",
                "   in: main demo",
                "  try: leave one of them out",
            ],
        ),
        (
            ["doctor", "--profile", "x"],
            [
                "error: --profile needs --server ec2",
                "   in: main doctor",
                "  try: add --server ec2, or leave --profile out",
            ],
        ),
        (
            ["try", "eliza", "models=[a,b]"],
            [
                "error: models=… is for `launch`: here MODEL and --opponent are the models, and people join through a link",
                "   in: main try",
                "  try: leave models=… out",
            ],
        ),
        (["launch"], ["error: the argument TASK|FILE is missing", "   in: main launch", "  try: main launch --help"]),
        (
            ["steer", "puase"],
            ["error: no such command: puase. Did you mean pause?", "   in: main steer", "  try: main steer pause"],
        ),
        (["--jsn"], ["error: no such option: --jsn", "   in: main", "  try: main --help"]),
        (
            ["plan", "--gap", "0.1", "--compare", "--simulate"],
            [
                "error: --simulate and --curve are for one plan",
                "   in: main plan",
                "  try: add --technique, and leave --compare out",
            ],
        ),
    ],
)
def test_wrong_usage_is_three_lines_and_status_2(typed: list[str], lines: list[str]) -> None:
    done = CliRunner().invoke(main, typed)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines() == lines


@pytest.mark.parametrize("typed", [["plan", "--gap", "two", "--json"], ["report", "--tables", "nowhere", "--json"]])
def test_a_program_that_asked_for_json_reads_the_error_there(typed: list[str]) -> None:
    """Whoever parses standard output gets the same three parts as a person, whatever went wrong."""
    done = CliRunner().invoke(main, typed)
    assert done.exit_code != 0
    lines = [line.strip().partition(": ") for line in done.stderr.splitlines()]
    assert json.loads(done.stdout) == {name: text for name, _, text in lines}


@pytest.mark.parametrize("group", [[], ["models"], ["steer"]])
def test_a_group_without_a_command_shows_its_help(group: list[str]) -> None:
    done = CliRunner().invoke(main, group)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == CliRunner().invoke(main, [*group, "--help"]).stdout


def test_an_option_that_is_typed_as_a_setting_is_shown_as_an_option() -> None:
    @click.command()
    @click.option("--served-model")
    def command(served_model: str | None) -> None:
        with cli_errors():
            meant = Misspelt("served_model", ("models",), is_setting=True)
            raise HumanevalError("there is no setting 'served_model'", misspelt=meant, try_="`list` shows all")

    lines = CliRunner().invoke(command, []).stderr.splitlines()
    assert lines[0] == "error: there is no setting 'served_model'. Did you mean --served-model?"


def test_the_parts_of_an_error_are_its_lines() -> None:
    """Several problems stand below each other; without advice, the help of the command is the last line."""
    error = CommandError("is empty", where="people.csv", try_="expected names")
    assert error.lines() == ("people.csv: is empty", "parlai-humaneval", "expected names")
    several = CommandError([Problem("a is 0", try_=("see `a`",)), Problem("b is 0", try_=("see `a`", "see `b`"))])
    assert several.lines() == ("a is 0\nb is 0", "parlai-humaneval", "see `a`\nsee `b`")
    assert CommandError("name a worker").lines()[2] == "parlai-humaneval --help"
    of_a_file = CommandError(HumanevalError("“turns” appears twice", where="study.yaml"))  # the help says nothing of it
    assert of_a_file.lines()[2] == ""
    with io.StringIO() as shown:
        of_a_file.show(shown)
        assert "try:" not in shown.getvalue()


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        (["try", "a"], "p try ab\np try ac"),
        (["try", "a", "--opponent", "a"], "ab or ac"),
        (["try", "models=[a,b]"], "p try 'models=[ab,b]'\np try 'models=[ac,b]'"),
    ],
)
def test_a_misspelt_name_is_put_right_where_it_was_typed_once(typed: list[str], advice: str) -> None:
    error = CommandError("no model is called “a”", misspelt=Misspelt("a", ("ab", "ac")))
    error.command, error.typed = "p try", typed
    assert error.lines() == ("no model is called “a”. Did you mean ab or ac?", "p try", advice)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (HumanevalError("a model says \x1b]0;t\x07"), "error: a model says �]0;t�"),
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "x"), "error: x: No such file or directory"),
        (_Elsewhere("not in the database"), "error: not in the database"),
    ],
)
def test_failures_have_status_1_and_obey_nobody(error: Exception, line: str) -> None:
    @click.command()
    def fails() -> None:
        with cli_errors("_Elsewhere"):
            raise error

    done = CliRunner().invoke(fails)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[0] == line


def test_faults_of_the_program_keep_their_traceback() -> None:
    with pytest.raises(KeyError), cli_errors():
        raise KeyError("a")


def test_every_command_stands_once_under_a_heading() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    assert [sum(line.startswith(f"  {name} ") for line in text.splitlines()) for name in COMMANDS] == [1] * len(
        COMMANDS
    )
    assert max(map(len, text.splitlines())) <= 80
