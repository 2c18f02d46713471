"""Whole references of what sources name by author and year, as text and as BibTeX; they stand in ``references.bib``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n(?P<fields>.*?)^\}\n", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """``bibtex``: the entry as it stands in the file; ``text``: “S. Holm. A Simple … Journal 6(2), 1979.”"""

    first_author: str
    year: str
    text: str
    bibtex: str


def references_in(texts: Iterable[str]) -> list[Reference]:
    """References that ``texts`` name, as “Smith et al. 2022, §4.1” or “Zhao–Sun (2004)” do; sorted by their text."""
    whole = "\n".join(texts)
    return [reference for reference in all_references() if _named(whole, reference.first_author, reference.year)]


@lru_cache(maxsize=1)
def all_references() -> tuple[Reference, ...]:
    """All references, sorted by their text."""
    return tuple(sorted(_read(), key=lambda reference: reference.text))


def _read() -> tuple[Reference, ...]:
    return tuple(_reference(entry) for entry in _ENTRY.finditer(_FILE.read_text(encoding="utf-8")))


def _reference(entry: re.Match[str]) -> Reference:
    fields = dict(_FIELD.findall(entry["fields"]))
    authors = [name.split(", ") for name in fields["author"].split(" and ")]
    people = ", ".join(f"{first} {family}" for family, first in authors)
    number = f"({fields['number']})" if "number" in fields else ""
    volume = f" {fields['volume']}{number}" if "volume" in fields else ""
    edition = f", {fields['edition']} edition" if "edition" in fields else ""
    where = ", ".join(fields[name] for name in ("journal", "booktitle", "publisher") if name in fields)
    text = f"{people}. {fields['title'].strip('{}')}{edition}. {where}{volume}, {fields['year']}.".replace(r"\&", "&")
    return Reference(authors[0][0], fields["year"], text, entry[0].strip())


def _named(text: str, name: str, year: str) -> bool:
    # The year follows the first author, and no other year or reference stands between. “Zhao & Sun 2004” is not Sun's.
    return re.search(rf"(?<!& )(?<!–)\b{name}\b[^\d;\n]{{0,60}}\(?{year}\b", text) is not None
