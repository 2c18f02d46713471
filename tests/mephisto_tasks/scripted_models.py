"""Models for tests of live tasks: instant, or failing, or hanging, as the test says; and what they heard."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line

Script = Callable[[Sequence[Line]], str]


def number_of_turns(name: str) -> Script:
    return lambda dialogue: f"{name} at turn {(len(dialogue) + 1) // 2}"


SCRIPTS: dict[str, Script] = {}
"""Model → how it answers now; tests replace entries. Not there: its name and the turn."""

HEARD: list[tuple[str, list[Line]]] = []
"""(model, the dialogue it was asked to continue), in order."""


class ScriptedAgent(DialogueAgent):
    """Answers as its entry in ``SCRIPTS`` says."""

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        parser.add_argument("--script", type=str, default="", help="Entry of SCRIPTS")
        return parser

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        name = str(self.opt["script"])
        HEARD.append((name, list(dialogue)))
        return SCRIPTS.get(name, number_of_turns(name))(dialogue)


def zoo_file(folder: Path, names: Sequence[str]) -> Path:
    """A zoo file of scripted models."""
    path = folder / "scripted.yaml"
    options = {"model": "scripted_models:ScriptedAgent"}
    models = {name: {"options": {**options, "script": name}, "source": "a test"} for name in names}
    path.write_text(yaml.safe_dump({"models": models}))
    return path
