"""A base for agents that do not compute here: they ask a server, a program or a person, and wait.

The contract with a program or a server that is a model is one JSON object there and one back, of which unknown keys are
ignored: ``{"history": [{"speaker": "human", "text": "Hi!"}], "persona": ["I have two dogs."], "seed": 7}`` → ``{"text":
"Hello!"}``. ``history`` is the whole dialogue, oldest line first, and empty when the model (``bot``) has the first
word. With the option ``images``, lines and answers may have ``"images"``: a list of data URLs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from parlai.core.message import Message
from parlai.core.opt import Opt
from typing_extensions import Unpack

from parlai_humaneval._util.errors import HumanevalError, InvalidValue, Parts, Problem
from parlai_humaneval._util.text import seconds_to_wait
from parlai_humaneval.display.images import IMAGES_FIELD, PICTURE_ALONE, SeenImage, images_in
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.models.agent import dialogue_agent
from parlai_humaneval.models.backends.server_refusals import Mend
from parlai_humaneval.schema.records import ReplyInfo

ABSENT = frozenset({502, 503, 504})
"""Statuses with which a proxy, or a server that starts or ends, says that the one who would answer is not there."""
LONGEST_GUESS_S = 30.0
"""For so long at most these are left alone as they ask, since they guess; a limit of requests is taken at its word."""
TOO_MANY = 429
INFO_FIELD = "reply_info"
ERROR_FIELD = "reply_error"
"""Where a message of a batch carries the exception that there is in place of its reply."""
CONCURRENCY = 16


Hears = Callable[[str], None]
"""Gets all of a reply so far, as often as it grows."""


@dataclass(frozen=True)
class Heard:
    """All that a reply may depend on; ``dialogue`` is empty when the bot is to begin. ``hears``: of agents that stream,
    whoever listens. ``images``: of the lines, by their places from the end (-1: the last), so that they hold for the
    newest lines alone as well."""

    dialogue: tuple[dialogue_agent.Line, ...]
    persona: tuple[str, ...]
    partner_persona: tuple[str, ...]
    seed: int
    hears: Hears | None = None
    images: Mapping[int, tuple[SeenImage, ...]] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, observation: Message, *, sees: bool) -> Heard:
        """What a DialogueAgent answers to; ``sees``: with pictures."""
        return cls(
            dialogue=tuple(observation[dialogue_agent.DIALOGUE_FIELD]),
            persona=tuple(observation.get(dialogue_agent.PERSONA_FIELD, ())),
            partner_persona=tuple(observation.get(dialogue_agent.PARTNER_PERSONA_FIELD, ())),
            seed=int(observation[dialogue_agent.SEED_FIELD]),
            hears=observation.get(dialogue_agent.HEARS_FIELD),
            images=(observation.get(dialogue_agent.SEEN_FIELD) or {}) if sees else {},
        )

    def with_images(self) -> list[tuple[dialogue_agent.Line, tuple[SeenImage, ...]]]:
        """Each line with its pictures."""
        return [(line, self.images.get(place - len(self.dialogue), ())) for place, line in enumerate(self.dialogue)]


GREETING = Heard(dialogue=(("human", "Hi!"),), persona=(), partner_persona=(), seed=0)


@dataclass(frozen=True)
class Said:
    """A reply, and what the other side told of it."""

    text: str
    info: ReplyInfo | None = None
    images: tuple[SeenImage, ...] = ()


@dataclass(frozen=True)
class Absence:
    """The other side is not there now, and may come back; not ``sure``: the question itself may be the reason."""

    sure: bool = True
    retry_after_s: float = 0.0


class OutsideError(HumanevalError, RuntimeError):
    """The other side failed; a log needs no traceback. ``final``: asking again is of no use. ``absence``: a pool holds
    the question until the other side is there. ``mend``: the change of its zoo entry after which it would not fail so.
    """

    def __init__(
        self,
        what: str | BaseException | Problem,
        *,
        final: bool = False,
        absence: Absence | None = None,
        mend: Mend | None = None,
        **parts: Unpack[Parts],
    ) -> None:
        super().__init__(what, **parts)
        self.final = final
        self.absence = absence
        self.mend = mend


def absence_of(status: int, retry_after: str | None) -> Absence | None:
    """What an HTTP answer says of whether its server is there. Too many requests are one only with a time to wait."""
    seconds = seconds_to_wait(retry_after)
    if status in ABSENT:
        return Absence(retry_after_s=min(seconds or 0.0, LONGEST_GUESS_S))
    return Absence(retry_after_s=seconds) if status == TOO_MANY and seconds is not None else None


class OutsideAgent(dialogue_agent.DialogueAgent):
    """A subclass says in :meth:`ask` how to get a reply; ``concurrency`` threads call it at once. ``patience_s``: the
    seconds of all its own tries, which end with a ``final`` error."""

    patience_s: float | None = None
    strips_thinking = True
    """Whether thoughts are removed from the agent's reply; the record has them in any case."""

    OPTIONS = "outside"
    KNOWN: ClassVar[Mapping[str, Mapping[str, Any]]] = {"concurrency": {"default": CONCURRENCY}}

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.concurrency = int(opt.get("concurrency") or CONCURRENCY)
        if self.concurrency < 1:
            raise InvalidValue(f"{self.concurrency} is too low", where="concurrency", try_="choose 1 or more")
        self.takes_images = bool(opt.get(IMAGES_FIELD))  # an option of the agents that can

    def at_once(self, most: int, threads: int | None) -> tuple[int, int]:
        """How many requests a batch of the pool holds, and how many batches are under way (``threads``: as the zoo file
        says)."""
        return 1, threads or self.concurrency

    def ask(self, heard: Heard) -> Said:
        raise NotImplementedError  # abstract: whom to ask is all that differs between these agents

    def shutdown(self) -> None:
        """End what was started and close what was opened, for all clones; called once or more when the pool closes."""

    def _answer(self, observation: Message) -> Message:
        said = self.ask(Heard.of(observation, sees=self.takes_images))
        told: dict[str, Any] = {INFO_FIELD: said.info}
        if self.takes_images and said.images:
            told[IMAGES_FIELD] = said.images
            said = replace(said, text=PICTURE_ALONE) if is_blank(said.text) else said
        if self.strips_thinking:
            return dialogue_agent.spoken(self.id, said.text, **told)
        return Message({"id": self.id, "text": said.text, **told, "episode_done": False})


MAX_BYTES = 1_000_000
"""Longest answer that is read; a reply of 10,000 words has about 60,000."""
ENDING_S = 5.0
"""Seconds that a request which was too late has to be ended and told of, before the next try."""
SHOWN = 120


class BadAnswer(OutsideError):
    """The other side gave no answer, or none that the contract allows; the message says what came instead."""


def to_question(heard: Heard) -> bytes:
    """The question as JSON on one line, in ASCII: no text within it can end the line."""
    history = [
        {"speaker": speaker, "text": text, **({IMAGES_FIELD: [image.url for image in images]} if images else {})}
        for (speaker, text), images in heard.with_images()
    ]
    return json.dumps({"history": history, "persona": list(heard.persona), "seed": heard.seed}).encode("ascii")


def from_answer(answer: bytes) -> Said:
    """What an answer says; :class:`BadAnswer` if it is too long, not a JSON object, or its ``text`` is not a string."""
    if len(answer) > MAX_BYTES:
        raise BadAnswer(f"the answer is longer than {MAX_BYTES:,} bytes")
    try:
        content: Any = json.loads(answer.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the answer is not JSON in UTF-8: {shown(answer)}") from error
    if not isinstance(content, dict) or "text" not in content:
        raise BadAnswer(f'the answer is not a JSON object with a "text": {shown(answer)}')
    if not isinstance(content["text"], str):
        raise BadAnswer(f'"text" of the answer is not a string: {shown(answer)}')
    return Said(content["text"], images=images_in(content.get(IMAGES_FIELD)))


def shown(answer: bytes) -> str:
    return ascii(answer[:SHOWN].decode("utf-8", "replace")) + ("…" if len(answer) > SHOWN else "")


class ContractAgent(OutsideAgent):
    """A subclass says in :meth:`exchange` how a question travels; it is tried with “Hi!” when it is loaded."""

    OPTIONS = "contract"

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.request_timeout_s = float(opt.get("request_timeout_s") or 60.0)
        # One request, or line, at each of the pool's tries; each is to end by itself before the next.
        self.patience_s = self.request_timeout_s + ENDING_S

    def exchange(self, question: bytes) -> bytes:
        raise NotImplementedError  # abstract: how the bytes travel is all that differs

    def ask(self, heard: Heard) -> Said:
        return from_answer(self.exchange(to_question(heard)))
