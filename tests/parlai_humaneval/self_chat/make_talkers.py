"""What the tests of self-chats share: models whose words the test decides, and a way to read a folder."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line
from parlai_humaneval.models.zoo.entries import ModelSpec

Speech = Callable[[Sequence[Line], random.Random], str]
"""From the dialogue so far, seen from this side, and this side's chance, to its next line."""


class TalkingAgent(DialogueAgent):
    """Says what a function says; notes the size of each batch."""

    def __init__(self, speech: Speech, shared: dict[str, Any] | None = None) -> None:
        super().__init__({}, shared)
        self.speech = speech
        self.batches: list[int] = []

    def clone(self) -> TalkingAgent:
        twin = TalkingAgent(self.speech, {})
        twin.batches = self.batches
        return twin

    def batch_act(self, observations: Sequence[Any]) -> list[Any]:
        self.batches.append(len(observations))
        return super().batch_act(observations)

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        return self.speech(dialogue, rng)


class Talkers:
    """Models by name, and which of them were loaded, in what order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.agents: dict[str, TalkingAgent] = {}
        self.loaded: list[str] = []
        monkeypatch.setattr("parlai_humaneval.models.pool.loading.load_agent", self._load)

    def _load(self, spec: ModelSpec) -> TalkingAgent:
        self.loaded.append(spec.name)
        return self.agents[spec.name]

    def specs(self, **speeches: Speech) -> list[ModelSpec]:
        self.agents = {name: TalkingAgent(speech) for name, speech in speeches.items()}
        return [ModelSpec(name=name, options={"model": "scripted", "script": name}) for name in speeches]


def counting(dialogue: Sequence[Line], rng: random.Random) -> str:
    """A line that says how many came before and what was heard last: any mix-up of histories shows."""
    return f"line {len(dialogue)}, after “{dialogue[-1][1][-25:]}”"


def chancy(dialogue: Sequence[Line], rng: random.Random) -> str:
    """A line that shows the side's own chance."""
    return f"line {len(dialogue)} drew {rng.random()}"


def contents(folder: Path) -> dict[str, str]:
    """The files of dialogues in a folder, as they are."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))}


def dialogues(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def acts(dialogue: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [act for exchange in dialogue["dialog"] for act in exchange]
