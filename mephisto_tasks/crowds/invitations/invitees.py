"""A file of names: who is to be invited. What is wrong with it is told by line, all at once, before anything is made."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from parlai_humaneval._util.csv_cells import is_formula
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.text import on_one_line

NAME, EMAIL = "name", "email"
EXPECTED = "make the first line a header with the column “name”, and perhaps “email” (name,email)"
_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))
"""They show nothing, and belong into Persian and Indian names, and into some emoji."""
_AT_ENDS = " \t\ufeff\u200b\u200e\u200f\u2060"
"""Blanks and marks that show nothing, and come with what is pasted; other invisible characters are an error."""
_DELIMITERS = ",;\t"
"""Spreadsheets of some countries write “CSV” with semicolons."""
LONGEST = 200
SHOWN = 40
"""As many letters of a cell an error shows."""
MOST_TOLD = 10
"""As many lines an error tells of; the others are counted."""


class NamesError(HumanevalError, ValueError):
    """The file of names cannot be used; the message says in which line, and what to do."""


@dataclass(frozen=True)
class Person:
    """Somebody who is to be invited, as the file spells them."""

    name: str
    email: str = ""

    @property
    def identity(self) -> str:
        """What makes them one person, however it is spelled: the address, else the name."""
        return normalised(self.email or self.name)


def normalised(text: str) -> str:
    """The same for spellings that differ in case, in spaces, in joiners, or in how Unicode composes them."""
    return " ".join(unicodedata.normalize("NFKC", _without_joiners(text)).casefold().split())


def _without_joiners(text: str) -> str:
    return text.translate(_JOINERS)


def read_people(path: Path) -> list[Person]:
    """The people of a CSV file with the columns ``name`` and, if there is one, ``email``; further ones are left alone.

    Raises:
        NamesError: the file is not CSV in UTF-8 with these columns, or a line is empty, double, or no name.
    """
    people: dict[str, tuple[int, Person]] = {}
    troubles: list[str] = []
    for line, cells in _rows(path):
        person = Person(cells[NAME], cells.get(EMAIL, ""))
        trouble = trouble_of(person) or _seen(person, people)
        if trouble:
            troubles.append(f"line {line}: {trouble}")
        else:
            people[person.identity] = (line, person)
    if troubles:
        more = f"\n  … and {len(troubles) - MOST_TOLD} more lines" if len(troubles) > MOST_TOLD else ""
        lines = "".join(f"\n  {trouble}" for trouble in troubles[:MOST_TOLD])
        raise NamesError(f"nobody is invited until these lines are right:{lines}{more}", where=path)
    if not people:
        raise NamesError("holds no names", where=path, try_="name one person in each line below the header")
    return [person for _, person in people.values()]


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Number and cells of each line below the header; only the wanted columns."""
    text = _text(path)
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        wanted = _columns(path, next(reader, []))
        for row in reader:
            yield reader.line_num, {name: _cell(row[at]) if at < len(row) else "" for name, at in wanted.items()}
    except csv.Error as error:
        raise NamesError(f"is not CSV ({error})", where=f"{path}, line {reader.line_num}") from error


def _cell(text: str) -> str:
    plain = "".join(" " if unicodedata.category(letter) == "Zs" else letter for letter in text)
    return " ".join(filter(None, plain.strip(_AT_ENDS).split(" ")))


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NamesError(
            f"is not UTF-8 (byte 0x{content[error.start]:02x})",
            where=f"{path}, line {line}",
            try_="save it as UTF-8; spreadsheets call that “CSV UTF-8”",
        ) from error
    return text.rstrip() + "\n" if text.strip() else ""  # lines that are empty at the end of a file mean nothing


def _columns(path: Path, header: list[str]) -> dict[str, int]:
    names = [normalised(cell).replace("e-mail", EMAIL) for cell in header]
    if not names:
        raise NamesError("is empty", where=path, try_=EXPECTED)
    for name in (NAME, EMAIL):
        if names.count(name) > 1:
            raise NamesError(f"{path}, line 1: the column “{name}” stands twice", try_="keep one of them")
    if NAME not in names:
        what = f"has no column “name”, but {_shown(', '.join(header))}"
        raise NamesError(what, where=f"{path}, line 1", try_=EXPECTED)
    return {name: names.index(name) for name in (NAME, EMAIL) if name in names}


def trouble_of(person: Person) -> str | None:
    """Why nobody can be invited under such a name, or with such an address."""
    if not normalised(person.name):
        return f"has no name for {_shown(person.email)}" if person.email else "is empty; take the line out"
    for text in (person.name, person.email):
        if is_formula(text):
            return f"{_shown(text)} is no name: a spreadsheet would run what begins with {text[0]!r} as a formula"
        if not _without_joiners(text).isprintable():
            return f"{_shown(text)} holds characters that cannot be printed, such as a line break"
        if len(text) > LONGEST:
            return f"{_shown(text)} is longer than {LONGEST} characters"
    if person.email and ("@" not in person.email.strip("@") or " " in person.email):
        return f"{_shown(person.email)} is no e-mail address"
    return None


def _seen(person: Person, people: Mapping[str, tuple[int, Person]]) -> str | None:
    if person.identity not in people:
        return None
    line, earlier = people[person.identity]
    return f"{_shown(person.email or person.name)} stands in line {line} already ({_shown(earlier.name)}); one line a person"


def _shown(text: str) -> str:
    return f"“{on_one_line(text, SHOWN)}”"
