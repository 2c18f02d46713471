"""``parlai-humaneval self-chat`` and ParlAI's ``batched_self_chat`` as people call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from make_talkers import acts, contents, dialogues

from parlai_humaneval.cli import main

BASE = ["self-chat", "--models", "eliza,dull", "--num-dialogues", "2", "--exchanges", "2"]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_files_and_counts(tmp_path: Path) -> None:
    """Guards the command: a file a model, the counts in --json, and the same counts in the table."""
    result = call(*BASE, "--out", str(tmp_path / "out"), "--json")
    assert result.exit_code == 0, result.stderr
    files = {file["models"][0]: file for file in json.loads(result.stdout)["files"]}
    assert {name: file["dialogues"] for name, file in files.items()} == {"eliza": 2, "dull": 2}
    # “Hi!”, then three times the same: the second speaker's second line repeats its first.
    assert (files["dull"]["replies"], files["dull"]["repeated"], files["dull"]["equal_dialogues"]) == (6, 2, 1)
    table = call(*BASE, "--out", str(tmp_path / "out"))
    assert table.exit_code == 0
    assert "repeated" in table.stdout
    assert ["dull", "2", "0", "6", "2", "0", "1"] in [line.split() for line in table.stdout.splitlines()]


def test_pairs_and_openers(tmp_path: Path) -> None:
    """Guards --pairs, --start and --start-file together."""
    openers = tmp_path / "openers.txt"
    openers.write_text("Where do you live?\n", encoding="utf-8")
    arguments = ["--pairs", "--start", "openers", "--start-file", str(openers), "--out", str(tmp_path / "out")]
    result = call(*BASE, *arguments)
    assert result.exit_code == 0, result.stderr
    assert list(contents(tmp_path / "out")) == ["eliza--dull.jsonl"]
    made = dialogues(tmp_path / "out" / "eliza--dull.jsonl")
    assert [acts(dialogue)[0]["text"] for dialogue in made] == ["Where do you live?"] * 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--models", "elisa", "--num-dialogues", "1", "--out", "{}"], "Did you mean eliza?"),
        (["--models", "eliza", "--out", "{}"], "num-dialogues"),
        (["--models", "eliza", "--num-dialogues", "0", "--out", "{}"], "num-dialogues"),
        (["--models", "eliza", "--num-dialogues", "1"], "--out"),
        (["--models", ",", "--num-dialogues", "1", "--out", "{}"], "no model is named"),
        (["--models", "eliza", "--pairs", "--num-dialogues", "1", "--out", "{}"], "a pair takes two models"),
        (["--models", "eliza", "--num-dialogues", "1", "--out", __file__], "is a file"),
        (
            [
                "--models",
                "eliza",
                "--num-dialogues",
                "1",
                "--out",
                "{}",
                "--start",
                "openers",
                "--start-file",
                "/no.txt",
            ],
            "does not exist",
        ),
        (
            ["--models", "eliza", "--num-dialogues", "1", "--out", "{}", "--start-file", __file__],
            "start “hi” reads no file",
        ),
        (["--models", "ji2022_lstm", "--num-dialogues", "1", "--out", "{}"], "ji2022_lstm cannot be loaded"),
    ],
)
def test_wrong_input_gets_a_sentence(tmp_path: Path, arguments: list[str], told: str) -> None:
    """Guards people who mistype: a sentence, no traceback, and a status that scripts see."""
    result = call("self-chat", *(argument.format(tmp_path / "out") for argument in arguments))
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code != 0
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_help_teaches() -> None:
    """Guards the help: it has examples, and every option says what it does."""
    printed = call("self-chat", "--help").stdout
    assert "Examples:" in printed
    assert "--start-file" in printed
    assert "self-chat" in call("--help").stdout


def test_parlais_script_makes_the_same_dialogues(tmp_path: Path) -> None:
    """Guards the two ways of calling against each other: ParlAI's flags lead to the same files, byte for byte."""
    ours = call(*BASE, "--start", "openers", "--out", str(tmp_path / "ours"))
    assert ours.exit_code == 0, ours.stderr
    flags = ["--models", "eliza,dull", "--num-self-chats", "2", "--selfchat-max-turns", "2", "--start", "openers"]
    theirs = call("parlai", "batched_self_chat", *flags, "--outdir", str(tmp_path / "theirs"))
    assert theirs.exit_code == 0, theirs.stderr or theirs.exception
    assert contents(tmp_path / "theirs") == contents(tmp_path / "ours")


def test_parlais_script_takes_one_model_with_parlais_options(tmp_path: Path) -> None:
    """Guards -m with an agent's own options, which must reach the agent."""
    flags = ["-m", "fixed_response", "--fixed-response", "Quite so.", "--num-self-chats", "3", "--batchsize", "2"]
    result = call("parlai", "batched_self_chat", *flags, "--outdir", str(tmp_path))
    assert result.exit_code == 0, result.stderr or result.exception
    made = dialogues(tmp_path / "fixed_response.jsonl")
    assert len(made) == 3
    assert {act["text"] for dialogue in made for act in acts(dialogue)[1:]} == {"Quite so."}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--models", "eliza"], "no folder for the dialogues"),
        (["--outdir", "{}"], "name the models of the zoo"),
        (["--outdir", "{}", "--models", "eliza", "-m", "repeat_query"], "not both"),
        (["--outdir", "{}", "--models", "eliza", "--num-self-chats", "0"], "num_dialogues"),
    ],
)
def test_parlais_script_tells_what_is_wrong(tmp_path: Path, flags: list[str], told: str) -> None:
    """Guards ParlAI users as those of our own command."""
    result = call("parlai", "batched_self_chat", *(flag.format(tmp_path / "out") for flag in flags))
    assert result.exit_code == 1
    assert told in result.stderr
