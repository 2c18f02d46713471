"""A model as a function: it takes the whole dialogue and returns the next reply."""

from __future__ import annotations

import random

from parlai_humaneval import Turn

ANSWERS = ("Really? Why?", "I see. And then?", "That sounds good to me!", "I would not have thought so.")


def reply(history: list[Turn], *, persona: list[str], seed: int) -> str:
    """``persona`` and ``seed`` may be left out. An ``async def`` works as well."""
    if not history:
        return "Hello! What did you do today?"
    chance = random.Random(f"{seed} {len(history)}")
    said_before = {turn.text for turn in history if turn.speaker == "bot"}
    return chance.choice([*persona, *(answer for answer in ANSWERS if answer not in said_before)] or ["Hm."])
