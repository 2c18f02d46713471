"""Words that give programs away, from ``data/disclosures.yaml`` and your file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from parlai_humaneval._util.data_files import DataError, read_json, read_yaml, validated
from parlai_humaneval._util.data_files import packaged as packaged_file
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.files import write_private
from parlai_humaneval.display import patterns, text
from parlai_humaneval.schema.records import MaskKind

NAME, MAKER = "name", "maker"
"""The lists of names that phrases of every language may use."""
PHRASES = ("talk", "innocent", "introductions", "origins")


def _not_blank(entry: str) -> str:
    if not entry.strip():
        raise InvalidValue("must not be blank", try_="write a word, or leave the entry out")
    return entry


Entry = Annotated[str, AfterValidator(_not_blank)]
"""A name or phrase: a blank one would be found in every text."""


class LanguageWords(BaseModel, extra="forbid"):
    """The words of one language."""

    variants: str = ""
    """Equivalent characters, in groups: “为為 个個”."""
    lists: dict[str, list[str]] = Field(default_factory=dict)
    """Parts of phrases, which others take in as ``{name}``."""
    talk: list[Entry] = Field(default_factory=list)
    """What only a program says of itself."""
    innocent: list[Entry] = Field(default_factory=list)
    """What people say though it sounds like a program: nothing of the other phrases is found where one of these stands."""
    introductions: list[Entry] = Field(default_factory=list)
    """How a speaker gives its ``{name}``."""
    origins: list[Entry] = Field(default_factory=list)
    """How a speaker gives its ``{maker}``."""
    labels: list[Entry] = Field(default_factory=list)
    """Labels before a line that a program wrote: “Assistant”."""
    human_labels: list[Entry] = Field(default_factory=list)
    """Labels before a line of the person who talks to the program: “User”."""

    def letters(self) -> dict[str, str]:
        return {character: group for group in self.variants.split() for character in group}


class Words(BaseModel, extra="forbid"):
    """A file of disclosures."""

    names: list[Entry] = Field(default_factory=list)
    """Models that no chat means otherwise: hidden wherever they stand. A version behind them goes along."""
    ordinary_names: list[Entry] = Field(default_factory=list)
    """Models whose names are also words or people's names: hidden where the speaker is introduced by them."""
    versioned: list[Entry] = Field(default_factory=list)
    """Ordinary names that no chat means otherwise with a version: “Llama 3.1”."""
    makers: list[Entry] = Field(default_factory=list)
    """Makers that are known for nothing but models."""
    ordinary_makers: list[Entry] = Field(default_factory=list)
    """Makers of other things, too: hidden where the speaker is said to be made by them."""
    languages: dict[str, LanguageWords] = Field(default_factory=dict)
    """Language → its words."""

    def phrases(self, part: str, names: Mapping[str, patterns.Part]) -> Iterator[patterns.Phrase]:
        """Those of all languages in a ``part`` of :data:`PHRASES`; a DataError where one cannot be read."""
        for code, language in self.languages.items():
            letters, lists_read = language.letters(), patterns.ListsRead()
            for notation in getattr(language, part):
                try:
                    yield patterns.read_phrase(notation, language.lists, names, letters, lists_read)
                except InvalidValue as error:
                    raise DataError(error, where=f"languages.{code}.{part}: “{notation}”") from error


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words to look for. Two are the same only where they are one object, so that what is made of them can be kept."""

    words: Words


@text.made_once(maxsize=1)
def packaged() -> Vocabulary:
    return Vocabulary(Words.model_validate(read_yaml(packaged_file("disclosures.yaml"))))


def vocabulary_with(path: Path) -> Vocabulary:
    data = read_yaml(path, "expected a YAML file like data/disclosures.yaml")
    own = validated(Words, {} if data is None else data, path)
    try:
        vocabulary = Vocabulary(Words.model_validate(_joined(packaged().words.model_dump(), own.model_dump())))
        changed = Words(languages={code: vocabulary.words.languages[code] for code in own.languages})
        for part in PHRASES:
            list(changed.phrases(part, {NAME: patterns.Part("name"), MAKER: patterns.Part("maker")}))
    except DataError as error:
        raise DataError(error, where=path) from error
    if own == Words():
        raise DataError("holds no words", where=path, try_=f"expected some of {', '.join(Words.model_fields)}")
    return vocabulary


def unprotected(tags: Iterable[str], vocabulary: Vocabulary, scripts: Iterable[str] = ()) -> str | None:
    """A sentence on the languages, by ``tags`` (“pt-BR”) and ``scripts`` (“Arabic”), in which no phrase is known."""
    known = vocabulary.words.languages
    unknown = [tag for tag in dict.fromkeys(tags) if re.split("[-_]", tag)[0].lower() not in known]
    unknown += [f"{script} letters" for script in dict.fromkeys(scripts)]
    if not unknown:
        return None
    return (
        f"Blinding does not support {', '.join(unknown)}: if a model says in this language or script that it is a "
        "program, raters see the reply unchanged. To add the language, use replies.disclosures_file."
    )


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, dict):
        both = {key: _joined(first[key], second[key]) for key in first if key in second}
        return {**first, **second, **both}
    return f"{first} {second}" if isinstance(first, str) else [*first, *second]


@text.made_once(maxsize=1)
def english() -> Mapping[str, Any]:
    content: Mapping[str, Any] = read_yaml(packaged_file("english.yaml"))
    return content


def filled(expression: str | Sequence[str], names: Mapping[str, str]) -> str:
    """An expression of :func:`english` with its parts and ``names`` in the places of ``{PART}``."""
    known = {"NO_LETTER_AFTER": text.NO_LETTER_AFTER, **english()["parts"], **names}
    return re.sub(r"\{([A-Za-z_]+)\}", lambda place: filled(known[place[1]], names), "".join(expression))


ANYBODYS = frozenset({"human", "person", "bot", "chatbot", "model", "assistant", "people", "user", "worker"})
"""Zoo names that anybody may call themselves, the zoo's ``human`` above all: “I am human” tells nobody's name."""


def is_telling(name: str) -> bool:
    """Whether a zoo name is unmistakable: it holds a digit or a separator, which no ordinary word does."""
    return any(character.isdigit() or character in "_-" for character in name)


def speaking_names(names: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Names that are hidden only where the speaker is introduced by them: the zoo's, and those of the vocabulary."""
    zoo = [name for name in names if not is_telling(name) and name.casefold() not in ANYBODYS]
    return [*zoo, *vocabulary.words.ordinary_names]


@text.made_once(maxsize=256)
def name_phrases(names: tuple[str, ...], vocabulary: Vocabulary) -> dict[MaskKind, patterns.PhraseBook]:
    """How other languages than English name a speaker and its maker, and names in letters written without spaces."""
    words = vocabulary.words
    telling: dict[MaskKind, list[str]] = {"maker": words.makers, "name": [*filter(is_telling, names), *words.names]}
    whole: dict[MaskKind, list[patterns.Phrase]] = {}
    for kind, some in telling.items():
        part = name_part([*filter(text.is_unspaced, some)], _version())
        whole[kind] = (
            [patterns.Phrase(f"(?P<hidden>{part.expression})", part.needed, unspaced=True)] if part.expression else []
        )
    lists = {
        NAME: name_part(speaking_names(names, vocabulary), _version()),
        MAKER: name_part([*words.makers, *words.ordinary_makers]),
    }
    return {
        "maker": patterns.PhraseBook([*whole["maker"], *words.phrases("origins", lists)]),
        "name": patterns.PhraseBook([*whole["name"], *words.phrases("introductions", lists)]),
    }


@text.made_once(maxsize=64)
def talk_phrases(vocabulary: Vocabulary) -> patterns.PhraseBook:
    """If a file by users only adds languages, only these are read, and the rest are the packaged phrases."""
    known, words = packaged().words, vocabulary.words
    added = {code: language for code, language in words.languages.items() if code not in known.languages}
    others = {code: language for code, language in words.languages.items() if code not in added}
    if words.model_copy(update={"languages": others}) != known:
        return patterns.PhraseBook(_with_names("talk", words))
    return patterns.PhraseBook([*_packaged_talk(), *_with_names("talk", words.model_copy(update={"languages": added}))])


@text.made_once(maxsize=1)
def _packaged_talk() -> Sequence[patterns.Phrase]:
    """Reading them takes two seconds, so they are cached where Python keeps compiled files, and read again if that is
    impossible."""
    if not sys.implementation.cache_tag:
        return list(_with_names("talk", packaged().words))
    # Compare contents: installers and images may give all files the same time.
    code = (Path(__file__).with_name(f"{name}.py") for name in ("patterns", "text", "vocabulary"))
    sources = [packaged_file("disclosures.yaml"), packaged_file("english.yaml"), *filter(Path.is_file, code)]
    stamp = sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()
    kept = Path(cache_from_source(__file__)).with_name(f"talk.{sys.implementation.cache_tag}.json")
    with suppress(OSError, ValueError, TypeError):
        stamped, rows = read_json(kept)
        if stamped == stamp:
            return [patterns.Phrase(said, tuple(map(frozenset, stems)), unspaced) for said, stems, unspaced in rows]
    phrases = list(_with_names("talk", packaged().words))
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            rows = [(each.expression, [sorted(stems) for stems in each.triggers], each.unspaced) for each in phrases]
            write_private(kept, json.dumps([stamp, rows]).encode(), mode=0o644)
    return phrases


@text.made_once(maxsize=64)
def innocent_phrases(vocabulary: Vocabulary) -> patterns.PhraseBook:
    return patterns.PhraseBook(_with_names("innocent", vocabulary.words))


def _with_names(part: str, words: Words) -> Iterator[patterns.Phrase]:
    names, makers = [*words.names, *words.ordinary_names], [*words.makers, *words.ordinary_makers]
    return words.phrases(part, {NAME: name_part(names, _version()), MAKER: name_part(makers)})


@text.made_once(maxsize=256)
def name_patterns(names: tuple[str, ...], vocabulary: Vocabulary) -> tuple[tuple[patterns.Phrase, MaskKind], ...]:
    """English patterns for zoo ``names`` and the well-known ones; an earlier one wins where two overlap."""
    words = vocabulary.words
    lists = {
        "speaking": _spaced(speaking_names(names, vocabulary)),
        "telling": _spaced([*filter(is_telling, names), *words.names]),
        "makers": _spaced([*words.ordinary_makers, *words.makers]),
        "telling_makers": _spaced(words.makers),
        "versioned": _spaced(words.versioned),
        "anthropic": ["anthropic"],
    }
    lists["names"] = [*lists["speaking"], *lists["telling"]]
    expressions = {name: patterns.any_of(some) for name, some in lists.items()}
    expressions |= {"ordinary": expressions["speaking"], "named": expressions["telling"]}
    expressions["speaker"] = f"(?P<hidden>{expressions['ordinary']}{{VERSION}})"
    expressions["maker"] = f"(?P<hidden>{expressions['makers']})"
    return tuple(
        (
            patterns.Phrase(
                filled(entry["find"], expressions),
                tuple(needed for name in entry["needs"] for needed in _telling_words(lists[name])),
                unspaced=False,
            ),
            entry["kind"],
        )
        for entry in english()["names"]
    )


@text.made_once(maxsize=64)
def any_maker(vocabulary: Vocabulary) -> re.Pattern[str]:
    """Any maker: next to the speaker's name it says as much as the name, whatever is between them."""
    words = vocabulary.words
    return re.compile(
        f"(?P<hidden>{name_part([*words.makers, *words.ordinary_makers]).expression})", re.IGNORECASE | re.MULTILINE
    )


def _version() -> str:
    return filled("{VERSION}", {})


def _spaced(names: Sequence[str]) -> list[str]:
    return [text.folded(name) for name in names if not text.is_unspaced(name)]


def _telling_words(names: Sequence[str]) -> patterns.Triggers:
    """What a text must hold to name one of ``names``: of each its longest word; nothing, where one has no letters."""
    runs = [text.words_in(name) for name in names]
    if not all(runs):
        return ()
    longest = {max(sorted(run), key=len) for run in runs}
    return (frozenset(longest | {word + letter for word in longest for letter in "vr"}),)  # “GPTv2”


def name_part(names: Sequence[str], version: str = "") -> patterns.Part:
    """Any of ``names`` as a part of phrases: a word of its own where it is written with spaces around; none: empty."""
    if not names:
        return patterns.Part("")
    spaced, unspaced = _spaced(names), [text.folded(name) for name in names if text.is_unspaced(name)]
    expressions = (
        [rf"{text.NO_LETTER_BEFORE}{patterns.any_of(spaced)}{version}{text.NO_LETTER_AFTER}(?!-\w)"] if spaced else []
    )
    expressions += [patterns.any_of(unspaced)] if unspaced else []
    stems = [_stem(text.folded(name)) for name in names]
    needed = () if None in stems else (frozenset(stem for stem in stems if stem is not None),)
    return patterns.Part(f"(?:{'|'.join(expressions)})", needed)


def _stem(name: str) -> str | None:
    """What of :func:`~parlai_humaneval.display.patterns.stems_of` a text must hold to hold ``name``; None: nothing."""
    runs = text.unspaced_runs(name)
    if runs:
        return max(runs, key=len)[:2]
    words = sorted(text.words_in(name), key=len)
    return patterns.stem_of(words[-1], any_ending=name.endswith("*")) if words else None
