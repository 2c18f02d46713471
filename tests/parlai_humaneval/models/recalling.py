"""An agent that says what it heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parlai.core.message import Message

from parlai_humaneval.models.agent.dialogue_agent import DIALOGUE_FIELD, PERSONA_FIELD, DialogueAgent


class RecallingAgent(DialogueAgent):
    """Replies with its name, its persona and a fingerprint of all that it heard and said: any leak changes the reply."""

    def __init__(self, opt: Any, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.name: str = shared["name"] if shared else opt["name"]

    def share(self) -> dict[str, Any]:
        return {**super().share(), "name": self.name}

    def batch_act(self, observations: Sequence[Mapping[str, Any]]) -> list[Message]:
        return [Message({"id": self.id, "text": self.recall(observation)}) for observation in observations]

    def recall(self, observation: Mapping[str, Any]) -> str:
        heard = "|".join(f"{speaker}:{text}" for speaker, text in observation[DIALOGUE_FIELD])
        return f"{self.name} as {', '.join(observation[PERSONA_FIELD]) or 'nobody'}: {len(heard)} {hash_of(heard)}"


def hash_of(text: str) -> int:
    """A fingerprint that is the same in every process."""
    value = 7
    for character in text:
        value = (value * 31 + ord(character)) % 1_000_003
    return value
