"""What stands in for a model that is loaded in other processes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from parlai.core.message import Message
from parlai.core.opt import Opt

from parlai_humaneval.models.outside.base import ERROR_FIELD, INFO_FIELD, Heard, OutsideAgent, OutsideError, Said
from parlai_humaneval.models.pool.child import Utterance
from parlai_humaneval.models.remote.hosts import Hosts
from parlai_humaneval.models.remote.questions import Answered, Question

QUESTION_FIELD = "question"


class RemoteAgent(OutsideAgent):
    """Writes down what it hears, for a copy of the model elsewhere to hear, and hands on what that says.

    Args:
        opt: what the launch has to know of the model's options.
        shared: the hosts, and the model's name there.
    """

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        assert shared is not None, "a remote agent is made by remote_agent, or cloned"
        self.hosts: Hosts = shared["hosts"]
        self.model: str = shared["model"]
        self._key = uuid.uuid4().hex
        self._heard: list[Utterance] = []

    def share(self) -> dict[str, Any]:
        """The hosts; each clone is a conversation of its own."""
        return {**super().share(), "hosts": self.hosts, "model": self.model}

    def observe(self, observation: Message) -> Message:
        """Hear the partner; a text of None leaves the dialogue as it is."""
        text = observation.get("text")
        if text is not None:
            extra = {name: value for name, value in observation.items() if name not in ("text", "episode_done")}
            self._heard.append(Utterance("human", str(text), extra))
        question = Question(self._key, self.dialogue_seed, tuple(self._heard))
        self.observation = Message({QUESTION_FIELD: question})
        return self.observation

    def self_observe(self, message: Message) -> None:
        """Hear what was said in this agent's name."""
        self._heard.append(Utterance("bot", str(message["text"])))

    def reset(self) -> None:
        """Forget the dialogue; what comes is another one to the hosts."""
        super().reset()
        self._key, self._heard = uuid.uuid4().hex, []

    def batch_act(self, observations: Sequence[Message]) -> list[Message]:
        """One reply for each observation, of whichever clones, from one of the hosts."""
        answers = self.hosts.ask(self.model, [observation[QUESTION_FIELD] for observation in observations])
        return [self._message(answer) for answer in answers]

    def ask(self, heard: Heard) -> Said:
        """The reply to a dialogue that is told at once: whether somebody answers."""
        lines = tuple(Utterance(speaker, text) for speaker, text in heard.dialogue)
        answer = self.hosts.ask(self.model, [Question(uuid.uuid4().hex, heard.seed, lines)])[0]
        if error := _error(answer):
            raise error
        return Said(answer.text, answer.info)

    def shutdown(self) -> None:
        """End the hosts."""
        self.hosts.close()

    def _message(self, answer: Answered) -> Message:
        said = {"id": self.id, "text": answer.text, INFO_FIELD: answer.info, "episode_done": False}
        return Message({**said, ERROR_FIELD: _error(answer)})


def _error(answer: Answered) -> OutsideError | None:
    return None if answer.error is None else OutsideError(answer.error, final=answer.final, absence=answer.absence)


def remote_agent(model: str, hosts: Hosts, options: Mapping[str, Any]) -> RemoteAgent:
    """The agent for a model that ``hosts`` have loaded; ``options``: what they told of it."""
    return RemoteAgent(Opt(options), {"hosts": hosts, "model": model})
