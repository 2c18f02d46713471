"""A model as a subclass of ParlAI's Agent: it asks about the longest word that it heard."""

from __future__ import annotations

from typing import Any

from parlai.core.agents import Agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser


class MyAgent(Agent):
    """Each conversation has a copy of its own, made by ``clone()``: what one person says, no other copy hears."""

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        parser.add_argument("--question", type=str, default="Why {word}?", help="What it asks")
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.id = "MyAgent"
        self.words: list[str] = []

    def observe(self, observation: Message) -> Message:
        """Hear the person. ``text`` is None when there is nothing new to hear."""
        self.words += [word.strip(".,!?") for word in (observation.get("text") or "").split()]
        return super().observe(observation)

    def act(self) -> Message:
        """Reply to all that was heard."""
        longest = max(self.words, key=len, default="so")
        return Message({"id": self.id, "text": self.opt["question"].format(word=longest), "episode_done": False})
