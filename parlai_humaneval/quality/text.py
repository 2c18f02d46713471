"""Words of raters: which messages are theirs, and how long they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from parlai_humaneval.schema.records import DialogueRecord, Turn

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
"""Runs of Chinese characters and Japanese kana, which are written without spaces between words."""

_CHARACTERS_PER_WORD = 1.5
"""Of such a run: Chinese words have one or two characters."""


def typed_turns(record: DialogueRecord) -> list[Turn]:
    """Turns whose message the rater typed: neither sent for them nor taken from the openings that were offered."""
    return [turn for turn in record.turns if not (turn.human_fixed or turn.human_suggested)]


def typed_messages(record: DialogueRecord) -> list[str]:
    """The messages that the rater typed, in order."""
    return [turn.human_text for turn in typed_turns(record)]


def count_words(text: str) -> int:
    """Words, as a rater counts them: runs of characters between white space that hold a letter or digit.

    Chinese and Japanese have no spaces: there, three characters count as two words.
    """
    return sum(_words_in(run) for run in text.split() if any(character.isalnum() for character in run))


def _words_in(run: str) -> int:
    if run.isascii():
        return 1
    rest = _UNSPACED.sub(" ", run).split()
    unspaced = sum(len(found) for found in _UNSPACED.findall(run))
    spaced = sum(any(character.isalnum() for character in part) for part in rest)
    return spaced + -int(-unspaced // _CHARACTERS_PER_WORD)


def mean_words(texts: Sequence[str]) -> float:
    """Mean number of words; 0 of no text."""
    return sum(map(count_words, texts)) / len(texts) if texts else 0.0


def plain(text: str) -> str:
    """A text with case, punctuation and spacing levelled, for comparing. Of nothing but punctuation, the text itself."""
    levelled = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(" " if unicodedata.category(character)[0] == "P" else character for character in levelled)
    return " ".join(kept.split()) or " ".join(levelled.split())
