"""Masks that leave no mark: “As an AI language model, I cannot feel …” is shown as “I cannot feel …”.

“[…]” tells that a program speaks as plainly as the words that it hides. So what was found is cut out with the clause that
holds it, wherever a sentence is left without it:

- a clause before, in or after the sentence: “As ChatGPT, I”, “I, ChatGPT, think”, “…, because I'm an AI.”,
  “I'm just a program, so I …”; what then begins the sentence gets the capital letter;
- an apposition: “I'm [name], made by OpenAI.” becomes “I'm [name].”;
- a whole sentence that says nothing else (“I'm an AI.”, “My name is Claude.”), where other sentences remain.

Elsewhere the mark stays, and a reply is never left without a word: “I'm an AI.” alone is shown as “I'm […].”, and
“I'm ChatGPT and I like tea” as “I'm [name] and I like tea”.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parlai_humaneval.protocol.records.dialogue import Mask
from parlai_humaneval.showing.cut_patterns import CUTS, SENTENCE, SIGNS, says_nothing_else, sign_of


def clean_cuts(text: str, masks: Sequence[Mask]) -> list[Mask]:
    """``masks`` of ``text``, in order and without overlaps, some of them widened, and replaced by nothing or by a letter.

    Offsets stay those into ``text``. A widened mask has the kind of the first that went into it.
    """
    if not masks or any(sign in text for sign in SIGNS):
        return list(masks)
    draft = _Draft(text, masks)
    draft.drop_sentences()
    while sum(draft.cut_all(pattern) for pattern in CUTS):  # each cut takes a mask away, so that this ends
        pass
    draft.drop_sentences()
    return draft.masks()


class _Draft:
    """A text in which each mask is one sign (see :mod:`~parlai_humaneval.showing.cut_patterns`), to be shortened.

    ``_places``: for each character of it, where it came from in the original text; ``_capitals``: which of these places
    begin a sentence now.
    """

    def __init__(self, text: str, masks: Sequence[Mask]) -> None:
        self._original = text
        self._masks = {mask.start: mask for mask in masks}
        self._places: list[int] = []
        self._capitals: set[int] = set()
        letters, at = [], 0
        for mask in masks:
            letters += [text[at : mask.start], sign_of(mask)]
            self._places += range(at, mask.start + 1)
            at = mask.end
        self._places += range(at, len(text))
        self._text = "".join([*letters, text[at:]])

    def cut_all(self, pattern: re.Pattern[str]) -> int:
        """Take out the group ``gone`` of each match; how many there were."""
        matches = list(pattern.finditer(self._text))
        for found in reversed(matches):
            begins = "begins" in pattern.groupindex and found["begins"] is not None
            self._cut(*found.span("gone"), begins=begins)
        return len(matches)

    def drop_sentences(self) -> None:
        """Take out those that say nothing but what is hidden, if any other is left."""
        sentences = list(SENTENCE.finditer(self._text))
        idle = [found.span() for found in sentences if says_nothing_else(found.group())]
        left = [found for found in sentences if found.span() not in idle and re.search(r"\w", found.group())]
        if not left:
            return
        for start, end in reversed(idle):
            if end >= len(self._text):
                start = len(self._text[:start].rstrip())
            self._cut(start, end)

    def _cut(self, start: int, end: int, *, begins: bool = False) -> None:
        """Take out a span; ``begins``: it was the beginning of a sentence, and what follows it is, now."""
        capital = self._is_capital(start)
        self._text = self._text[:start] + self._text[end:]
        del self._places[start:end]
        if begins and capital and self._text[start : start + 1].islower():
            self._capitals.add(self._places[start])

    def _is_capital(self, at: int) -> bool:
        place = self._places[at]
        mask = self._masks.get(place)
        said = self._text[at] if mask is None else mask.original[0]
        return said.isupper() or place in self._capitals

    def masks(self) -> list[Mask]:
        """What is hidden in the end: what is still a sign, and what is no longer there."""
        found: list[Mask] = []
        at = 0
        for place in [*self._places, len(self._original)]:
            capital = place in self._capitals
            if at < place:
                found.append(self._gone(at, place + capital, self._original[place].upper() if capital else ""))
            mask = self._masks.get(place)
            if mask is not None:
                found.append(mask)
            at = place + 1 if mask is None else mask.end
        return found

    def _gone(self, start: int, end: int, replacement: str) -> Mask:
        kind = next(mask.kind for mask in self._masks.values() if start <= mask.start < end)
        return Mask(start=start, end=end, original=self._original[start:end], replacement=replacement, kind=kind)
