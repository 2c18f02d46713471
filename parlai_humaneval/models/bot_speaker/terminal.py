"""The person at this terminal (``parlai interactive``) chooses between the replies that the models gave."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from parlai.utils.strings import colorize

from parlai_humaneval.dialogues.formats import LOCAL_HUMANS
from parlai_humaneval.schema.records import Candidate

QUESTION = "Which reply goes on? A number from 1 to {most}; Enter takes the first:"
AGAIN = "Please type a number from 1 to {most}, or press Enter for the first reply."


def at_terminal(message: Mapping[str, Any] | None) -> bool:
    """Whether somebody sits here who said this: ParlAI's agent for people asked them, and nothing is piped in."""
    return (message or {}).get("id") in LOCAL_HUMANS and sys.stdin is not None and sys.stdin.isatty()


def choose(cards: Sequence[Candidate], *, names: bool) -> Candidate:
    """Show the replies, numbered, and have one chosen; ``names``: with the models'. The end of input takes the first."""
    for number, card in enumerate(cards, start=1):
        lead = f"[{number}] {card.model}: " if names else f"[{number}] "
        print(colorize(lead, "id") + card.text.replace("\n", "\n" + " " * len(lead)))
    while True:
        try:
            typed = input(colorize(QUESTION.format(most=len(cards)), "text") + " ").strip()
        except EOFError:
            typed = ""
        if not typed:
            return cards[0]
        if typed.isdecimal() and 1 <= int(typed) <= len(cards):
            return cards[int(typed) - 1]
        print(AGAIN.format(most=len(cards)))
