"""The sentences of a text in which certain words stand: patterns are tried in those only, which makes them fast."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

_TOKEN = re.compile(r"a\.i\.|[^\W\d_]+")
_BREAK = re.compile(r"(?<=[.!?])\s+|\n\s*\n")

Window = tuple[int, int]
"""Start and end in the text."""
Triggers = tuple[frozenset[str], ...]
"""A sentence is looked at if it holds a word of each of these sets. No sets: always."""


class Sentences:
    """The sentences of ``text``, roughly, with the words of each.

    Words are casefolded runs of letters, and “a.i.”: “GPT-4 is” holds “gpt” and “is”.
    """

    def __init__(self, text: str) -> None:
        starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        self._places = list(zip(starts, [*starts[1:], len(text)], strict=True))
        self._words: list[Set[str]] = [set(_TOKEN.findall(text[start:end].casefold())) for start, end in self._places]
        self._all = frozenset().union(*self._words)

    def hold_any(self, words: frozenset[str]) -> bool:
        """Whether any of ``words`` stands anywhere in the text."""
        return not self._all.isdisjoint(words)

    def with_words(self, triggers: Triggers) -> Iterator[Window]:
        """The sentences that hold a word of each of ``triggers``, in order; each from the last character before it on,
        by which patterns see that a sentence begins."""
        if any(self._all.isdisjoint(some) for some in triggers):
            return
        for (start, end), words in zip(self._places, self._words, strict=True):
            if all(not words.isdisjoint(some) for some in triggers):
                yield max(0, start - 2), end


def spans_of(
    pattern: re.Pattern[str], group: str, text: str, sentences: Sentences, triggers: Triggers
) -> Sequence[Window]:
    """Where ``group`` of ``pattern`` stands in the sentences that hold the ``triggers``."""
    places = sentences.with_words(triggers)
    return [match.span(group) for place in places for match in pattern.finditer(text, *place)]
