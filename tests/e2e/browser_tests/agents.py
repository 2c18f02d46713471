"""A model that does what the person's message tells it to: the odd cases that real models have once a week."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence

from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line

from .oddities import DEEP, ENDLESS, LONG, LONG_WORD, MARKDOWN, MARKUP, SAME, SECOND_TRY_S, SLOW_S, TRAPS, WIDE_TABLE

_DRAWN = {"markdown": MARKDOWN, "traps": "\n\n".join([TRAPS, WIDE_TABLE, ENDLESS, DEEP]), "length": LONG}
"""Messages, and the markdown that they are answered with."""


class PeculiarAgent(DialogueAgent):
    """Obeys “markup”, “long word”, “your name”, “say the same”, “take your time” (once a message) and “break down”."""

    _delayed: set[str] = set()  # noqa: RUF012 - shared by all clones on purpose
    _lock = threading.Lock()

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        """What the zoo file says of each of the two."""
        parser.add_argument("--own-name", type=str)
        parser.add_argument("--flavour", type=str, choices=["mild", "brisk"])
        return parser

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        heard = dialogue[-1][1]
        if "break down" in heard:
            raise RuntimeError("told to break down")
        if "take your time" in heard and self._first(heard):
            time.sleep(SLOW_S)
        elif "take your time" in heard:
            time.sleep(SECOND_TRY_S)
        if heard in _DRAWN:
            return f"{_DRAWN[heard]}\n\nThe {self.opt['flavour']} one."
        if "markup" in heard:
            return f"{MARKUP} {self._variant(rng)}"
        if "long word" in heard:
            return f"{LONG_WORD} {self._variant(rng)}"
        if "your name" in heard:
            return f"My name is {self.opt['own_name']}. What is yours? {self._variant(rng)}"
        if "say the same" in heard:
            return SAME
        return f"I heard “{heard}”. {self._variant(rng)}"

    def _variant(self, rng: random.Random) -> str:
        return f"({self.opt['flavour']} {rng.randrange(10**6)})"

    def _first(self, message: str) -> bool:
        key = f"{self.opt['flavour']} {message}"
        with self._lock:
            fresh = key not in self._delayed and self.opt["flavour"] == "mild"
            self._delayed.add(key)
        return fresh
