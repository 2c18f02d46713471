"""Cells of a CSV file that a spreadsheet would run as a formula: raters and panels can type what they like."""

from __future__ import annotations

import re

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
