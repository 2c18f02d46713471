"""Names of models and makers, and the patterns that find them in a model's own reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parlai_humaneval.display.patterns import Part, Phrase, PhraseBook, Triggers, stem_of
from parlai_humaneval.display.text import (
    NO_LETTER_AFTER,
    NO_LETTER_BEFORE,
    folded,
    is_unspaced,
    made_once,
    unspaced_runs,
    words_in,
)
from parlai_humaneval.display.vocabulary import MAKER, NAME, Vocabulary
from parlai_humaneval.schema.records import MaskKind

ANYBODYS = frozenset({"human", "person", "bot", "chatbot", "model", "assistant", "people", "user", "worker"})
"""Zoo names that anybody may call themselves, the zoo's ``human`` above all: “I am human” tells nobody's name."""

_TIER = (
    r"(?:[\s-](?:opus|sonnet|haiku|pro|flash|ultra|nano|turbo|mini|lite|instruct|chat|beta|hf|it|base|large|small|xl|xxl)"
    rf"{NO_LETTER_AFTER})"
)
_SIZE = rf"(?:\d+x)?\d+(?:\.\d+)?[bm]{NO_LETTER_AFTER}"
_VERSION = rf"(?:[\s_-]?(?:{_SIZE}|[vr]?\d+(?:\.\d+)*[a-z]?{NO_LETTER_AFTER}))?(?:[\s_-]{_SIZE})?{_TIER}{{0,3}}"
_UNIT = r"(?!\s+(?:second|minute|hour|day|week|month|year|time|people|of\b|more\b|dollar|euro)|[:/]\d)"
_FAMILY_VERSION = (
    rf"(?:[\s_-]?(?:{_SIZE}|v?\d+\.\d+\b)|-v?\d+\b|[\s_]?\d\b{_UNIT}(?=\s*(?:[.,;:!?)]|$|is\b|was\b|and\b|here\b|{_TIER})))"
    rf"(?:[\s_-]{_SIZE})?{_TIER}{{0,3}}"
)
_BEFORE = (
    r"(?:\b(?:i\s+am|i['’]m|im|my\s+name\s+is|my\s+name['’]s|name['’]s|call\s+me|this\s+is|as|"
    r"(?:i\s+am|i['’]m|they['’]ve|me)\s+(?:also\s+)?(?:known\s+as|called|named))(?:\s+(?:the|your))?\s+)"
)
_INTRODUCED = (
    r"(?:\b(?:i\s+am|i['’]m|im|my\s+name\s+is|my\s+name['’]s|call\s+me|i\s+go\s+by|i\s+run\s+on|this\s+is)\s+)"
)
_KIND = r"(?:chat\s?bot|bot|model|language\s+model|assistant|a\.?i\.?)"
_ADDRESS = r"(?:\byou(?:\s+are|['’]re)\s+(?:now\s+)?(?:talking|speaking|chatting)\s+(?:to|with)\s+)"
_START = r"(?:(?:^|[.!?,;])\s*|\b(?:hi|hello|hey)\s+(?:there\s+)?)"
_MAKERS = r"(?:developer|creator|maker|programmer|inventor|designer|trainer)s?"
_MADE = r"(?:made|built|trained|created|developed|designed|programmed|invented|released|published|powered)"
_THOSE_AT = (
    r"(?:\s+(?:the\s+)?(?:an?\s+(?:team|group)\s+of\s+)?(?:(?:kind|good|smart|clever)\s+)?"
    r"(?:people|researchers|engineers|team|folks|scientists)"
    r"\s+(?:at|of|from))?"
)
_MAKING = rf"(?:{_MADE}\s+(?:by|at){_THOSE_AT}(?:\s+the)?\s+)"
_ME = (
    r"(?:\b(?:i\s+(?:am|was|have\s+been|got)|i['’]m|i['’]ve\s+been|im)\s+(?:(?:originally|first|actually|also|being)\s+)?"
    r"|\b(?:language\s+model|chat\s?bot|assistant|bot|a\.?i\.?|program|model)(?:\s+that\s+was)?,?\s+"
    r"|(?:[\]”\"]|\bname),?\s+(?:and\s+)?(?:i\s+was\s+)?)"
)
_NO_JOB = (
    r"(?!\s+(?:engineer|research|scien|develop|team|lab|student|user|fan|specialist|expert|ethic|consult|manager|lead|"
    r"intern|trainer|editor|writer))"
)
"""Behind a kind of program: “a Google AI engineer” is a person."""
_DESCRIBED = r"(?:(?!(?:of|the|for|with|in|at|on|and|who|that|to|from|by)\b)[\w-]+\s+){0,4}"
_ANTHROPIC = r"(?<!\w)(?P<hidden>(?-i:Anthropic))(?!\w|\s+(?:principle|bias|reasoning|argument|mechanism))"


@dataclass(frozen=True)
class NamePattern:
    """A pattern whose group ``hidden`` is to be hidden, and what a text must hold to be looked at."""

    triggers: Triggers
    pattern: re.Pattern[str]
    kind: MaskKind

    def may_match(self, words: frozenset[str]) -> bool:
        """Whether ``words`` hold one of each set."""
        return not any(map(words.isdisjoint, self.triggers))


def is_telling(name: str) -> bool:
    """Whether a zoo name is unmistakable: it holds a digit or a separator, which no ordinary word does."""
    return any(character.isdigit() or character in "_-" for character in name)


def speaking_names(names: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Names that are hidden only where the speaker is introduced by them: the zoo's, and those of the vocabulary."""
    zoo = [name for name in names if not is_telling(name) and name.casefold() not in ANYBODYS]
    return [*zoo, *vocabulary.words.ordinary_names]


@made_once(maxsize=256)
def name_phrases(names: tuple[str, ...], vocabulary: Vocabulary) -> dict[MaskKind, PhraseBook]:
    """How other languages than English name a speaker and its maker, and names in letters written without spaces."""
    words = vocabulary.words
    telling: dict[MaskKind, list[str]] = {"maker": words.makers, "name": [*filter(is_telling, names), *words.names]}
    whole: dict[MaskKind, list[Phrase]] = {}
    for kind, some in telling.items():
        part = name_part([*filter(is_unspaced, some)], _VERSION)
        whole[kind] = [Phrase(f"(?P<hidden>{part.expression})", part.needed, unspaced=True)] if part.expression else []
    lists = {
        NAME: name_part(speaking_names(names, vocabulary), _VERSION),
        MAKER: name_part([*words.makers, *words.ordinary_makers]),
    }
    return {
        "maker": PhraseBook([*whole["maker"], *words.phrases("origins", lists)]),
        "name": PhraseBook([*whole["name"], *words.phrases("introductions", lists)]),
    }


@made_once(maxsize=64)
def talk_phrases(vocabulary: Vocabulary) -> PhraseBook:
    """How programs speak of themselves."""
    return _with_names("talk", vocabulary)


@made_once(maxsize=64)
def innocent_phrases(vocabulary: Vocabulary) -> PhraseBook:
    """What people say though it sounds like a program."""
    return _with_names("innocent", vocabulary)


def _with_names(part: str, vocabulary: Vocabulary) -> PhraseBook:
    words = vocabulary.words
    names, makers = [*words.names, *words.ordinary_names], [*words.makers, *words.ordinary_makers]
    return PhraseBook(words.phrases(part, {NAME: name_part(names, _VERSION), MAKER: name_part(makers)}))


@made_once(maxsize=256)
def name_patterns(names: tuple[str, ...], vocabulary: Vocabulary) -> tuple[NamePattern, ...]:
    """Patterns for zoo ``names`` and the well-known ones; an earlier pattern wins where two overlap.

    They are those of English, for a text in which letters that are written without spaces are signs
    (:func:`~parlai_humaneval.display.text.spaced_words_only`).
    """
    words = vocabulary.words
    speaking = _spaced(speaking_names(names, vocabulary))
    telling = _spaced([*filter(is_telling, names), *words.names])
    makers = _spaced([*words.ordinary_makers, *words.makers])
    telling_makers, versioned = _spaced(words.makers), _spaced(words.versioned)
    ordinary, named = any_of(speaking), any_of(telling)
    speaker, maker = f"(?P<hidden>{ordinary}{_VERSION})", f"(?P<hidden>{any_of(makers)})"

    def of_maker(*expressions: str) -> list[NamePattern]:
        return [NamePattern(_telling_words(makers), _compiled(words), "maker") for words in expressions]

    def of_speaker(*expressions: str) -> list[NamePattern]:
        return [NamePattern(_telling_words(speaking), _compiled(words), "name") for words in expressions]

    return (
        *of_maker(rf"{_ME}{_MAKING}{maker}\b"),
        NamePattern(
            (*_telling_words(makers), *_telling_words([*speaking, *telling])),
            _compiled(rf"\b(?:{ordinary}|{named}){_VERSION},?\s+(?:(?:{_MAKING})|(?:from|by)\s+){maker}\b"),
            "maker",
        ),
        *of_maker(
            rf"(?<!\w){maker}(?=\s+{_MADE}\s+me\b)",
            rf"\bmy\s+{_MAKERS}\s+(?:(?:is|are|was|were|works?)\s+)?(?:(?:at|from|for|the\s+(?:people|team|folks)\s+at)\s+)?{maker}\b",
            rf"\bi(?:\s+am|['’]m)?\s+(?:belong\s+to|owned\s+by|(?:an?\s+)?(?:product|creation|invention)\s+of){_THOSE_AT}\s+{maker}\b",
            rf"{_INTRODUCED}(?:(?:just|only|simply|actually)\s+)?(?:one\s+of\s+)?(?:(?:an?|the|your)\s+)?{maker}(?:['’]s)?\s+"
            rf"{_DESCRIBED}{_KIND}s?\b{_NO_JOB}",
            rf"{_INTRODUCED}(?:[\w.-]+(?:\s[\w.-]+){{0,2}},\s+)?(?:an?|the|your)\s+{_DESCRIBED}(?:{_KIND}|companion|helper|program)"
            rf"\s+(?:from|by)\s+{maker}\b",
        ),
        NamePattern(_telling_words(telling_makers), _whole(any_of(telling_makers)), "maker"),
        NamePattern((frozenset({"anthropic"}),), _compiled(_ANTHROPIC), "maker"),
        NamePattern(_telling_words(versioned), _whole(f"{any_of(versioned)}{_FAMILY_VERSION}"), "name"),
        NamePattern(_telling_words(telling), _whole(named + _VERSION), "name"),
        *of_speaker(
            rf"{_BEFORE}{speaker}(?=\s*(?:[.,;:!?)]|$|and\b|from\b|speaking\b|here\b|{_KIND}\b))",
            rf"\b(?:i\s+am|i['’]m|im|as)\s+an?\s+{speaker}(?=\s+{_KIND}\b)",
            rf"{_INTRODUCED}{speaker}(?=,?\s+(?:an?\b|the\b|from\b|by\b|{_MADE}\b)|\s*[.,;:!?]|$)",
            rf"{_START}as\s+{speaker}(?=\s+i\b)",
            rf"{_START}i,\s+{speaker}(?=,)",
            rf"{_ADDRESS}{speaker}(?!\w)",
            rf"{_START}{speaker}(?=\s+here\s*(?:[.,;!?]|$)|\s+at\s+your\s+service\b)",
            rf"^\s*{speaker}(?=\s*:)",
        ),
    )


@made_once(maxsize=64)
def any_maker(vocabulary: Vocabulary) -> re.Pattern[str]:
    """Any maker: beside the speaker's own name it tells as much as the name, whatever stands between them."""
    words = vocabulary.words
    return _compiled(f"(?P<hidden>{name_part([*words.makers, *words.ordinary_makers]).expression})")


def _spaced(names: Sequence[str]) -> list[str]:
    return [folded(name) for name in names if not is_unspaced(name)]


def _telling_words(names: Sequence[str]) -> Triggers:
    """What a text must hold to name one of ``names``: of each its longest word, which is rarer than the others;
    nothing, where one of them has no letters."""
    runs = [words_in(name) for name in names]
    if not all(runs):
        return ()
    longest = {max(sorted(run), key=len) for run in runs}
    return (frozenset(longest | {word + letter for word in longest for letter in "vr"}),)  # “GPTv2”


def name_part(names: Sequence[str], version: str = "") -> Part:
    """Any of ``names`` as a part of phrases: a word of its own where it is written with spaces around; none: empty."""
    if not names:
        return Part("")
    spaced, unspaced = _spaced(names), [folded(name) for name in names if is_unspaced(name)]
    expressions = [rf"{NO_LETTER_BEFORE}{any_of(spaced)}{version}{NO_LETTER_AFTER}(?!-\w)"] if spaced else []
    expressions += [any_of(unspaced)] if unspaced else []
    stems = [_stem(folded(name)) for name in names]
    needed = () if None in stems else (frozenset(stem for stem in stems if stem is not None),)
    return Part(f"(?:{'|'.join(expressions)})", needed)


def _stem(name: str) -> str | None:
    """What of :func:`~parlai_humaneval.display.patterns.stems_of` a text must hold to hold ``name``; None: nothing."""
    runs = unspaced_runs(name)
    if runs:
        return max(runs, key=len)[:2]
    words = sorted(words_in(name), key=len)
    return stem_of(words[-1], any_ending=name.endswith("*")) if words else None


def _whole(expression: str) -> re.Pattern[str]:
    return _compiled(rf"(?<!\w)(?P<hidden>{expression})(?!\w)")


def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE | re.MULTILINE)


def any_of(names: Sequence[str]) -> str:
    """An expression for any of ``names``, longest first; a separator in a name stands for any separator, “*” for any
    ending."""
    parts = [
        r"[\s_-]".join(re.escape(part).replace(r"\*", r"\w*") for part in re.split(r"[\s_-]+", name))
        for name in sorted(set(names), key=lambda name: (-len(name), name))
    ]
    return f"(?:{'|'.join(parts)})"
