"""The words by which programs give themselves away: ``data/disclosures.yaml``, and a file of one's own besides.

The names of models and makers, and for each language the phrases by which a program speaks of itself. They are data: how
to write them says :mod:`~parlai_humaneval.display.patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from parlai_humaneval._util.data_files import packaged as packaged_file
from parlai_humaneval._util.data_files import read_yaml, validated
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.display.patterns import ListsRead, Part, Phrase, PhraseError, read_phrase
from parlai_humaneval.display.text import made_once

NAME, MAKER = "name", "maker"
"""The lists of names that phrases of every language may use."""
PHRASES = ("talk", "innocent", "introductions", "origins")
"""The parts of a language that hold phrases."""


class VocabularyError(HumanevalError, ValueError):
    """A file of disclosures cannot be used; the message says what was expected."""


def _not_blank(entry: str) -> str:
    if not entry.strip():
        raise ValueError("must not be blank")
    return entry


Entry = Annotated[str, AfterValidator(_not_blank)]
"""A name or phrase: a blank one would be found in every text."""


class LanguageWords(BaseModel):
    """The words of one language."""

    model_config = ConfigDict(extra="forbid")

    variants: str = ""
    """Characters that stand for the same, in groups: “为為 个個”."""
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
    """What stands before a line that a program wrote: “Assistant”."""
    human_labels: list[Entry] = Field(default_factory=list)
    """What stands before a line of the person who talks to it: “User”."""

    def letters(self) -> dict[str, str]:
        """A character → all that stand for the same."""
        return {character: group for group in self.variants.split() for character in group}


class Words(BaseModel):
    """A file of disclosures."""

    model_config = ConfigDict(extra="forbid")

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

    def with_more(self, more: Words) -> Words:
        """These, and ``more``; its lists make those of the same name longer."""
        return Words.model_validate(_joined(self.model_dump(), more.model_dump()))

    def phrases(self, part: str, names: Mapping[str, Part]) -> Iterator[Phrase]:
        """Those of all languages: one of :data:`PHRASES`.

        Args:
            part: ``talk``, ``innocent``, ``introductions`` or ``origins``.
            names: those that :data:`NAME` and :data:`MAKER` stand for.

        Raises:
            VocabularyError: one cannot be read.
        """
        for code, language in self.languages.items():
            letters, lists_read = language.letters(), ListsRead()
            for notation in getattr(language, part):
                try:
                    yield read_phrase(notation, language.lists, names, letters, lists_read)
                except PhraseError as error:
                    raise VocabularyError(error, where=f"languages.{code}.{part}: “{notation}”") from error


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words to look for. Two are the same only where they are one object, so that what is made of them can be kept."""

    words: Words


@made_once(maxsize=1)
def packaged() -> Vocabulary:
    """That of the packaged file alone."""
    return Vocabulary(Words.model_validate(read_yaml(packaged_file("disclosures.yaml"))))


def vocabulary_with(path: Path) -> Vocabulary:
    """The packaged one with a file of one's own.

    Raises:
        VocabularyError: it cannot be read, or a phrase in it cannot.
    """
    data = read_yaml(path, "expected a YAML file like data/disclosures.yaml", VocabularyError)
    own = validated(Words, {} if data is None else data, path, error=VocabularyError)
    try:
        vocabulary = Vocabulary(packaged().words.with_more(own))
        for part in PHRASES:
            list(vocabulary.words.phrases(part, {NAME: Part("name"), MAKER: Part("maker")}))
    except VocabularyError as error:
        raise VocabularyError(error, where=path) from error
    if own == Words():
        raise VocabularyError("holds no words", where=path, try_=f"expected some of {', '.join(Words.model_fields)}")
    return vocabulary


def unprotected(tags: Iterable[str], vocabulary: Vocabulary, scripts: Iterable[str] = ()) -> str | None:
    """A sentence on the languages in which no phrase is known, of ``tags`` (“pt-BR”, “zh”) and ``scripts`` (“Arabic”); None:
    there is none."""
    known = vocabulary.words.languages
    unknown = [tag for tag in dict.fromkeys(tags) if re.split("[-_]", tag)[0].lower() not in known]
    unknown += [f"{script} letters" for script in dict.fromkeys(scripts)]
    if not unknown:
        return None
    return (
        f"Blinding knows no phrases in {', '.join(unknown)}: a reply that says there that a program wrote it is shown as it "
        "is, unless replies.disclosures_file adds that language."
    )


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, dict):
        return {key: _joined(first[key], second[key]) if key in first and key in second else first.get(key, second.get(key))
                for key in {**first, **second}}  # fmt: skip
    return f"{first} {second}" if isinstance(first, str) else [*first, *second]
