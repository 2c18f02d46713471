"""A base for agents that do not compute here: they ask a server, a program or a person, and wait."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from typing_extensions import Unpack

from parlai_humaneval._util.errors import HumanevalError, Parts
from parlai_humaneval.models.agent.dialogue_agent import (
    DIALOGUE_FIELD,
    PARTNER_PERSONA_FIELD,
    PERSONA_FIELD,
    SEED_FIELD,
    DialogueAgent,
    Line,
    spoken,
)
from parlai_humaneval.models.backends.server_refusals import Mend
from parlai_humaneval.schema.records import ReplyInfo

ABSENT = frozenset({502, 503, 504})
"""Statuses with which a proxy, or a server that starts or ends, says that the one who would answer is not there."""
LONGEST_GUESS_S = 30.0
"""For so long at most these are left alone as they ask, since they guess; a limit of requests is taken at its word."""
TOO_MANY = 429
INFO_FIELD = "reply_info"
"""Where a message carries its :class:`~parlai_humaneval.schema.records.ReplyInfo`."""
ERROR_FIELD = "reply_error"
"""Where a message of a batch carries the exception that there is in place of its reply."""
CONCURRENCY = 16


@dataclass(frozen=True)
class Heard:
    """All that a reply may depend on: what was said so far, who the speakers play, and the conversation's seed.

    ``dialogue`` is empty when the bot is to begin.
    """

    dialogue: tuple[Line, ...]
    persona: tuple[str, ...]
    partner_persona: tuple[str, ...]
    seed: int


GREETING = Heard(dialogue=(("human", "Hi!"),), persona=(), partner_persona=(), seed=0)
"""What one says to find out whether somebody answers."""


@dataclass(frozen=True)
class Said:
    """A reply, and what the other side told of it."""

    text: str
    info: ReplyInfo | None = None


@dataclass(frozen=True)
class Absence:
    """The other side is not there now, and may come back: no fault of what it was asked.

    ``sure``: False where that is the likeliest reason, and the question itself may be another (it was cut off in the
    middle, or was not answered in time). ``retry_after_s``: how long it asks to be left alone.
    """

    sure: bool = True
    retry_after_s: float = 0.0


class OutsideError(HumanevalError, RuntimeError):
    """The other side failed. The message says all that there is to say, and a log needs no traceback.

    ``final``: it is not asked again for this reply: it would fail however often (a wrong key, an unknown model), or was
    tried often enough. ``absence``: it is not there now; a pool that waits for models (``outage_s``) holds the question
    until it is, and lets nobody fail meanwhile. ``mend``: the change of its zoo entry after which it would not fail so.
    """

    def __init__(
        self,
        what: str | BaseException,
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
    """What an HTTP answer says of whether its server is there; None: it is, and something else is wrong.

    Too many requests are no reason to wait unless the server says for how long: the limit may be one that stays.
    """
    seconds = _seconds_in(retry_after)
    if status in ABSENT:
        return Absence(retry_after_s=min(seconds or 0.0, LONGEST_GUESS_S))
    return Absence(retry_after_s=seconds) if status == TOO_MANY and seconds is not None else None


def _seconds_in(retry_after: str | None) -> float | None:
    """Of a header Retry-After, which holds seconds or a date; None where it holds neither."""
    if not retry_after:
        return None
    with suppress(ValueError):
        return max(0.0, float(retry_after))
    with suppress(ValueError):
        date = parsedate_to_datetime(retry_after)
        return max(0.0, date.timestamp() - time.time())
    return None


class OutsideAgent(DialogueAgent):
    """A subclass says in :meth:`ask` how to get a reply; it may block, and is called by several threads at once.

    ``concurrency``: how many requests may be under way. Each is on its own: nothing is batched. The pool's time-out and
    retries stand behind it, so that :meth:`ask` need only see to its own resources: it should end, with an error, when
    the other side is gone, and must not hang for ever. One that tries several times itself says so by ``patience_s``,
    and by a ``final`` error at the end: tries of the pool on top of its own would multiply them.

    ``patience_s``: seconds that one :meth:`ask` may take, all its own tries included; the pool does not ask again before
    that, unless the zoo file's ``running`` says otherwise. None: as the pool says.
    """

    patience_s: float | None = None
    strips_thinking = True
    """Whether the thoughts in a reply are no part of what the agent says; the record has them in any case."""

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Arguments of agents that ask elsewhere")
        group.add_argument(
            "--concurrency", type=int, default=CONCURRENCY, help="Most requests under way at once, of all conversations"
        )
        group.add_argument("--seed", type=int, default=0, help="Of the requests, where the other side takes one")
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.concurrency = int(opt.get("concurrency") or CONCURRENCY)
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {self.concurrency}")

    def ask(self, heard: Heard) -> Said:
        """The next line of the bot. What it raises is written down, and the question asked again."""
        raise NotImplementedError  # abstract: whom to ask is all that differs between these agents

    def shutdown(self) -> None:
        """End what was started and close what was opened, for all clones; called once or more when the pool closes."""

    def _answer(self, observation: Message) -> Message:
        said = self.ask(
            Heard(
                dialogue=tuple(observation[DIALOGUE_FIELD]),
                persona=tuple(observation.get(PERSONA_FIELD, ())),
                partner_persona=tuple(observation.get(PARTNER_PERSONA_FIELD, ())),
                seed=int(observation[SEED_FIELD]),
            )
        )
        if self.strips_thinking:
            return spoken(self.id, said.text, **{INFO_FIELD: said.info})
        return Message({"id": self.id, "text": said.text, INFO_FIELD: said.info, "episode_done": False})
