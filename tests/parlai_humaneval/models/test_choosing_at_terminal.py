"""`parlai interactive` with the Bot Speaker at a terminal: the replies are shown, numbered, and the chosen one goes on."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from warm_python import WarmPython

BIN = Path(sys.executable).parent
MESSAGE, CHOICE = "Enter Your Message:", "or press Enter for the first:"
WAIT_S = 120


class Terminal:
    """A program at a terminal, as a person uses it."""

    def __init__(self, warm: WarmPython, *command: str) -> None:
        self._warm = warm
        self._ours, self._theirs = pty.openpty()
        quiet = {**os.environ, "TERM": "dumb", "PYTHONWARNINGS": "ignore"}
        name = os.ttyname(self._theirs)
        self._pid: int | None = warm.start(*command, streams=(name, name, name), env=quiet)
        self.seen = ""

    def until(self, words: str) -> str:
        """What is shown up to these words, colours aside."""
        deadline, text = time.monotonic() + WAIT_S, ""
        while words not in text:
            assert time.monotonic() < deadline, f"“{words}” never came: {self.seen}{text}"
            if select.select([self._ours], [], [], 0.2)[0]:
                piece = os.read(self._ours, 4096).decode("utf-8", "replace")
                self.seen += piece
                text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.seen).replace("\r", "")
        self.seen = ""
        return text

    def types(self, line: str) -> None:
        os.write(self._ours, f"{line}\n".encode())

    def status(self) -> int:
        """Once it has ended by itself."""
        assert self._pid is not None
        pid, self._pid = self._pid, None
        return self._warm.wait(pid)

    def end(self) -> None:
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            self.status()
        os.close(self._theirs)
        os.close(self._ours)


@contextmanager
def interactive(warm: WarmPython, *more: str) -> Iterator[Terminal]:
    models = ["--models", "eliza,retrieval", "--order", "fixed", "--loglevel", "error"]
    speaker = "parlai_humaneval.agents.bot_speaker:BotSpeakerAgent"
    terminal = Terminal(warm, str(BIN / "parlai"), "interactive", "-m", speaker, *models, *more)
    try:
        terminal.until(MESSAGE)
        yield terminal
    finally:
        terminal.end()


def offered(screen: str) -> list[str]:
    """The replies under their numbers."""
    return re.findall(r"^\[\d\] (.+)$", screen, re.MULTILINE)


def test_a_person_chooses_which_reply_goes_on(warm: WarmPython) -> None:
    """Guards the whole way: both replies, blind; wrong input is asked again; what was chosen is what was said."""
    with interactive(warm) as terminal:
        terminal.types("Hi! I have a dog.")
        replies = offered(screen := terminal.until(CHOICE))
        assert len(replies) == 2, screen
        assert "eliza" not in screen
        assert "retrieval" not in screen
        for wrong in ("3", "0", "two", "-1"):
            terminal.types(wrong)
            assert "Please type a number from 1 to 2" in terminal.until(CHOICE)
        terminal.types("2")
        assert f"[BotSpeaker]: {replies[1]}" in terminal.until(MESSAGE)
        terminal.types("And you?")
        replies = offered(terminal.until(CHOICE))
        terminal.types("")
        assert f"[BotSpeaker]: {replies[0]}" in terminal.until(MESSAGE)
        terminal.types("[EXIT]")
        assert terminal.status() == 0


def test_names_can_be_shown_and_the_choice_can_be_left_out(warm: WarmPython) -> None:
    """Guards researchers who look at their models, and those who want `parlai interactive` as it was."""
    with interactive(warm, "--show-models", "true") as terminal:
        terminal.types("Hi!")
        screen = terminal.until(CHOICE)
        assert re.search(r"^\[1\] eliza: .+^\[2\] retrieval: ", screen, re.MULTILINE | re.DOTALL), screen
    with interactive(warm, "--choose", "false") as terminal:
        terminal.types("Hi!")
        assert CHOICE not in terminal.until(MESSAGE)


@pytest.mark.parametrize("typed", ["2", ""])
def test_all_models_remember_the_chosen_reply(monkeypatch: pytest.MonkeyPatch, scripted_pool: Any, typed: str) -> None:
    """Guards the shared history, through ParlAI's own `observe` → `act`, with what each model hears as its own words."""
    pool = scripted_pool({"a": lambda text: f"echo of {text}", "b": str.upper})
    speaker = pool.speaker(["a", "b"], seed=0, order="fixed")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: typed)
    said = {"2": "HI", "": "echo of hi"}[typed]
    speaker.observe({"id": "localHuman", "text": "hi", "episode_done": False})
    assert speaker.act()["text"] == said
    speaker.observe({"id": "localHuman", "text": "more", "episode_done": False})
    for model in ("a", "b"):
        assert speaker.dialogue_of(model) == [("human", "hi"), ("bot", said), ("human", "more")]
    assert speaker.act()["candidates"][0]["text"] == "echo of more"
