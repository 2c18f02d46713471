"""Mask what gives a model away in its own reply: its name or its maker's, talk of being a program, its instructions.

A rater who reads “As ChatGPT, I …” no longer rates the reply. Names are of two kinds:

- *Telling* names have no other meaning in a chat (``ChatGPT``, ``BlenderBot``, ``OpenAI``, ``Llama 3.1``, and zoo names
  with a digit, an underscore or a hyphen, such as ``blender_90M``). They are masked wherever they stand as whole words.
- *Ordinary* names are also words or people's names (a zoo model called ``retrieval``, ``Claude``, ``Llama``). They
  are masked only where the sentence identifies the speaker by them: “I am Retrieval”, “my name is Claude”,
  “as Llama, I”, “I was made by Meta”. So “information retrieval” and “I saw a llama” stay.

Case never matters. Zoo names with separators are also found with other separators (``blender-90M``, ``blender 90M``).

Talk of being a program (:mod:`~parlai_humaneval.showing.ai_talk`) and instructions that are repeated (“You are a helpful
assistant that …”) are masked by ``[…]`` where that is asked for. Where talk of being a program is hidden, marks are left
only where they cannot be helped (:mod:`~parlai_humaneval.showing.clean_cuts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from parlai_humaneval.protocol.records.dialogue import Mask, MaskKind
from parlai_humaneval.showing.ai_talk import english_talk
from parlai_humaneval.showing.clean_cuts import SENTENCE, clean_cuts
from parlai_humaneval.showing.identity_names import (
    any_maker,
    innocent_phrases,
    is_telling,
    name_patterns,
    name_phrases,
    talk_phrases,
)
from parlai_humaneval.showing.phrases import PhraseBook, stems_of
from parlai_humaneval.showing.scripts import folded, spaced_words_only, words_in
from parlai_humaneval.showing.vocabulary import Vocabulary, packaged

__all__ = [
    "MAKER_MASK",
    "NAME_MASK",
    "TALK_MASK",
    "giveaways",
    "is_telling",
    "mask_identity",
    "masked_text",
    "prompt_echoes",
    "unmask",
]

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
"""So many words in a row that stand in the instructions as well are no chance: an echo."""
SHORTEST_PROMPT = 5
"""Instructions of fewer words are never looked for; those of fewer than :data:`ECHO_WORDS` only as a whole."""

_WORD = re.compile(r"[\w'’]+")

Place = tuple[int, int, MaskKind]
"""Start, end and kind of what is to be hidden."""


def mask_identity(
    text: str,
    names: Sequence[str],
    *,
    ai_talk: bool = False,
    prompts: Sequence[str] = (),
    vocabulary: Vocabulary | None = None,
) -> tuple[str, list[Mask]]:
    """Replace what gives a model away.

    Args:
        text: a model's reply.
        names: the zoo names of the models in play.
        ai_talk: whether talk of being a program is masked, too; then whole clauses go, and a name leaves no mark where it
            can be helped.
        prompts: instructions of the models in play, which must not be repeated.
        vocabulary: the words of programs; None: the packaged ones.

    Returns:
        The text as it may be shown, and the masks in order, with offsets into ``text``; no masks, and ``text`` itself,
        when nothing gives the model away.
    """
    masks = giveaways(text, names, ai_talk=ai_talk, prompts=prompts, vocabulary=vocabulary)
    masks = clean_cuts(text, masks) if ai_talk else masks
    return masked_text(text, masks), masks


def giveaways(
    text: str,
    names: Sequence[str],
    *,
    ai_talk: bool = True,
    prompts: Sequence[str] = (),
    vocabulary: Vocabulary | None = None,
) -> list[Mask]:
    """What of ``text`` gives a model away, in order and without overlaps, whoever wrote it: a reply, a message, a reason.

    Of two that overlap the longer reach goes first: instructions, then talk of being a program, then names.
    """
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
    for named in name_patterns(names, vocabulary):
        if named.may_match(words):
            places += [(*match.span("hidden"), named.kind) for match in named.pattern.finditer(spaced)]
    for kind, book in name_phrases(names, vocabulary).items():
        places += [(*place, kind) for place in telling(found(book))]
    named_at = [start for start, _, kind in places if kind == "name"]
    for sentence in SENTENCE.finditer(plain) if named_at else ():
        if any(sentence.start() <= start < sentence.end() for start in named_at):
            makers = any_maker(vocabulary).finditer(plain, *sentence.span())
            places += [(*match.span("hidden"), "maker") for match in makers]
    return tuple(places)


def to_masks(text: str, places: Iterable[Place]) -> list[Mask]:
    """Masks of what was found, in the order of the text; of those that overlap, the one that was found first."""
    masks: list[Mask] = []
    for start, end, kind in places:
        if start < end and all(end <= mask.start or mask.end <= start for mask in masks):
            hidden = {"original": text[start:end], "replacement": REPLACEMENTS[kind]}
            masks.append(Mask(start=start, end=end, kind=kind, **hidden))
    return sorted(masks, key=lambda mask: mask.start)


def masked_text(text: str, masks: Sequence[Mask]) -> str:
    """``text`` with every mask's replacement; ``masks`` in order, with offsets into it."""
    shown, at = [], 0
    for mask in masks:
        shown += [text[at : mask.start], mask.replacement]
        at = mask.end
    return "".join([*shown, text[at:]])


def unmask(shown: str, masks: Sequence[Mask]) -> str:
    """The text before masking, from what was shown of it and its masks."""
    text, at, moved = [], 0, 0
    for mask in masks:
        start = mask.start + moved
        text += [shown[at:start], mask.original]
        at = start + len(mask.replacement)
        moved += len(mask.replacement) - (mask.end - mask.start)
    return "".join([*text, shown[at:]])


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
    runs_by_length: dict[int, set[tuple[str, ...]]] = {}
    for prompt in prompts:
        words = [word.casefold() for word in _WORD.findall(prompt)]
        if len(words) < SHORTEST_PROMPT:
            continue
        length = min(ECHO_WORDS, len(words))
        runs = (tuple(words[first : first + length]) for first in range(len(words) - length + 1))
        runs_by_length.setdefault(length, set()).update(runs)
    return {length: frozenset(runs) for length, runs in runs_by_length.items()}


def _joined(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in places:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
