"""The common clock of replies that appear word by word: however fast their models are, all grow alike.

Pure: no thread, no sleep, no model. It is told what may be shown of each reply, and says at any time what is shown.
"""

from __future__ import annotations

import regex

from parlai_humaneval.display.text import SENTENCE, UNSPACED

WORDS_PER_S = 20.0
"""Several times as fast as people read: the clock is to hide the models' rhythm, and not to set one."""
FINISH_S = 1.0
"""Once every reply is complete, the rest of them is shown within this time."""
HELD_BACK = 7
"""Words at the end of an unfinished reply that are never shown yet: an echo of the instructions, which has at least one
more (:data:`~parlai_humaneval.display.masking.ECHO_WORDS`), may go on from one sentence to the next."""

_WORD = regex.compile(rf"\s*(?:[^\s{UNSPACED}]+|\X)")


def word_ends(text: str) -> list[int]:
    """Where each word of ``text`` ends; of Chinese, Thai and the like each character is one."""
    return [match.end() for match in _WORD.finditer(text) if not match.group().isspace()]


def settled_end(text: str) -> int:
    """The length of the beginning of an unfinished ``text`` that consists of whole sentences, without the last
    :data:`HELD_BACK` words."""
    begun = max((match.start() for match in SENTENCE.finditer(text) if match.group()), default=0)
    kept = word_ends(text)[:-HELD_BACK]
    return min(begun, kept[-1]) if kept else 0


class CommonClock:
    """Shows the same number of words of every reply, as many as the slowest unfinished one has, and at a steady pace.

    A reply that is complete and shorter stands still at its end. A reply that changes (its model was asked again)
    stays as it is shown until the new text has as many words; if that does not begin with what was shown, it is among
    ``replaced``.

    Example:
        >>> clock = CommonClock(2, words_per_s=1.0)
        >>> clock.heard(0, "one two three", complete=True)
        >>> clock.heard(1, "eins zwei")
        >>> clock.shown(10.0), clock.shown(11.0), clock.shown(99.0)
        (['', ''], ['one', 'eins'], ['one two', 'eins zwei'])
    """

    def __init__(self, replies: int, *, words_per_s: float = WORDS_PER_S) -> None:
        self._texts = [""] * replies
        self._ends: list[list[int]] = [[] for _ in range(replies)]
        self._complete = [False] * replies
        self._shown = [""] * replies
        self._words = 0.0
        self._words_per_s = words_per_s
        self._at: float | None = None
        self.replaced: set[int] = set()

    def heard(self, place: int, text: str, *, complete: bool = False) -> None:
        """All that may be shown of the reply at ``place`` (from 0) by now; ``complete``: it will not change any more."""
        self._texts[place] = text
        self._ends[place] = word_ends(text)
        waited = not all(self._complete)
        self._complete[place] = complete
        if waited and all(self._complete):
            left = max(map(len, self._ends)) - self._words
            self._words_per_s = max(self._words_per_s, left / FINISH_S)

    def shown(self, at: float) -> list[str]:
        """What is shown of each reply ``at`` a time in seconds, which never goes back."""
        waits = [len(ends) for ends, complete in zip(self._ends, self._complete, strict=True) if not complete]
        most = min(waits) if waits else max(map(len, self._ends), default=0)
        if self._at is not None:
            self._words = max(self._words, min(self._words + self._words_per_s * (at - self._at), most))
        self._at = at
        for place, ends in enumerate(self._ends):
            words = int(self._words)
            if words <= len(ends) or self._complete[place]:
                now = self._texts[place][: ends[min(words, len(ends)) - 1]] if words and ends else ""
                if not now.startswith(self._shown[place]):
                    self.replaced.add(place)
                self._shown[place] = now
        return list(self._shown)

    @property
    def is_over(self) -> bool:
        """Whether every reply is complete and shown to its end."""
        return all(self._complete) and self._words >= max(map(len, self._ends), default=0)
