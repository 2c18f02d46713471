"""Mask give-aways in a model's reply (its name or its maker's, talk of being a program, its instructions), without
leaving a mark where possible.

*Telling* names (``ChatGPT``, zoo names with a digit or separator) are masked wherever they stand as whole words.
*Ordinary* names are also words or people's names (``retrieval``, ``Claude``): only where the sentence identifies the
speaker by them. “[…]” tells that a program speaks as plainly as the words that it hides. So a clause that says nothing
but who the speaker is goes as a whole, where the rest of its sentence stands without it, and so does a whole sentence
of such clauses where others remain. Elsewhere the mark stays, and a reply is never left without a word.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING

from parlai_humaneval.display.patterns import PhraseBook, any_of, stems_of
from parlai_humaneval.display.text import SENTENCE, folded, made_once, mark, marks, spaced_words_only, words_in
from parlai_humaneval.display.vocabulary import (
    Vocabulary,
    any_maker,
    english,
    filled,
    innocent_phrases,
    name_patterns,
    name_phrases,
    packaged,
    talk_phrases,
)
from parlai_humaneval.schema.records import Mask, MaskKind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_BETWEEN_SENTENCES = re.compile(r"(?<=[^\s.][^\s.][.!?])\s")
"""No gap follows the dots of “A.I.”."""


@made_once(maxsize=1)
def _talk() -> tuple[Sequence[re.Pattern[str]], re.Pattern[str], frozenset[str]]:
    """Phrases that only programs say, phrases that are telling only near these, and words; a phrase has one or more."""
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

_PLAIN_WORD = re.compile(r"[\w']+|[.,!?]")
_COMMON_WORDS = """
    i i'm i'll i've i'd me my myself we you your it it's is are am was were be been have has do don't does did
    can can't cannot could would will won't not no the a an and or but so if that this these what which who
    there when how as of to in on at for from with by about just only
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_TOO_FEW = 3
"""Words and marks of “Not me.”, which says nothing of anybody."""
_LEAST_COMMON = 0.25
PIECE_WORDS, INNOCENT = 8, -1.0
"""A longer sentence is judged in pieces: no telling sentence among the samples of the tests begins with so many words of
so low a score, and nearly all others do."""
_SPACED_WORD = re.compile(r"\S+")
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
    return _PLAIN_WORD.findall(folded(sentence).lower())


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
        """The sentences by which ``text`` says that a program speaks, without the innocent pieces of long ones; of those
        with a ``hidden`` place, by the rest of it."""
        ends = [(match.start(), match.start() + len(match.group().rstrip())) for match in SENTENCE.finditer(text)]
        places = [(end - len(text[self.innocent_end(text, start, end) : end].lstrip()), end) for start, end in ends]
        return [(start, end) for start, end in places if start < end and self._tells(text, start, end, hidden)]

    def innocent_end(self, text: str, start: int, end: int) -> int:
        """Where the last piece of a sentence begins that may still tell: before it, each piece of at least
        :data:`PIECE_WORDS` words is so clearly innocent that nothing that follows hides it. The last word of ``text``
        may be incomplete."""
        words = 0
        for word in _SPACED_WORD.finditer(text, start, end):
            words += 1
            if words >= PIECE_WORDS and word.end() < len(text) and self.score(text[start : word.end()]) <= INNOCENT:
                start, words = word.end(), 0
        return start

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


_SEPARATOR = marks("SEPARATOR")
_ADVERBIAL = marks("ADVERBIAL")
_OF_MAKER = marks("OF_MAKER")
_SUBJECT_FOLLOWS = marks("SUBJECT_FOLLOWS")
_REMAINS_OPEN = marks("REMAINS_OPEN")

_EMPTY_WORDS = words_in(mark("EMPTY_WORDS"))
_FILLERS = words_in(mark("FILLERS"))


@dataclass(frozen=True)
class _Clause:
    """A part of a sentence, from ``start`` to ``end``; ``lead``: where the separator before it begins."""

    lead: int
    start: int
    end: int
    idle: bool
    adverbial: bool


def clean_cuts(text: str, masks: Sequence[Mask]) -> list[Mask]:
    """``masks``, in order and without overlaps, some of them widened, and replaced by nothing or by a letter."""
    if not masks or masks[0].end - masks[0].start == len(text):  # nothing, or all of it
        return list(masks)
    sentences = [match.span() for match in SENTENCE.finditer(text) if match.group()]
    idle = [_is_idle(text, masks, *place) for place in sentences]
    remain = any(words_in(text[slice(*place)]) and not is_idle for place, is_idle in zip(sentences, idle, strict=True))
    cuts: list[tuple[int, int]] = []
    for at, (start, end) in enumerate(sentences):
        if remain and idle[at]:
            # At the end of the reply the space before goes along.
            cuts.append((len(text[:start].rstrip()) if all(idle[at:]) else start, end))
        elif any(start <= mask.start < end for mask in masks):
            cuts += _cuts_in(text, masks, start, end, idle[at])
    widened: list[Mask] = []
    for start, end in _joined(cut for cut in cuts if cut[0] < cut[1]):
        within = [mask for mask in masks if start <= mask.start < end]
        if not within:
            continue
        begins = start == 0 or text[:start].rstrip(' "“(')[-1:] in (".", "!", "?", "…", "\n", "")
        masked = any(mask.start == end for mask in masks)
        capital = begins and text[start].isupper() and text[end : end + 1].islower() and not masked
        widened.append(
            Mask(
                start=start,
                end=end + capital,
                original=text[start : end + capital],
                replacement=text[end].upper() if capital else "",
                kind=within[0].kind,
            )
        )
    kept = [mask for mask in masks if not any(cut.start <= mask.start < cut.end for cut in widened)]
    return sorted([*kept, *widened], key=lambda mask: mask.start)


def uncut_end(text: str, begun: int, end: int, vocabulary: Vocabulary, ai_talk: bool) -> int:
    """What of an unfinished ``text`` up to ``end`` stays whatever is hidden behind it. In the sentence that is ``begun``,
    a maker goes with a model's name, and a clause that says nothing else goes with talk of being a program."""
    if maker := any_maker(vocabulary).search(folded(text), min(begun, end), end):
        end = maker.start()
    words = [word for word in _SPACED_WORD.finditer(text, begun, end) if not words_in(word.group()) <= _EMPTY_WORDS]
    if not ai_talk or end <= begun:
        return end
    return begun + len(text[begun : words[-1].end()].rstrip(",;:–—-、，；：")) if words else begun


def _is_idle(text: str, masks: Sequence[Mask], start: int, end: int) -> bool:
    clauses = _clauses(text, masks, start, end)
    fills = (clause.idle or words_in(text[clause.start : clause.end]) <= _FILLERS for clause in clauses)
    return _says_nothing_else(text, masks, start, end) and all(fills)


def _says_nothing_else(text: str, masks: Sequence[Mask], start: int, end: int) -> bool:
    within = [mask for mask in masks if start <= mask.start < end]
    if not within or any(mask.kind not in ("ai_disclosure", "name", "maker") for mask in within):
        return False
    starts, ends = [start, *(mask.end for mask in within)], [*(mask.start for mask in within), end]
    words = " ".join(text[slice(*place)] for place in zip(starts, ends, strict=True))
    return "?" not in words and "…" not in words and words_in(words) <= _EMPTY_WORDS


def _clauses(text: str, masks: Sequence[Mask], start: int, end: int) -> list[_Clause]:
    while start < end and not (text[start].isalnum() or any(mask.start == start for mask in masks)):
        start += 1
    while end > start and not (text[end - 1].isalnum() or any(mask.end == end for mask in masks)):
        end -= 1
    within = [mask for mask in masks if start <= mask.start < end]
    breaks = [match.span() for match in _SEPARATOR.finditer(text, start, end)]
    breaks = [place for place in breaks if not any(mask.start < place[1] and place[0] < mask.end for mask in within)]
    for mask in within:
        if _ADVERBIAL.match(mask.original) and mask.kind == "ai_disclosure":
            breaks += [(at, at + 1) for at in (mask.start - 1, mask.end) if start <= at < end and text[at] == " "]
        made_by = _OF_MAKER.search(text, start, mask.start) if mask.kind == "maker" else None
        if made_by and any(other.end == made_by.start() for other in within):
            breaks.append((made_by.start(), made_by.start() + 1))
    edges = [(start, start)]
    for lead, begins in sorted(breaks):
        if lead >= edges[-1][1]:
            edges.append((lead, begins))
    ends = [lead for lead, _ in edges[1:]] + [end]
    return [
        _Clause(
            lead,
            begins,
            stops,
            _says_nothing_else(text, masks, begins, stops),
            any(mask.start == begins and _ADVERBIAL.match(mask.original) is not None for mask in within),
        )
        for (lead, begins), stops in zip(edges, ends, strict=True)
    ]


def _cuts_in(text: str, masks: Sequence[Mask], start: int, end: int, is_idle: bool) -> list[tuple[int, int]]:
    clauses = _clauses(text, masks, start, end)
    if is_idle:  # nothing else is said in the whole reply: its first mark stays
        masked = [clause for clause in clauses if clause.idle]
        kept = next((clause for clause in masked if not clause.adverbial), masked[0])
        return [(masked[0].start, kept.start), (kept.end, clauses[-1].end)]
    cuts = []
    before: _Clause | None = None
    runs = [(idle, list(run)) for idle, run in groupby(clauses, key=lambda clause: clause.idle)]
    for at, (idle, run) in enumerate(runs):
        after = runs[at + 1][1][0] if at + 1 < len(runs) else None
        if idle:
            cut = _cut_of(text, before, run, after)
            cuts += [cut] if cut else []
        before = run[-1]
    return cuts


def _cut_of(text: str, before: _Clause | None, run: Sequence[_Clause], after: _Clause | None) -> tuple[int, int] | None:
    """What goes with a ``run`` of idle clauses between two others; None: the rest would be no sentence."""
    first, last = run[0], run[-1]
    if after is None:
        return None if before is None else (first.lead, last.end)
    separator, next_separator = text[first.lead : first.start].strip(), text[after.lead : after.start].strip()
    if before is None:
        adverbials = all(clause.adverbial for clause in run)
        if adverbials or " " in next_separator or _SUBJECT_FOLLOWS.match(text, after.start):
            return first.start, after.start
        return _cut_of(text, first, run[1:], after) if len(run) > 1 else None
    if separator == "" or _REMAINS_OPEN.search(text[before.start : before.end]):
        return first.lead, after.start - 1
    # “Sorry, but as an AI, I can't” keeps its “but”, and “Well, I'm an AI, so I don't” its “Well”.
    if len(separator) > len(next_separator) or " " not in text[before.start : before.end]:
        return first.start, after.start
    return first.lead, last.end


NAME_MASK = "[name]"
MAKER_MASK = "[maker]"
TALK_MASK = "[…]"
REPLACEMENTS: dict[MaskKind, str] = {
    "name": NAME_MASK,
    "maker": MAKER_MASK,
    "ai_disclosure": TALK_MASK,
    "system_prompt": TALK_MASK,
    "offensive": TALK_MASK,
}

ECHO_WORDS = 8
"""This many words in a row that are also in the instructions cannot be chance: an echo."""
SHORTEST_PROMPT = 5
"""Instructions of fewer words are never looked for; those of fewer than :data:`ECHO_WORDS` only as a whole."""

_WORD = re.compile(r"[\w'’]+")

Place = tuple[int, int, MaskKind]


def giveaways(
    text: str,
    names: Sequence[str],
    *,
    ai_talk: bool = True,
    prompts: Sequence[str] = (),
    vocabulary: Vocabulary | None = None,
) -> list[Mask]:
    """What of ``text`` gives a model away, in order: instructions go before talk of being a program, and that before
    names."""
    return to_masks(text, _places(text, tuple(sorted(set(names))), ai_talk, tuple(prompts), vocabulary or packaged()))


@lru_cache(maxsize=512)
def _places(
    text: str, names: tuple[str, ...], ai_talk: bool, prompts: tuple[str, ...], vocabulary: Vocabulary
) -> tuple[Place, ...]:
    """Kept, because a reply is judged before it is shown."""
    plain = folded(text)
    spaced = spaced_words_only(plain)
    words = words_in(plain)
    stems = stems_of(plain, words)

    def found(book: PhraseBook) -> list[tuple[int, int]]:
        return [
            match.span("hidden")
            for phrase in book.that_may_match(stems)
            for match in phrase.pattern.finditer(plain if phrase.unspaced else spaced)
        ]

    innocent = found(innocent_phrases(vocabulary))

    def telling(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(start, end) for start, end in spans if all(end <= first or last <= start for first, last in innocent)]

    places: list[Place] = [(start, end, "system_prompt") for start, end in prompt_echoes(text, prompts)]
    if ai_talk:
        talk = telling(found(talk_phrases(vocabulary)) + english_talk(spaced, words))
        longest_first = sorted(talk, key=lambda place: place[0] - place[1])
        places += [(start, end, "ai_disclosure") for start, end in longest_first]
    for named, kind in name_patterns(names, vocabulary):
        if named.may_match(words):
            places += [(*match.span("hidden"), kind) for match in named.pattern.finditer(spaced)]
    for kind, book in name_phrases(names, vocabulary).items():
        places += [(*place, kind) for place in telling(found(book))]
    named_at = [start for start, _, kind in places if kind == "name"]
    for sentence in SENTENCE.finditer(plain) if named_at else ():
        if any(sentence.start() <= start < sentence.end() for start in named_at):
            makers = any_maker(vocabulary).finditer(plain, *sentence.span())
            places += [(*match.span("hidden"), "maker") for match in makers]
    return tuple(places)


def to_masks(text: str, places: Iterable[Place]) -> list[Mask]:
    masks: list[Mask] = []
    for start, end, kind in places:
        if start < end and all(end <= mask.start or mask.end <= start for mask in masks):
            hidden = {"original": text[start:end], "replacement": REPLACEMENTS[kind]}
            masks.append(Mask(start=start, end=end, kind=kind, **hidden))
    return sorted(masks, key=lambda mask: mask.start)


def masked_text(text: str, masks: Sequence[Mask]) -> str:
    for mask in reversed(masks):
        text = text[: mask.start] + mask.replacement + text[mask.end :]
    return text


def prompt_echoes(text: str, prompts: Sequence[str]) -> list[tuple[int, int]]:
    """Places (start, end) of ``text`` that repeat :data:`ECHO_WORDS` or more words of one of ``prompts`` in a row."""
    grams = _grams(tuple(prompts))
    if not grams:
        return []
    words = [(match.group().casefold(), match.start(), match.end()) for match in _WORD.finditer(text)]
    places: list[tuple[int, int]] = []
    for length, known in grams.items():
        for first in range(len(words) - length + 1):
            if tuple(word for word, _, _ in words[first : first + length]) in known:
                places.append((words[first][1], words[first + length - 1][2]))
    return _joined(places)


@lru_cache(maxsize=64)
def _grams(prompts: tuple[str, ...]) -> dict[int, frozenset[tuple[str, ...]]]:
    runs_by_length: dict[int, set[tuple[str, ...]]] = {}
    for prompt in prompts:
        words = [word.casefold() for word in _WORD.findall(prompt)]
        if len(words) < SHORTEST_PROMPT:
            continue
        length = min(ECHO_WORDS, len(words))
        runs = (tuple(words[first : first + length]) for first in range(len(words) - length + 1))
        runs_by_length.setdefault(length, set()).update(runs)
    return {length: frozenset(runs) for length, runs in runs_by_length.items()}


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
