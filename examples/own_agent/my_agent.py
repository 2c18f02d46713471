"""A model as a subclass of ParlAI's Agent: it asks about the longest word so far."""

from __future__ import annotations

from typing import Any

from parlai.core.agents import Agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser


class MyAgent(Agent):
    """Each conversation has its own copy, made by ``clone()``, which hears nothing from other conversations."""

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        parser.add_argument("--question", type=str, default="Why {word}?", help="What it asks")
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.id = "MyAgent"
        self.words: list[str] = []

    def observe(self, observation: Message) -> Message:
        """Take in the person's message. ``text`` is None if there is nothing new."""
        self.words += [word.strip(".,!?") for word in (observation.get("text") or "").split()]
        return super().observe(observation)

    def act(self) -> Message:
        """Reply to everything said so far."""
        longest = max(self.words, key=len, default="so")
        return Message({"id": self.id, "text": self.opt["question"].format(word=longest), "episode_done": False})
