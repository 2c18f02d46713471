"""Text from others, made safe for a terminal and a log: data without control codes; and names in one spelling."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cache
from types import NoneType
from typing import Any, TextIO

INSTEAD = "�"
_LINES = "\n\t"
_CONTROL = ("Cc", "Cs")
"""Control characters, of ASCII and of the table behind it, and halves of characters."""
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They change the direction of what stands behind them, whoever wrote that."""


def printable(text: str, keep: str = _LINES, instead: Callable[[str], str] = lambda letter: INSTEAD) -> str:
    """The text without what a terminal would obey; by default its lines and tabs stay, and :data:`INSTEAD` stands there."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter
        if letter in keep or not (letter in _TURNING or unicodedata.category(letter) in _CONTROL)
        else instead(letter)
        for letter in text
    )


def on_one_line(text: str, most: int) -> str:
    """The text without line breaks and codes that a terminal would obey; cut to ``most`` letters."""
    cut = text if len(text) <= most else text[:most] + "…"
    return "".join(letter if letter.isprintable() else INSTEAD for letter in " ".join(cut.split()))


def visible(text: str) -> str:
    """The text as it is where all of it can be seen, else in quotes with its invisible characters escaped."""
    return text if text and text.isprintable() and text == text.strip() else repr(text)


def escaped(text: str) -> str:
    """The text with escapes for what cannot be seen, such as ``\\u{200b}``, to be typed into a command."""
    return "".join(letter if letter.isprintable() else f"\\u{{{ord(letter):x}}}" for letter in text)


def unescaped(text: str) -> str:
    """The text of which :func:`escaped` made this."""
    return re.sub(r"\\u\{([0-9a-f]{1,5})\}", lambda match: chr(int(match[1], 16)), text)


UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Unicode's categories of control and format characters and of white space, the non-breaking one included."""


def clean_label(text: str) -> str:
    """``text`` without blanks and invisible characters at its ends, with composed accents (Unicode's NFC).

    >>> clean_label('\\ufeffBlender\\u00a0 ')
    'Blender'
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    composed = unicodedata.normalize("NFC", text)
    seen = [place for place, letter in enumerate(composed) if unicodedata.category(letter) not in UNSEEN]
    return composed[seen[0] : seen[-1] + 1] if seen else ""


# One apostrophe before it stops that; the pattern takes leading apostrophes too, so that reading back is exact.
# A number below 0 is one.
_FORMULA = re.compile(r"(?!-[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z)'*[=+\-@\t\r\n＝＋－＠]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would take the cell for more than a text, or :func:`unguarded` would change it."""
    return _FORMULA.match(cell) is not None


def guarded(cell: str) -> str:
    return f"'{cell}" if is_formula(cell) else cell


def unguarded(cell: str) -> str:
    return cell[1:] if _GUARDED.match(cell) else cell


def write_columns(file: TextIO, heading: Iterable[str], columns: Sequence[Sequence[Any]]) -> None:
    """:func:`csv_text` of columns, many of which hold numbers or nothing, and others the same texts again: quicker."""
    guard = cache(lambda cell: None if cell is None else guarded(cell))  # once, however often a text stands there
    shown: list[Iterable[Any]] = []
    for column in columns:
        kinds = set(map(type, column))
        if kinds <= {str, NoneType}:
            shown.append(map(guard, column) if str in kinds else column)
        else:
            shown.append([guarded(cell) if isinstance(cell, str) else cell for cell in column])
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(zip(*shown, strict=True))


def csv_text(heading: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """CSV, every cell quoted and each text :func:`guarded`."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
"""Runs of Chinese characters and Japanese kana, which are written without spaces between words."""

_CHARACTERS_PER_WORD = 1.5  # in text without spaces: Chinese words have one or two characters


def count_words(text: str) -> int:
    """Words, as a rater counts them: runs of characters between white space that hold a letter or digit."""
    return sum(_words_in(run) for run in text.split() if any(character.isalnum() for character in run))


def _words_in(run: str) -> int:
    if run.isascii():
        return 1
    rest = UNSPACED.sub(" ", run).split()
    unspaced = sum(len(found) for found in UNSPACED.findall(run))
    spaced = sum(any(character.isalnum() for character in part) for part in rest)
    return spaced + -int(-unspaced // _CHARACTERS_PER_WORD)


def json_list(text: str) -> list[Any]:
    """The entries of a JSON list; none where the text, which may come from anywhere, holds none."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    return value if isinstance(value, list) else []


def seconds_to_wait(retry_after: str | None) -> float | None:
    """What a header ``Retry-After`` says, a number or a time; None: nothing that can be read."""
    for read in (float, lambda text: parsedate_to_datetime(text).timestamp() - time.time()):
        with suppress(ValueError):
            return max(0.0, read(retry_after)) if retry_after else None
    return None
