"""One model's side of one conversation: a clone of the agent that has heard the dialogue so far.

The dialogue is the truth and the clone follows it: it hears each line once, the human's as its partner's
and the Bot Speaker's as its own, whichever model wrote it. A clone that failed on the way is thrown
away and a fresh one hears the dialogue from the start.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parlai.core.agents import Agent
from parlai.core.message import Message

from parlai_humaneval.dialogues.personas import with_persona
from parlai_humaneval.models.agent.dialogue_agent import Speaker
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.pool.worker import ModelWorker, Request

logger = logging.getLogger(__name__)

WITHHELD = frozenset(
    {"labels", "eval_labels", "episode_done", "reward", "metrics", "text_candidates", "candidates", "text"}
)
"""Fields of a message that no child sees: a label would enter its history in place of what was said, an end of
episode would have it wait for a reset that the Bot Speaker does itself, and another's candidates are not its own."""


@dataclass(frozen=True)
class Utterance:
    """A line of the dialogue, with the other fields of its message (an image, candidates to rank, …)."""

    speaker: Speaker
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


class Child:
    """Keeps one clone of a model level with one dialogue.

    Args:
        worker: the loaded model.
        seed: of this conversation.
        persona: sentences that the model plays. It hears them once, in ParlAI's convention: at the start of the first
            message, or alone when the Bot Speaker has the first line. They are no part of the dialogue.

    Raises:
        ValueError: for a persona that is not a list of sentences, each on one line.
    """

    def __init__(self, worker: ModelWorker, seed: int, persona: Sequence[str] = ()) -> None:
        self.worker = worker
        self._seed = seed
        self._persona = _sentences(persona)
        self.renew()

    @property
    def model(self) -> str:
        """The model's name in the zoo."""
        return self.worker.name

    def renew(self, attempt: int = 0, line: int = 0) -> None:
        """Start again with a fresh clone that has heard nothing.

        Each ``attempt`` over 0 at each ``line`` of the dialogue has a chance of its own.
        """
        self.agent: Agent = self.worker.clone()
        if hasattr(self.agent, "set_seed"):
            chance = random.Random(f"attempt|{self._seed}|{line}|{attempt}")
            self.agent.set_seed(chance.getrandbits(31) if attempt else self._seed)
        if hasattr(
            self.agent, "set_conversation"
        ):  # for those who know conversations by their seeds, whatever the chance
            self.agent.set_conversation(self._seed)
        self._heard = 0
        self._knows_persona = not self._persona
        self._observation: Any = None
        self._request: Request | None = None

    def hear(self, dialogue: Sequence[Utterance]) -> None:
        """Hear the lines that are new since the last call; a clone that fails at it is replaced."""
        try:
            self._catch_up(dialogue)
        except Exception:
            logger.exception("%s failed to hear a message; a fresh copy of it will hear the dialogue again", self.model)
            self.renew()

    def ask(self, dialogue: Sequence[Utterance]) -> Request:
        """Queue a request for the next line of ``dialogue``; what the agent raises at hearing it goes through."""
        self._catch_up(dialogue)
        if self._observation is None:  # the Bot Speaker spoke last and is to go on
            with self.worker.observing:
                self._observe(None, {})
        self._request = self.worker.submit(self.agent, self._observation)
        return self._request

    def interrupted(self) -> bool:
        """Whether the next line waits for a server that is out."""
        return self._request is not None and self._request.wait.since is not None

    def absent(self) -> bool:
        """Whether the next line waits for somebody who is not there, as an agent for whom people write can say."""
        answered = self._request is not None and self._request.future.done()
        return not answered and hasattr(self.agent, "partner_absent") and bool(self.agent.partner_absent())

    def hold(self, away: bool) -> None:
        """The person is away from their page, or back: an agent that asks somebody on their behalf is told so."""
        if hasattr(self.agent, "person_away"):
            self.agent.person_away(away)

    def leave(self) -> None:
        """The conversation is over: an agent that waits for somebody else on its behalf is told so."""
        if hasattr(self.agent, "leave"):
            self.agent.leave()
        if self._request is not None:
            self.worker.breaker.withdraw(self._request)

    def _catch_up(self, dialogue: Sequence[Utterance]) -> None:
        with self.worker.observing:
            for utterance in dialogue[self._heard :]:
                self._hear(utterance)
                self._heard += 1

    def _hear(self, utterance: Utterance) -> None:
        self._request = None
        if utterance.speaker == "human":
            self._observe(utterance.text, utterance.extra)
            return
        if hasattr(self.agent, "self_observe"):
            if self.agent.observation is None:  # TorchAgent refuses to hear itself before it heard anything
                self._observe(None, {})
            with isolate_model_code():
                self.agent.self_observe(Message({"id": self.agent.id, "text": utterance.text, "episode_done": False}))
        self._observation = None

    def _observe(self, text: str | None, extra: Mapping[str, Any]) -> None:
        if not self._knows_persona:
            text, self._knows_persona = with_persona(self._persona, text or ""), True
        # A text of None leaves the history as it is, yet has TorchAgent vectorise it.
        message = Message({**extra, "text": text, "episode_done": False})
        with isolate_model_code():
            self._observation = self.agent.observe(message)


def _sentences(persona: Sequence[str]) -> tuple[str, ...]:
    """The sentences, checked: a line break within one would make its rest words of the person."""
    if isinstance(persona, str):
        raise ValueError(f"a persona is a list of sentences, not one text: “{persona}”")
    wrong = [sentence for sentence in persona if len(sentence.splitlines()) != 1 or not sentence.strip()]
    if wrong:
        raise ValueError(f"a sentence of a persona must be one line that is not empty, not {wrong[0]!r}")
    return tuple(persona)
