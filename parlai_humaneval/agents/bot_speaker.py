"""The Bot Speaker: one partner to the person, several models behind it.

The models share one history (Ma et al. 2023, §3.2): whatever continues the dialogue, each model hears it as its own
words. With independent histories (their ablation, and side-by-side comparison) each hears its own replies only.
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
from parlai_humaneval.models.asking import Answer, ModelFailed, ask_all
from parlai_humaneval.models.child import WITHHELD, Utterance
from parlai_humaneval.models.pool import History, ModelPool, Order
from parlai_humaneval.models.zoo import ZooError, load_zoo, resolve, zoo_dir
from parlai_humaneval.protocol.records import Candidate
from parlai_humaneval.quality.identity import mask_identity


class UnknownCandidate(KeyError):
    """``accept`` was given an id that is not among the candidates of this turn."""

    def __str__(self) -> str:
        return str(self.args[0])


def standing_for(candidates: Sequence[Candidate], candidate_id: str) -> list[str]:
    """Ids of all candidates that one shown card stands for: its own, and those whose texts are the same."""
    return [c.candidate_id for c in candidates if candidate_id in (c.candidate_id, c.same_as)]


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
            "--history",
            type=str,
            choices=["shared", "independent"],
            default="shared",
            help="Whether a model hears what continued as its own words, or its own replies only",
        )
        group.add_argument(
            "--order",
            type=str,
            choices=["balanced", "fixed"],
            default="balanced",
            help="Whether the replies change places from turn to turn",
        )
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
        else:
            self._models, self._pool = shared["models"], shared["pool"]
        self._personas: Mapping[str, Sequence[str]] = (shared or {}).get("personas", {})
        self._seed = int(opt.get("seed") or 0)
        self._independent = opt.get("history", "shared") == "independent"
        self._fixed_order = opt.get("order", "balanced") == "fixed"
        self.reset()

    @classmethod
    def in_pool(
        cls,
        pool: ModelPool,
        models: Sequence[str],
        *,
        seed: int,
        history: History = "shared",
        order: Order = "balanced",
        personas: Mapping[str, Sequence[str]] | None = None,
    ) -> BotSpeakerAgent:
        """A Bot Speaker for one conversation with ``models`` of a loaded pool; see :meth:`ModelPool.speaker`."""
        if not models:
            raise ZooError("a Bot Speaker needs at least one model")
        opt = Opt(
            {
                "model": "parlai_humaneval/bot_speaker",
                "models": ",".join(models),
                "seed": seed,
                "history": history,
                "order": order,
            }
        )
        return cls(opt, {"models": list(models), "pool": pool, "personas": dict(personas or {})})

    def share(self) -> dict[str, Any]:
        """The pool; a clone's histories are its own."""
        return {**super().share(), "models": self._models, "pool": self._pool, "personas": self._personas}

    @property
    def dialogue(self) -> list[Line]:
        """What was said, as ``(speaker, text)``, speaker ``"human"`` or ``"bot"``; of replies, those that were accepted."""
        return [(utterance.speaker, utterance.text) for utterance in self._dialogue]

    def dialogue_of(self, model: str) -> list[Line]:
        """What this model has heard and said; with a shared history that is :attr:`dialogue`."""
        heard = self._heard[self._models.index(model)]
        return [(utterance.speaker, utterance.text) for utterance in heard]

    def reset(self) -> None:
        """Begin a new dialogue: nothing has been said."""
        super().reset()
        self._dialogue: list[Utterance] = []
        self._heard: list[list[Utterance]] = [[] if self._independent else self._dialogue for _ in self._models]
        self._pending: Message | None = None
        self._own_replies: list[str] = []
        self._turn = 0
        self._ending = False
        self._order = ShownOrder(len(self._models), self._seed)
        self._children = self._pool.children(self._models, self._seed, self._personas)

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
            ``text_candidates`` (the texts in shown order, equal ones once) and ``candidates`` (dicts of
            ``protocol.records.Candidate``, one a model, in shown order; a model that gave only blank replies stands
            last, as failed). It holds plain values only. Called again before ``accept`` or ``observe``, it gives the
            same message.

        Args:
            on_delay: gets a sentence for the person whenever a model is late or failed and is asked again.

        Raises:
            ModelFailed: when a model was silent or broke after all retries, or when blank replies leave fewer than
                two to compare (of several). What was said is kept, and ``act`` may be called again.
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
            self._heard,
            timeout_s=self._pool.timeout_s,
            retries=self._pool.retries,
            on_delay=on_delay,
        )
        self._must_suffice(answers)
        self._pending = self._message(answers)
        self._own_replies = self._replies_of(self._pending)
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
        own = self._own_replies if candidate_id is not None and self._independent else [line] * len(self._models)
        self._pending = None
        self._go_on(own, accepted=line)
        return line

    def accept_all(self) -> None:
        """Every model goes on with its own reply, and none is chosen. Only with independent histories.

        Raises:
            ValueError: with a shared history, or when no reply is pending.
        """
        if not self._independent or self._pending is None:
            raise ValueError("accept_all() needs independent histories, and replies that wait to be accepted")
        self._pending = None
        self._go_on(self._own_replies, accepted=None)

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
        """A line that everybody hears."""
        self._dialogue.append(utterance)
        if self._independent:
            for heard in self._heard:
                heard.append(utterance)
        self._let_hear()

    def _go_on(self, own: Sequence[str], accepted: str | None) -> None:
        """``own``: what each model takes itself to have said (blank: nothing); ``accepted``: what the person saw."""
        if accepted is not None:
            self._dialogue.append(Utterance("bot", accepted))
        if self._independent:
            for heard, text in zip(self._heard, own, strict=True):
                if text:
                    heard.append(Utterance("bot", text))
        self._let_hear()

    def _let_hear(self) -> None:
        for child, heard in zip(self._children, self._heard, strict=True):
            child.hear(heard)

    def _candidate_text(self, candidate_id: str) -> str:
        candidates = self._pending["candidates"] if self._pending is not None else []
        for candidate in candidates:
            if candidate["candidate_id"] == candidate_id:
                return str(candidate["text"])
        raise UnknownCandidate(f"no candidate of this turn has the id “{candidate_id}”")

    def _must_suffice(self, answers: Sequence[Answer]) -> None:
        """Blank replies may be left out as long as there is something to compare."""
        silent = [model for model, answer in zip(self._models, answers, strict=True) if answer.failed]
        if len(answers) - len(silent) < min(2, len(answers)):
            raise ModelFailed(silent, "no text in any of its replies")

    def _message(self, answers: Sequence[Answer]) -> Message:
        order = self._order.of_turn(0 if self._fixed_order else self._turn)
        spoke = [index for index in order if not answers[index].failed]
        blank = [index for index in order if answers[index].failed]
        candidates: list[Candidate] = []
        shown: dict[str, Candidate] = {}
        for index in spoke:
            candidate = self._candidate(self._models[index], answers[index], len(shown) + 1)
            # Equal texts are one card; side by side each partner has its own.
            key = candidate.candidate_id if self._independent else " ".join(candidate.text.split())
            first = shown.setdefault(key, candidate)
            if first is not candidate:
                candidate.same_as, candidate.position = first.candidate_id, first.position
            candidates.append(candidate)
        candidates += [self._candidate(self._models[index], answers[index], 0) for index in blank]
        texts = [candidate.text for candidate in shown.values()]
        return Message(
            {
                "id": self.id,
                "text": texts[0],
                "text_candidates": texts,
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
            failed=answer.failed,
        )

    def _replies_of(self, message: Message) -> list[str]:
        """Each model's own reply, in the order of the models; a name that stands twice takes them in turn."""
        texts: dict[str, list[str]] = {}
        for candidate in message["candidates"]:
            texts.setdefault(candidate["model"], []).append(candidate["text"])
        return [texts[model].pop(0) for model in self._models]


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
