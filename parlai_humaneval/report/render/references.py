"""The papers that methods name, from ``references.bib``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n(?P<fields>.*?)^\}\n", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"\b[A-Z]\w+")
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """``bibtex``: the entry as it stands in the file; ``text``: “S. Holm. A Simple … Journal 6(2), 1979.”"""

    authors: tuple[str, ...]
    year: str
    text: str
    bibtex: str

    def is_named(self, text: str) -> bool:
        """Whether ``text`` names it, as “Smith et al. 2022, §4.1” or “Zhao–Sun (2004)” do."""
        # The year follows the first author, and no other year or reference stands between. “Zhao & Sun 2004” is not Sun's.
        pattern = rf"(?<!& )(?<!–)\b{self.first_author}\b([^\d;\n]{{0,60}})\(?{self.year}\b"
        # Who else is named tells papers of one author and year apart.
        return any(
            self.twins == 1 or set(_NAME.findall(others)) <= {*self.authors} for others in re.findall(pattern, text)
        )

    @property
    def first_author(self) -> str:
        return self.authors[0]

    @property
    def twins(self) -> int:
        """References of the same first author and year."""
        return sum((one.first_author, one.year) == (self.first_author, self.year) for one in all_references())


def references_in(texts: Iterable[str]) -> list[Reference]:
    """References that ``texts`` name; sorted by their text."""
    whole = "\n".join(texts)
    return [reference for reference in all_references() if reference.is_named(whole)]


@lru_cache(maxsize=1)
def all_references() -> tuple[Reference, ...]:
    """All references, sorted by their text."""
    return tuple(sorted(map(_reference, _ENTRY.finditer(_FILE.read_text(encoding="utf-8"))), key=lambda one: one.text))


def _reference(entry: re.Match[str]) -> Reference:
    fields = dict(_FIELD.findall(entry["fields"]))
    authors = [name.split(", ") for name in fields["author"].split(" and ")]
    people = ", ".join(f"{first} {family}" for family, first in authors)
    number = f"({fields['number']})" if "number" in fields else ""
    volume = f" {fields['volume']}{number}" if "volume" in fields else ""
    edition = f", {fields['edition']} edition" if "edition" in fields else ""
    where = ", ".join(fields[name] for name in ("journal", "booktitle", "publisher") if name in fields)
    text = f"{people}. {fields['title'].strip('{}')}{edition}. {where}{volume}, {fields['year']}.".replace(r"\&", "&")
    return Reference(tuple(family for family, _ in authors), fields["year"], text, entry[0].strip())
