"""The contract with a program or a server that is a model: one JSON object there, one back.

The question, and the answer::

    {"history": [{"speaker": "human", "text": "Hi!"}],
     "persona": ["I have two dogs."],
     "seed": 7}
    {"text": "Hello!"}

``history`` is the whole dialogue so far, oldest line first; ``speaker`` is ``human`` or ``bot``, and ``bot`` is the model.
It is empty when the model has the first word. ``persona`` holds the sentences that the model is to play, mostly none.
``seed`` is the conversation's: the same history under the same seed should get the same answer. More keys may come one
day, so that unknown ones are to be ignored; unknown keys of the answer are ignored, too.
"""

from __future__ import annotations

import json
from typing import Any

from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.backends.base import Heard, OutsideAgent, OutsideError, Said

MAX_BYTES = 1_000_000
"""Longest answer that is read; a reply of 10,000 words has about 60,000."""
ENDING_S = 5.0
"""Seconds that a request which was too late has to be ended and told of, before the next try."""
SHOWN = 120
"""Characters of a bad answer that an error shows."""


class BadAnswer(OutsideError):
    """The other side gave no answer, or none that the contract allows; the message says what came instead."""


def to_question(heard: Heard) -> bytes:
    """The question as JSON on one line, in ASCII: no text within it can end the line."""
    history = [{"speaker": speaker, "text": text} for speaker, text in heard.dialogue]
    return json.dumps({"history": history, "persona": list(heard.persona), "seed": heard.seed}).encode("ascii")


def from_answer(answer: bytes) -> str:
    """The text of an answer.

    Raises:
        BadAnswer: when it is longer than :data:`MAX_BYTES`, no JSON object in UTF-8, or its ``text`` is no text.
    """
    if len(answer) > MAX_BYTES:
        raise BadAnswer(f"the answer is longer than {MAX_BYTES:,} bytes")
    try:
        content: Any = json.loads(answer.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the answer is not JSON in UTF-8: {shown(answer)}") from error
    if not isinstance(content, dict) or "text" not in content:
        raise BadAnswer(f'the answer is no JSON object with a "text": {shown(answer)}')
    if not isinstance(content["text"], str):
        raise BadAnswer(f'"text" of the answer is not a string: {shown(answer)}')
    return content["text"]


def shown(answer: bytes) -> str:
    """The beginning of what came, fit for a line of a log."""
    return ascii(answer[:SHOWN].decode("utf-8", "replace")) + ("…" if len(answer) > SHOWN else "")


class ContractAgent(OutsideAgent):
    """A subclass says in :meth:`exchange` how a question travels.

    It is asked for an answer to “Hi!” when it is loaded: what does not work is found before any person waits for it.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Arguments of agents behind the JSON contract")
        group.add_argument(
            "--request-timeout-s", type=float, default=60.0, help="Longest wait for an answer, in seconds"
        )
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.request_timeout_s = float(opt.get("request_timeout_s") or 60.0)
        # One request, or line, at each of the pool's tries; each is to end by itself before the next.
        self.patience_s = self.request_timeout_s + ENDING_S

    def exchange(self, question: bytes) -> bytes:
        """The answer to a question, both JSON; :class:`BadAnswer` when there is none."""
        raise NotImplementedError  # abstract: how the bytes travel is all that differs

    def ask(self, heard: Heard) -> Said:
        return Said(from_answer(self.exchange(to_question(heard))))
