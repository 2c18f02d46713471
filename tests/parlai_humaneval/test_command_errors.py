"""The three lines in which commands tell what went wrong: what, where, how to mend it."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from parlai_humaneval._util.errors import ErrorLines, error_lines, told_plainly
from parlai_humaneval.cli import COMMANDS, main


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
            ["error: --gap takes a number, not 'two'", "   in: main plan", "  try: main plan --help"],
        ),
        (
            ["demo", "--port", "99999"],
            [
                "error: --port takes a number from 0 to 65535, not 99999",
                "   in: main demo",
                "  try: main demo --help",
            ],
        ),
        (
            ["plan", "--gap", "0.1", "turns=3"],
            [
                "error: nothing takes 'turns=3' here. Did you mean --turns=3?",
                "   in: main plan",
                "  try: main plan --gap 0.1 --turns=3",
            ],
        ),
        (
            ["demo", "--raters", "few"],
            ["error: --raters takes a whole number, not 'few'", "   in: main demo", "  try: main demo --help"],
        ),
        (["plan", "--gap"], ["error: --gap needs a value after it", "   in: main plan", "  try: main plan --help"]),
        (
            ["pay", "--task-name", "x", "--minimum", "much"],
            ["error: --minimum: 'much' is no amount of dollars", "   in: main pay", "  try: write 8 or 8.50"],
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
                "error: --profile is of --server ec2",
                "   in: main doctor",
                "  try: add that, or leave --profile out",
            ],
        ),
        (
            ["try", "eliza", "models=[a,b]"],
            [
                "error: models=… goes with `launch`: here MODEL and --opponent say who talks, and a link brings people",
                "   in: main try",
                "  try: leave models=… out",
            ],
        ),
        (["launch"], ["error: the argument TASK is missing", "   in: main launch", "  try: main launch --help"]),
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
                "  try: give --technique, and leave --compare out",
            ],
        ),
    ],
)
def test_wrong_usage_is_three_lines_and_status_2(typed: list[str], lines: list[str]) -> None:
    done = CliRunner().invoke(main, typed)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines() == lines


@pytest.mark.parametrize("group", [[], ["models"], ["steer"]])
def test_a_group_without_a_command_shows_its_help(group: list[str]) -> None:
    done = CliRunner().invoke(main, group)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == CliRunner().invoke(main, [*group, "--help"]).stdout


def test_an_option_that_is_typed_as_a_setting_is_shown_as_an_option() -> None:
    @click.command()
    @click.option("--served-model")
    def command(served_model: str | None) -> None:
        with told_plainly(["ValueError"]):
            raise ValueError("there is no setting 'served_model'. Did you mean models=…? `list` shows all.")

    lines = CliRunner().invoke(command, []).stderr.splitlines()
    assert lines[0] == "error: there is no setting 'served_model'. Did you mean --served-model?"


@pytest.mark.parametrize(
    ("message", "what", "how"),
    [
        ("no room is left: make some, and run this again", "no room is left", "make some, and run this again"),
        ("people.csv: is empty; expected names", "people.csv: is empty", "expected names"),
        ("a: is 0; see `a`\nb: is 0; see `b`", "a: is 0\nb: is 0", "see `a`\nsee `b`"),
        (
            "name a worker: their pseudonym, or --worker-id ID",
            "name a worker: their pseudonym, or --worker-id ID",
            None,
        ),
        ("nobody came from a panel. Check --task-name.", "nobody came from a panel", "check --task-name"),
        ("MTurk is not reached: it timed out", "MTurk is not reached: it timed out", None),
        ("x.yaml: gap 0.2: must be less", "x.yaml: gap 0.2: must be less", None),
    ],
)
def test_what_is_to_be_done_is_the_last_line(message: str, what: str, how: str | None) -> None:
    """Without it, help is; a message that begins with what to do is not divided."""
    assert error_lines(message, "p c") == ErrorLines(what, "p c", how or "p c --help")


def test_a_name_that_stands_twice_is_not_put_right_by_guessing() -> None:
    lines = error_lines("no model is called “a”; did you mean ab?", "p try", ["try", "a", "--opponent", "a"])
    assert lines == ErrorLines("no model is called “a”. Did you mean ab?", "p try", "ab")


def test_failures_have_status_1_and_obey_nobody() -> None:
    @click.command()
    def fails() -> None:
        with told_plainly(["KeyError"]):
            raise KeyError("a model says \x1b]0;t\x07")

    done = CliRunner().invoke(fails)
    assert done.exit_code == 1
    assert "\x1b" not in done.stderr
    assert done.stderr.startswith("error: ")


def test_every_command_stands_once_under_a_heading() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    assert [sum(line.startswith(f"  {name} ") for line in text.splitlines()) for name in COMMANDS] == [1] * len(
        COMMANDS
    )
    assert max(map(len, text.splitlines())) <= 80
