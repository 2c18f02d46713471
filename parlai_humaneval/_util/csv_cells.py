"""CSV files, and their cells that a spreadsheet would run as a formula: raters and panels can type what they like."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any, TextIO

# One apostrophe before it stops that; the pattern takes leading apostrophes too, so that reading back is exact.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would take the cell for more than a text, or :func:`unguarded` would change it."""
    return _FORMULA.match(cell) is not None


def guarded(cell: str) -> str:
    """The cell with an apostrophe before it, where it is needed."""
    return f"'{cell}" if is_formula(cell) else cell


def unguarded(cell: str) -> str:
    """What :func:`guarded` was given."""
    return cell[1:] if _GUARDED.match(cell) else cell


def write_rows(file: TextIO, heading: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write CSV, every cell quoted and each text :func:`guarded`. A file is to be opened with ``newline=""``."""
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
