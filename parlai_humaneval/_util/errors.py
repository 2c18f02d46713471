"""Errors that a user can fix: what is wrong, where, and what to try. Any other exception keeps its traceback.

What a file, an option or a setting can make wrong is an error of these kinds. A plain ValueError is for a programmer who
called a function wrongly, such as a statistic with lists of two lengths."""

from __future__ import annotations

import copyreg
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

_SENTENCE_ENDS = (".", "?", "!")
_OF_PYDANTIC = re.compile("^(?:Value|Assertion) error, ")
_TYPED = re.compile(r"`parlai-humaneval |(?<!\w)--[a-z]|zoo_files=")  # what only a command line takes


@dataclass(frozen=True)
class Misspelt:
    """A mistyped word, and the known words that it may mean, the likeliest first."""

    word: str
    nearest: tuple[str, ...]
    is_setting: bool = False

    def __str__(self) -> str:
        return " or ".join(f"{name}=…" if self.is_setting else name for name in self.nearest)


class Choice(TypedDict):
    """What an error says of a word that is none of those known."""

    misspelt: Misspelt | None
    try_: str


class Parts(TypedDict, total=False):
    """What an error says besides what is wrong."""

    where: object
    try_: str | Sequence[str]
    misspelt: Misspelt | None


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: ``what`` (a clause), ``where`` (file, line, setting) unless named, ``try_``: what to do."""

    what: str
    where: str = ""
    try_: tuple[str, ...] = ()
    misspelt: Misspelt | None = None

    @property
    def fact(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        meant = self.misspelt is not None and self.misspelt.nearest
        return f"{text}. Did you mean {self.misspelt}?" if meant else text

    def __str__(self) -> str:
        text = self.fact
        for advice in self.try_:
            # A sentence begins with a capital letter, but names of commands and options keep their letters.
            begins = advice[:1].upper() if advice.partition(" ")[0].isalpha() else advice[:1]
            text += f" {begins}{advice[1:]}" if text.endswith(_SENTENCE_ENDS) else f"; {advice}"
        return text

    def within(self, where: object) -> Problem:
        return replace(self, where=": ".join(filter(None, (str(where), self.where))))


class HumanevalError(Exception):
    """Something that the user can mend; of known problems or an error, ``what`` takes these. ``str()``: a line each."""

    def __init__(
        self,
        what: str | BaseException | Problem | Iterable[Problem] = "",
        *,
        where: object = "",
        try_: str | Sequence[str] = (),
        misspelt: Misspelt | None = None,
    ) -> None:
        advice = ((try_,) if try_ else ()) if isinstance(try_, str) else tuple(try_)
        self.problems = tuple(
            replace(problem, try_=(*problem.try_, *advice), misspelt=misspelt or problem.misspelt).within(where)
            for problem in _problems_of(what)
        )
        super().__init__(str(self))

    @property
    def what(self) -> str:
        return "\n".join(problem.what for problem in self.problems)

    @property
    def where(self) -> str:
        return self.problems[0].where if self.problems else ""

    @property
    def try_(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(advice for problem in self.problems for advice in problem.try_))

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))

    def on_page(self) -> str:
        """The text for somebody who reads it on a page: without advice on what to type in a terminal."""
        problems = [
            replace(one, try_=tuple(said for said in one.try_ if not _TYPED.search(said))) for one in self.problems
        ]
        return "\n".join(map(str, problems))

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors are sent between processes, whatever their classes take."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # not in typeshed


class DataError(HumanevalError, ValueError):
    """A file, or something in it, that cannot be used."""


class InvalidValue(HumanevalError, ValueError):
    """A value that a setting or an argument does not take; pydantic reports it among its own problems."""


def _problems_of(known: str | BaseException | Problem | Iterable[Problem]) -> tuple[Problem, ...]:
    if isinstance(known, HumanevalError):
        return known.problems
    if isinstance(known, Problem):
        return (known,)
    return (Problem(str(known)),) if isinstance(known, (str, BaseException)) else tuple(known)


def misspelt(
    word: str, known: Iterable[str], *, cutoff: float = 0.6, most: int = 1, spelled: str | None = None
) -> Misspelt | None:
    """The word with the known ones that are like it; None where none is, or it is one of them, so that something else is
    wrong. ``spelled``: what to compare in its place."""
    words = list(known)
    near = [] if word in words else difflib.get_close_matches(spelled or word, words, n=most, cutoff=cutoff)
    return Misspelt(word, tuple(near)) if near else None


def choose_from(word: str, known: Iterable[str]) -> Choice:
    """Parts of the error for a word that is not known: the nearest one, and all that there are."""
    words = list(known)
    return {"misspelt": misspelt(word, words), "try_": f"choose one of: {', '.join(words)}" if words else ""}


def value_problem(error: Mapping[str, Any]) -> Problem:
    """A pydantic problem in the words of somebody who wrote a file or typed a setting; callers know where (``loc``)."""
    kind, given, bounds = str(error["type"]), error["input"], error.get("ctx", {})
    if isinstance(raised := bounds.get("error"), HumanevalError):
        return raised.problems[0]
    if kind == "literal_error":
        known = [word.strip("'") or "''" for word in re.split(", | or ", str(bounds["expected"]))]
        return HumanevalError(f"cannot be {given!r}", **choose_from(str(given), known)).problems[0]
    words = {
        "missing": "is missing",
        "extra_forbidden": "is not a known name here; check the spelling",
        "list_type": f"must be a list, such as [a,b], not {given!r}",
        "model_type": "must be an object of names and values",
        "model_attributes_type": "must be an object of names and values",
        "string_too_short": "must not be empty",
        "too_short": f"needs {bounds.get('min_length', 1)} or more entries",
        "greater_than_equal": f"must be {bounds.get('ge')} or more, not {given!r}",
        "greater_than": f"must be more than {bounds.get('gt')}, not {given!r}",
        "less_than_equal": f"must be {bounds.get('le')} or less, not {given!r}",
        "less_than": f"must be less than {bounds.get('lt')}, not {given!r}",
        "finite_number": f"must be a finite number, not {given!r}",
        **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), f"must be a whole number, not {given!r}"),
        **dict.fromkeys(("float_parsing", "float_type"), f"must be a number, not {given!r}"),
        **dict.fromkeys(("bool_parsing", "bool_type"), f"must be true or false, not {given!r}"),
    }
    return Problem(words.get(kind) or _OF_PYDANTIC.sub("", str(error["msg"])))
