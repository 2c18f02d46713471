"""Talk by which a model says that it is a program, by the patterns of ``data/english.yaml`` and by a small classifier."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

from parlai_humaneval.display.patterns import any_of
from parlai_humaneval.display.text import SENTENCE, folded, made_once, words_in
from parlai_humaneval.display.vocabulary import english, filled, packaged

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_BETWEEN_SENTENCES = re.compile(r"(?<=[^\s.][^\s.][.!?])\s")
"""No gap follows the dots of “A.I.”."""


@made_once(maxsize=1)
def _talk() -> tuple[Sequence[re.Pattern[str]], re.Pattern[str], frozenset[str]]:
    """Phrases that only programs say, what tells beside one of these alone, and words of which each phrase holds one."""
    maker = {"MAKER": any_of([*packaged().words.ordinary_makers, *packaged().words.makers])}

    def pattern(before: str, hidden: str, after: str) -> re.Pattern[str]:
        expression = f"{filled(before, maker)}(?P<hidden>{filled(hidden, maker)}){filled(after, maker)}"
        # No two words are further apart than a few spaces.
        spaced = expression.replace(" ?", r"\s{0,3}").replace(" ", r"\s{1,3}").replace("'", "['’]?")
        return re.compile(spaced, re.IGNORECASE | re.MULTILINE)

    data = english()
    return [pattern(**parts) for parts in data["talk"]], pattern(**data["lack_of_feelings"]), words_in(data["hints"])


def english_talk(text: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Where ``text``, of these ``words``, says that a program speaks, as (start, end); they may overlap."""
    phrases, lack_of_feelings, hints = _talk()
    if words.isdisjoint(hints) and "a.i." not in text.casefold():
        return []
    places = []
    gaps = [gap.start() for gap in _BETWEEN_SENTENCES.finditer(text)]
    for start, end in zip([0, *gaps], [*gaps, len(text)], strict=True):
        said = text[start:end]
        if not words_in(said).isdisjoint(hints) or "a.i." in said.casefold():
            places += [match.span("hidden") for phrase in phrases for match in phrase.finditer(text, start, end)]
    if places:
        places += [match.span("hidden") for match in lack_of_feelings.finditer(text)]
    return places


WEIGHTS = "disclosure_weights.npz"
BUCKETS = 1 << 16
PIECES = (4, 5)

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
_SELF = frozenset(["i", "i'm", "i've", "i'll", "i'd", "im", "my", "me", "myself", "mine"])


def features(sentence: str) -> npt.NDArray[np.uint32]:
    import numpy as np  # replies in other languages need none of it

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
        """Whether an English sentence with “I” or “my”, or known to be ``of_itself``, is taken for talk of being a
        program."""
        words = _words(sentence)
        if not of_itself and _SELF.isdisjoint(words):
            return False
        if "me" in words and len(words) <= _TOO_FEW:
            return False
        return sum(word in _COMMON for word in words) >= _LEAST_COMMON * len(words) and self.score(sentence) > 0

    def telling_sentences(self, text: str, hidden: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
        """The sentences by which ``text`` says that a program speaks; of those with a ``hidden`` place, by the rest of
        it."""
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
    import numpy as np

    with np.load(BytesIO((files("parlai_humaneval") / "data" / WEIGHTS).read_bytes())) as stored:
        weights = stored["weights"].astype(np.float32) * np.float32(stored["scale"])
        return DisclosureModel(weights, float(stored["bias"]), float(stored["threshold"]))
