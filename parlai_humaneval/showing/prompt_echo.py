"""Parts of a model's own instructions that it repeats: “You are a helpful assistant that …” in a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

ECHO_WORDS = 8
"""So many words in a row that stand in the instructions as well are no chance: an echo."""
SHORTEST_PROMPT = 5
"""Instructions of fewer words are never looked for; those of fewer than :data:`ECHO_WORDS` only as a whole."""

_WORD = re.compile(r"[\w'’]+")


def prompt_echoes(text: str, prompts: Sequence[str]) -> list[tuple[int, int]]:
    """Places (start, end) of ``text`` that repeat :data:`ECHO_WORDS` or more words of one of ``prompts`` in a row.

    Case and punctuation do not matter. The places do not overlap, and come in order.
    """
    grams = _grams(tuple(prompts))
    if not grams:
        return []
    words = [(match.group().casefold(), match.start(), match.end()) for match in _WORD.finditer(text)]
    places: list[tuple[int, int]] = []
    for length, known in grams.items():
        for first in range(len(words) - length + 1):
            if tuple(word for word, _, _ in words[first : first + length]) in known:
                places.append((words[first][1], words[first + length - 1][2]))
    return _joined(sorted(places))


@lru_cache(maxsize=64)
def _grams(prompts: tuple[str, ...]) -> dict[int, frozenset[tuple[str, ...]]]:
    """Length in words → all runs of that length."""
    found: dict[int, set[tuple[str, ...]]] = {}
    for prompt in prompts:
        words = [word.casefold() for word in _WORD.findall(prompt)]
        if len(words) < SHORTEST_PROMPT:
            continue
        length = min(ECHO_WORDS, len(words))
        runs = (tuple(words[first : first + length]) for first in range(len(words) - length + 1))
        found.setdefault(length, set()).update(runs)
    return {length: frozenset(runs) for length, runs in found.items()}


def _joined(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in places:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
