"""The agents inside ParlAI's own commands, through the real command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from click.testing import CliRunner
from parlai.core.params import ParlaiParser
from warm_python import WarmPython

from parlai_humaneval.cli.parlai import parlai

BIN = Path(sys.executable).parent


def test_self_chat_with_the_short_name(tmp_path: Path, warm: WarmPython) -> None:
    """Guards `parlai-humaneval parlai self_chat -m parlai_humaneval/bot_speaker`, from a shell: two Bot Speakers, four
    turns each."""
    out = tmp_path / "chats.jsonl"
    command = [
        str(BIN / "parlai-humaneval"), "parlai", "self_chat", "-m", "parlai_humaneval/bot_speaker",
        "--models", "eliza,retrieval", "--num-self-chats", "1", "--selfchat-max-turns", "4", "--outfile", str(out),
    ]  # fmt: skip
    done = warm.run(*command)
    assert done.returncode == 0, done.stderr
    dialogue = json.loads(out.read_text(encoding="utf-8").splitlines()[0])["dialog"]
    spoken = [act for pair in dialogue for act in pair if act["id"].startswith("BotSpeaker")]
    assert len(spoken) >= 6
    assert all(act["text"].strip() and len(act["candidates"]) == 2 for act in spoken)


def test_interactive_in_plain_parlai(warm: WarmPython) -> None:
    """Guards `parlai interactive -m module:Class`, with a second dialogue and the end of input."""
    done = warm.run(
        str(BIN / "parlai"), "interactive", "-m", "parlai_humaneval.agents.bot_speaker:BotSpeakerAgent",
        "--models", "eliza,retrieval", text="Hi!\nI have a dog.\n[DONE]\nHello again\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[BotSpeaker]:") == 3
    assert "Traceback" not in done.stderr


def test_interactive_with_independent_histories(warm: WarmPython) -> None:
    """Guards `--history` and `--order` on ParlAI's command line: a whole dialogue, and a wrong value refused in words."""
    command = (
        str(BIN / "parlai"), "interactive", "-m", "parlai_humaneval.agents.bot_speaker:BotSpeakerAgent",
        "--models", "eliza,retrieval", "--order", "fixed", "--history",
    )  # fmt: skip
    done = warm.run(*command, "independent", text="Hi!\nI have a dog.\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[BotSpeaker]:") == 2
    refused = warm.run(*command, "own", text="Hi!\n")
    assert refused.returncode != 0
    assert "cannot be 'own'; choose one of: shared, independent" in refused.stdout + refused.stderr


def test_without_arguments_our_own_help_is_shown() -> None:
    """Guards a newcomer: what this is, the short names, an example, and no list of forty commands."""
    result = CliRunner().invoke(parlai, [])
    assert result.exit_code == 0
    assert "parlai_humaneval/bot_speaker" in result.output
    assert "--models eliza,retrieval" in result.output


def test_help_of_a_command_is_parlais_with_our_options(warm: WarmPython) -> None:
    """Guards that --help is passed through, and that the agent's options are found by its short name."""
    done = warm.run(
        str(BIN / "parlai-humaneval"), "parlai", "interactive", "-m", "parlai_humaneval/bot_speaker", "--help"
    )
    assert done.returncode == 0
    assert "--display-examples" in done.stdout
    assert "Names from the zoo, separated by commas" in done.stdout


def test_a_wrong_model_name_is_one_clear_line() -> None:
    """Guards against a traceback for a typing mistake."""
    result = CliRunner().invoke(
        parlai, ["self_chat", "-m", "parlai_humaneval/bot_speaker", "--models", "elisa", "--loglevel", "error"]
    )
    assert result.exit_code == 1
    assert "Did you mean eliza?" in result.output


def test_a_misspelt_option_is_an_error_of_a_few_lines() -> None:
    """Guards against hundreds of lines of usage before the one that helps; ParlAI's parser is as before afterwards."""
    before = ParlaiParser.error
    result = CliRunner().invoke(
        parlai, ["eval_model", "-m", "parlai_humaneval/bot_speaker", "--modles", "a", "-t", "fromfile:parlaiformat"]
    )
    assert result.exit_code == 2
    assert result.stdout == ""
    what, *others = result.stderr.splitlines()
    assert what.startswith("error: unrecognized arguments: --modles a. Did you mean --models")
    assert len(others) <= 3, "where, and what to try"
    assert ParlaiParser.error is before
