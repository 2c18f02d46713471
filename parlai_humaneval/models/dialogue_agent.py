"""A small base for agents that compute their reply from the dialogue alone.

As with ParlAI's TorchAgent, the observation that ``observe`` returns carries all that a
reply needs, so that ``batch_act`` of any clone can answer for all of them, and
``self_observe`` tells a clone what it was taken to have said.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

from parlai.core.agents import Agent
from parlai.core.message import Message
from parlai.core.opt import Opt

from parlai_humaneval.protocol.materials.persona_lines import split_persona

Speaker = Literal["human", "bot"]
Line = tuple[Speaker, str]
"""Who spoke, seen from the Bot Speaker, and what."""

DIALOGUE_FIELD = "dialogue"
SEED_FIELD = "dialogue_seed"
PERSONA_FIELD = "persona"
PARTNER_PERSONA_FIELD = "partner_persona"


class DialogueAgent(Agent):
    """Keeps both sides of one dialogue; a subclass says what comes next in :meth:`reply`.

    Replies depend on the dialogue and the seed only, so that the same dialogue under the same seed
    gets the same answer in any process, batch or order.

    Persona lines before the person's first words (``your persona: …``) are not taken for something said: they
    are kept in ``persona`` and ``partner_persona`` and travel with every observation.
    """

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.id = type(self).__name__.removesuffix("Agent")
        self.dialogue: list[Line] = []
        self.persona: tuple[str, ...] = ()
        self.partner_persona: tuple[str, ...] = ()
        self.dialogue_seed = int(opt.get("seed") or 0)

    def set_seed(self, seed: int) -> None:
        """Give this conversation its own chance: two conversations need not get equal answers to “Hi!”."""
        self.dialogue_seed = seed

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """The next line of the bot. ``dialogue`` is never empty; ``rng`` is seeded for this turn."""
        raise NotImplementedError

    def observe(self, observation: Message) -> Message:
        """Hear the partner."""
        text = self._without_persona(str(observation.get("text") or ""))
        if text:
            self.dialogue.append(("human", text))
        known = {
            DIALOGUE_FIELD: tuple(self.dialogue),
            SEED_FIELD: self.dialogue_seed,
            PERSONA_FIELD: self.persona,
            PARTNER_PERSONA_FIELD: self.partner_persona,
        }
        self.observation = Message({**observation, **known})
        return self.observation

    def _without_persona(self, text: str) -> str:
        if any(speaker == "human" for speaker, _ in self.dialogue):
            return text  # later, such a line is the person's own
        heard = split_persona(text)
        self.persona += heard.own
        self.partner_persona += heard.partner
        return heard.said

    def self_observe(self, message: Message) -> None:
        """Hear what was said in this agent's name."""
        self.dialogue.append(("bot", str(message["text"])))

    def batch_act(self, observations: Sequence[Message]) -> list[Message]:
        """One reply for each observation, of whichever clones."""
        return [self._answer(observation) for observation in observations]

    def act(self) -> Message:
        """Reply to the last observation, and take the reply as said."""
        message = self.batch_act([self.observation or Message({DIALOGUE_FIELD: (), SEED_FIELD: self.dialogue_seed})])[0]
        self.self_observe(message)
        return message

    def reset(self) -> None:
        """Forget the dialogue and the personas."""
        super().reset()
        self.dialogue = []
        self.persona = self.partner_persona = ()

    def _answer(self, observation: Message) -> Message:
        text = self.reply(_heard(observation), chance_of(observation))
        return Message({"id": self.id, "text": text, "episode_done": False})


def chance_of(observation: Message) -> random.Random:
    """The chance of the next reply: of the conversation's seed and the place in the dialogue, and of nothing else."""
    dialogue = _heard(observation)
    return random.Random(f"{observation[SEED_FIELD]}|{len(dialogue)}|{dialogue[-1][1]}")


def _heard(observation: Message) -> Sequence[Line]:
    return observation[DIALOGUE_FIELD] or (("human", ""),)
