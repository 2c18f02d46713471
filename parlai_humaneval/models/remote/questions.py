"""What a launch asks of a process that holds a model, and what comes back: data that travels between the two."""

from __future__ import annotations

from dataclasses import dataclass

from parlai_humaneval.models.outside.base import Absence
from parlai_humaneval.models.pool.child import Utterance
from parlai_humaneval.protocol.records.dialogue import ReplyInfo


@dataclass(frozen=True)
class Question:
    """One conversation wants its next line. All that the reply may depend on travels with it, so that any process that
    holds the model can answer.

    ``conversation``: a key under which a process keeps what it has heard, to hear only what is new.
    """

    conversation: str
    seed: int
    dialogue: tuple[Utterance, ...]


@dataclass(frozen=True)
class Answered:
    """The reply to a :class:`Question`, with ``info`` of a server; or the ``error``, with what such errors say."""

    text: str = ""
    info: ReplyInfo | None = None
    error: str | None = None
    final: bool = False
    absence: Absence | None = None


class HostGone(RuntimeError):
    """The process that was asked is no more. The message says why, as far as that is known."""
