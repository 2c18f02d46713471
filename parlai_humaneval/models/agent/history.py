"""Which part of a long dialogue a model reads: its newest turns, whole. System text and personas always stay.

The option ``history_limit`` says how much that is at most; local models and servers choose what is left out here.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.models.agent.dialogue_agent import Line

OPTION = "history_limit"
HELP = "Longest history that the model reads, such as “20 turns” or “4000 tokens”; by default as much as it can"
LETTERS_PER_TOKEN = 4
"""For servers, whose tokenizers are not known here: about so many bytes of UTF-8 text make a token."""
_WRITTEN = re.compile(r"\s*(\d{1,9})\s*(turn|token)s?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class HistoryLimit:
    """``turns``: the newest that a model reads. ``tokens``: most that it reads, system text and personas included.

    A turn is what the person said and the reply to it; what the model is to answer now is the newest.
    """

    turns: int | None = None
    tokens: int | None = None


def history_limit(given: Any) -> HistoryLimit:
    """The option as it is written in a zoo file; no limits where it is not given.

    Raises:
        ValueError: for anything but a number of turns or of tokens, at least 1.
    """
    if given in (None, ""):
        return HistoryLimit()
    written = _WRITTEN.fullmatch(str(given))
    if written is None or int(written[1]) < 1:
        raise ValueError(
            f"{OPTION} must be a number of turns or of tokens, such as “20 turns” or “4000 tokens”, not “{given}”"
        )
    return HistoryLimit(**{f"{written[2].lower()}s": int(written[1])})


def written_history_limit(given: str) -> str:
    """The option as a command line takes it, as it was given.

    Raises:
        argparse.ArgumentTypeError: it is no limit.
    """
    try:
        history_limit(given)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return given


def estimated_tokens(text: str) -> int:
    """About as many tokens as a server's model makes of ``text``."""
    return -(-len(text.encode("utf-8", "replace")) // LETTERS_PER_TOKEN)


def count_turns(dialogue: Sequence[Line]) -> int:
    """How many turns a dialogue has, the newest included."""
    return len(_begins(dialogue))


def _begins(dialogue: Sequence[Line]) -> list[int]:
    return [
        place
        for place, (speaker, _) in enumerate(dialogue)
        if place == 0 or (speaker == "human" and dialogue[place - 1][0] == "bot")
    ]


def newest_turns(
    dialogue: Sequence[Line], fits: Callable[[Sequence[Line]], bool], most: int | None = None
) -> tuple[Sequence[Line], int]:
    """The longest end of a dialogue that fits, and how many turns are left out before it.

    It begins with a turn, so that the person still speaks first. Only where the newest turn alone is too long does it
    begin within that turn; the last line always stays.

    Args:
        dialogue: oldest line first.
        fits: whether an end of the dialogue can be read; where one can, so can all shorter ones.
        most: turns that may stay, whether or not more would fit.
    """
    begins = _begins(dialogue)
    if not begins:
        return dialogue, 0
    ends = [*reversed(range(begins[-1] + 1, len(dialogue))), *reversed(begins if most is None else begins[-most:])]
    fitting = len(ends) if fits(dialogue[ends[-1] :]) else 0
    fitting = fitting or bisect_right(range(len(ends)), False, key=lambda place: not fits(dialogue[ends[place] :]))
    start = ends[max(fitting, 1) - 1]
    return dialogue[start:], sum(begin < start for begin in begins[:-1])
