"""The Bot Speaker: one partner to the person, several models behind it.

The models share one history (H. Ma et al., FFAEval, 2023): whatever continues the dialogue, each
model hears it as its own words.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parlai.core.agents import Agent
from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.agents.dialogue_agent import Line
from parlai_humaneval.agents.ordering import ShownOrder
from parlai_humaneval.models.asking import Answer, ask_all
from parlai_humaneval.models.child import WITHHELD, Utterance
from parlai_humaneval.models.pool import ModelPool
from parlai_humaneval.models.zoo import ZooError, load_zoo, resolve, zoo_dir
from parlai_humaneval.protocol.records import Candidate
from parlai_humaneval.quality.identity import mask_identity


class UnknownCandidate(KeyError):
    """``accept`` was given an id that is not among the candidates of this turn."""

    def __str__(self) -> str:
        return str(self.args[0])


class NothingToAnswer(RuntimeError):
    """``act`` was called before anything was said."""


@register_agent("parlai_humaneval/bot_speaker")
class BotSpeakerAgent(Agent):
    """One partner to the person and several models behind it.

    ``observe(message)`` → ``act()`` → ``accept(…)``, again and again. An ``observe()`` without ``accept()``
    accepts the message's ``text``, so that ParlAI's own worlds can use the agent unchanged.
    Clones share the models' weights and nothing else. Not for use by two threads at once.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        """``--models`` is needed; the models' own options come from the zoo files."""
        group = parser.add_argument_group("Bot Speaker arguments")
        group.add_argument(
            "--models",
            type=str,
            default=None,
            help="Names from the zoo, comma separated, e.g. eliza,retrieval",
        )
        group.add_argument(
            "--zoo",
            type=str,
            default=None,
            help="Zoo files of your own besides those packaged, comma separated",
        )
        group.add_argument("--seed", type=int, default=0, help="Decides the order in which replies are shown")
        group.add_argument(
            "--model-timeout", type=float, default=60.0, help="Seconds after which a model is asked again"
        )
        group.add_argument(
            "--model-retries", type=int, default=2, help="How often a late or failing model is asked again"
        )
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.id = "BotSpeaker"
        self._owner = shared is None
        if shared is None:
            self._models, self._pool = _pool_of(opt)
            self._seed = int(opt.get("seed") or 0)
        else:
            self._models, self._pool, self._seed = shared["models"], shared["pool"], shared["seed"]
        self.reset()

    @classmethod
    def in_pool(cls, pool: ModelPool, models: Sequence[str], *, seed: int) -> BotSpeakerAgent:
        """A Bot Speaker for one conversation with ``models`` of a loaded pool."""
        if not models:
            raise ZooError("a Bot Speaker needs at least one model")
        opt = Opt({"model": "parlai_humaneval/bot_speaker", "models": ",".join(models), "seed": seed})
        return cls(opt, {"models": list(models), "pool": pool, "seed": seed})

    def share(self) -> dict[str, Any]:
        """The pool; a clone's histories are its own."""
        return {**super().share(), "models": self._models, "pool": self._pool, "seed": self._seed}

    @property
    def dialogue(self) -> list[Line]:
        """What was said, as ``(speaker, text)`` with speaker ``"human"`` or ``"bot"``."""
        return [(utterance.speaker, utterance.text) for utterance in self._dialogue]

    def reset(self) -> None:
        """Begin a new dialogue: nothing has been said."""
        super().reset()
        self._dialogue: list[Utterance] = []
        self._pending: Message | None = None
        self._turn = 0
        self._ending = False
        self._order = ShownOrder(len(self._models), self._seed)
        self._children = self._pool.children(self._models, self._seed)

    def observe(self, observation: Mapping[str, Any]) -> Message:
        """Hear the person's message; all models hear it.

        A reply that is still pending is accepted first. ``episode_done`` ends the dialogue
        once it has been answered; without a text it ends it at once.
        """
        self._accept_pending()
        message = Message(observation)
        text = message.get("text")
        if self._ending:
            self.reset()
        self._ending = bool(message.get("episode_done"))
        if text:
            extra = {key: value for key, value in message.items() if key not in WITHHELD and value is not None}
            self._say(Utterance("human", str(text), extra))
        self.observation = message
        return message

    def act(self, on_delay: Callable[[str], None] | None = None) -> Message:
        """Ask all models at once for the next line.

        Returns:
            A message with ``text`` (the reply that continues by default: the first shown),
            ``text_candidates`` (all texts in shown order) and ``candidates`` (dicts of
            ``protocol.records.Candidate``, in shown order). It holds plain values only. Called again
            before ``accept`` or ``observe``, it gives the same message.

        Args:
            on_delay: gets a sentence for the person whenever a model is late or failed and is asked again.

        Raises:
            ModelFailed: when a model gave no reply after all retries. What was said is kept, and ``act``
                may be called again.
            NothingToAnswer: when nothing has been said yet.
        """
        if self._pending is not None:
            return self._pending
        if self._ending and not (self.observation or {}).get("text"):
            self.reset()
            return Message({"id": self.id, "episode_done": True})
        if not self._dialogue:
            raise NothingToAnswer("nothing has been said yet: give the Bot Speaker a message with observe() first")
        answers = ask_all(
            self._children,
            self._dialogue,
            timeout_s=self._pool.timeout_s,
            retries=self._pool.retries,
            on_delay=on_delay,
        )
        self._pending = self._message(answers)
        self._turn += 1
        return self._pending

    def accept(self, candidate_id: str | None = None, *, text: str | None = None) -> str:
        """Say what continues the dialogue, a candidate or a written text.

        Every model hears it as its own words.

        A written text needs no preceding ``act``: it is then an opening that the Bot Speaker is given.

        Returns:
            The line that was added to the dialogue.

        Raises:
            UnknownCandidate: when ``candidate_id`` is none of this turn's.
            ValueError: unless exactly one of the two is given, or when the text is blank.
        """
        if (candidate_id is None) == (text is None):
            raise ValueError("accept() takes either a candidate_id or a text")
        line = self._candidate_text(candidate_id) if candidate_id is not None else str(text)
        if not line.strip():
            raise ValueError("a text that continues the dialogue cannot be blank")
        self._pending = None
        self._say(Utterance("bot", line))
        return line

    def self_observe(self, message: Mapping[str, Any]) -> None:
        """ParlAI's way to say what continues: its worlds call it for openers and after a batch."""
        self.accept(text=str(message["text"]))

    def shutdown(self) -> None:
        """End the model threads, if this agent started them."""
        super().shutdown()
        if self._owner:
            self._pool.close()

    def _accept_pending(self) -> None:
        if self._pending is not None:
            self.accept(text=self._pending["text"])

    def _say(self, utterance: Utterance) -> None:
        self._dialogue.append(utterance)
        for child in self._children:
            child.hear(self._dialogue)

    def _candidate_text(self, candidate_id: str) -> str:
        candidates = self._pending["candidates"] if self._pending is not None else []
        for candidate in candidates:
            if candidate["candidate_id"] == candidate_id:
                return str(candidate["text"])
        raise UnknownCandidate(f"no candidate of this turn has the id “{candidate_id}”")

    def _message(self, answers: Sequence[Answer]) -> Message:
        candidates = [
            self._candidate(self._models[index], answers[index], position)
            for position, index in enumerate(self._order.of_turn(self._turn), start=1)
        ]
        return Message(
            {
                "id": self.id,
                "text": candidates[0].text,
                "text_candidates": [candidate.text for candidate in candidates],
                "candidates": [candidate.model_dump() for candidate in candidates],
                "episode_done": False,
            }
        )

    def _candidate(self, model: str, answer: Answer, position: int) -> Candidate:
        text, masks = mask_identity(answer.text, list(self._pool.specs))
        return Candidate(
            candidate_id=secrets.token_hex(8),
            model=model,
            text=text,
            position=position,
            latency_s=round(answer.latency_s, 4),
            raw_text=answer.text if masks else None,
            masks=masks,
        )


def _pool_of(opt: Opt) -> tuple[list[str], ModelPool]:
    """The pool that ``--models`` and ``--zoo`` describe, loaded."""
    names = [name.strip() for name in (opt.get("models") or "").split(",") if name.strip()]
    zoo = load_zoo(_zoo_files(opt.get("zoo")))
    if not names:
        raise ZooError(f"say which models speak, for example --models eliza,retrieval; there are {', '.join(zoo)}")
    pool = ModelPool(
        resolve(list(dict.fromkeys(names)), zoo),
        timeout_s=float(opt.get("model_timeout") or 60.0),
        retries=int(opt.get("model_retries", 2)),
        seed=int(opt.get("seed") or 0),
    )
    return names, pool.load()


def _zoo_files(option: str | None) -> list[Path] | None:
    if not option:
        return None
    return [
        *sorted(zoo_dir().glob("*.yaml")),
        *(Path(part.strip()).expanduser() for part in option.split(",")),
    ]
