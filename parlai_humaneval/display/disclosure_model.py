"""Sentences by which a program gives itself away that no list of phrases foresees, found by a small classifier.

“I'm hosted on powerful servers”, “being software, I never get tired”: there is no end to such wordings. The classifier is
a logistic regression over the words of an English sentence, pairs of them and pieces of them. Its weights (64 kB) are
learned from the sentences in ``benchmarks/disclosures`` by ``python -m benchmarks.disclosures.learn``; what it finds, and
what it wrongly finds, is measured by ``python -m benchmarks disclosures``.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO

import numpy as np
import numpy.typing as npt

from parlai_humaneval.display.masking import SENTENCE
from parlai_humaneval.display.text import folded, made_once

WEIGHTS = "disclosure_weights.npz"
"""The file of the weights, among the packaged data."""
BUCKETS = 1 << 16
"""A feature's weight is that of its bucket, by its checksum."""
PIECES = (4, 5)
"""Letters of the pieces of words."""

_WORD = re.compile(r"[\w']+|[.,!?]")
_COMMON_WORDS = """
    i i'm i'll i've i'd me my myself we you your it it's is are am was were be been have has do don't does did
    can can't cannot could would will won't not no the a an and or but so if that this these what which who
    there when how as of to in on at for from with by about just only
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_TOO_FEW = 3
"""Words and marks of “Not me.”, which says nothing of anybody."""
_LEAST_COMMON = 0.25
"""Share of common English words from which on a sentence is taken for English."""
_SELF = frozenset(["i", "i'm", "i've", "i'll", "i'd", "im", "my", "me", "myself", "mine"])


def features(sentence: str) -> npt.NDArray[np.uint32]:
    """The buckets of a sentence, each once, in order."""
    words = _words(sentence)
    named = [f"w {word}" for word in words]
    named += [f"b {first} {second}" for first, second in zip(["^", *words], [*words, "$"], strict=True)]
    named += [f"s {first} {third}" for first, third in zip(words, words[2:], strict=False)]
    for word in words:
        padded = f" {word} "
        named += [f"c {padded[at : at + n]}" for n in PIECES for at in range(len(padded) - n + 1)]
    return np.unique(np.array([zlib.crc32(name.encode()) % BUCKETS for name in named], dtype=np.uint32))


def _words(sentence: str) -> list[str]:
    return _WORD.findall(folded(sentence).lower())


@dataclass(frozen=True, eq=False)
class DisclosureModel:
    """Weights of the buckets, what is added to their sum, and the sum from which on a sentence tells."""

    weights: npt.NDArray[np.float32]
    bias: float
    threshold: float

    def score(self, sentence: str) -> float:
        """How much a sentence sounds like a program that speaks of itself; over 0: it is taken for one."""
        found = features(sentence)
        if not len(found):
            return -math.inf
        return float(self.weights[found].sum()) / math.sqrt(len(found)) + self.bias - self.threshold

    def tells(self, sentence: str, *, of_itself: bool = False) -> bool:
        """Whether an English sentence of the speaker is taken for talk of being a program; never one of another language,
        or, unless it is known to be of the speaker, one that holds no “I” or “my”."""
        words = _words(sentence)
        if not of_itself and _SELF.isdisjoint(words):
            return False
        if "me" in words and len(words) <= _TOO_FEW:
            return False
        return sum(word in _COMMON for word in words) >= _LEAST_COMMON * len(words) and self.score(sentence) > 0

    def telling_sentences(self, text: str, hidden: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
        """The sentences, as (start, end) without the spaces behind, by which ``text`` says that a program speaks.

        ``hidden``: places that are hidden anyway. A sentence with such a place tells where the words before or behind it do.
        """
        places = ((match.start(), match.start() + len(match.group().rstrip())) for match in SENTENCE.finditer(text))
        return [(start, end) for start, end in places if start < end and self._tells(text, start, end, hidden)]

    def _tells(self, text: str, start: int, end: int, hidden: Sequence[tuple[int, int]]) -> bool:
        within = [(first, last) for first, last in hidden if start <= first < end]
        if not within:
            return self.tells(text[start:end])
        before, behind = text[start : min(first for first, _ in within)], text[max(last for _, last in within) : end]
        # What a speaker goes on to say with “I” stays: only what hangs on the words that are hidden goes with them.
        goes_on = not _SELF.isdisjoint(_words(behind))
        return self.tells(before, of_itself=True) or (not goes_on and self.tells(behind, of_itself=True))


@made_once(maxsize=1)
def packaged_model() -> DisclosureModel:
    """That of the packaged weights."""
    with np.load(BytesIO((files("parlai_humaneval") / "data" / WEIGHTS).read_bytes())) as stored:
        weights = stored["weights"].astype(np.float32) * np.float32(stored["scale"])
        return DisclosureModel(weights, float(stored["bias"]), float(stored["threshold"]))
