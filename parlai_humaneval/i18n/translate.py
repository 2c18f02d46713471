"""What is said to a rater, in the language of their page. English stands where it is said and is the key of every catalogue.

As in gettext, and as ``src/language.ts`` has it on the page: the language is in force for a thread (or task), not passed to
every place that says something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from gettext import NullTranslations
from typing import Literal

PLACE = re.compile(r"\{(\w+)\}")
"""Where a value stands in a text."""


@dataclass(frozen=True)
class Language:
    """A language that raters can be spoken to in: ``tag`` as in HTML's ``lang``, ``name`` in the language itself."""

    tag: str
    name: str
    direction: Literal["ltr", "rtl"]
    words: NullTranslations


ENGLISH = Language("en", "English", "ltr", NullTranslations())

_spoken: ContextVar[Language] = ContextVar("language", default=ENGLISH)


def spoken() -> Language:
    return _spoken.get()


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """What is said within is said in this language."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def t(english: str, **values: object) -> str:
    """A text in the language in force; ``{name}`` in it stands for the value of that name."""
    return in_places(spoken().words.gettext(english) if english else "", values)


def tn(one: str, many: str, n: int, **values: object) -> str:
    """The same for a number of things, in the plural form that the language wants; ``{n}`` stands for the number."""
    return in_places(spoken().words.ngettext(one, many, n), {"n": n, **values})


def joined(sentences: Iterable[str]) -> str:
    """Sentences one after another, with what the language puts between two of them."""
    return reduce(lambda first, second: t("{first} {second}", first=first, second=second), sentences, "").strip()


def in_words(seconds: float) -> str:
    """A time of this machine (since the epoch), as the language in force writes it."""
    from babel.dates import format_datetime

    return str(format_datetime(datetime.fromtimestamp(seconds), t("dd MMMM yyyy, HH:mm"), locale=spoken().tag))


def phrase(english: str) -> str:
    """Marks a text that is said later, by :func:`t`, or in a field of :data:`Words`."""
    return english


def in_places(text: str, values: dict[str, object]) -> str:
    """A text with values in its places; a place without a value stays as it is, and values are never looked into."""
    return PLACE.sub(lambda place: str(values.get(place[1], place[0])), text)
