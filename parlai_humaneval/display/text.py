"""Letters of all scripts: which are written without spaces between words, and which stand for the same.

Everything here keeps places: the n-th character of what is returned stands for the n-th of the text.

Which texts a person would see nothing of.

Keeping what takes a second to be made, where the threads of many conversations ask for it at the same moment.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from parlai_humaneval._util.text import UNSEEN


def is_blank(text: str) -> bool:
    """Whether ``text`` holds nothing but white space and characters without a shape."""
    return all(unicodedata.category(character) in UNSEEN for character in text)


P = ParamSpec("P")
R = TypeVar("R")


def made_once(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose last ``maxsize`` values are kept, each made by one thread only: the others wait for it.

    With ``lru_cache`` alone all threads make it that ask before it is there. They hinder each other: for two hundred
    conversations that began in the same second, the words of all languages were read two hundred times, in twenty seconds.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        kept: Callable[..., R] = lru_cache(maxsize=maxsize)(make)
        lock = threading.RLock()
        if hasattr(os, "register_at_fork"):  # a child must not wait for a thread that it does not have
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)

        @wraps(make)
        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            with lock:
                return kept(*args, **kwargs)

        return ask

    return decorate


UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\uffa1-\uffdc\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese, and Korean, where endings follow a foreign word at once: the insides of
a set of characters in a pattern."""

NO_LETTER_BEFORE = rf"(?<![^\W{UNSPACED}])"
NO_LETTER_AFTER = rf"(?![^\W{UNSPACED}])"
"""The ends of a word that is written with spaces around it, or beside characters that are written without."""

_SCRIPTS = frozenset(
    ["LATIN", "CYRILLIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH", "HALFWIDTH", "IDEOGRAPHIC"]
)
"""First words of the names of letters, of those scripts in which phrases are packaged."""

_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]+")
_SIGN = "\ufffc"
"""Stands for a letter that is no part of a word with spaces around it."""
_SIGNS = dict(zip("。、’‘ʼ′“”„«»「」『』\u3000", ".,''''" + '"' * 9 + " ", strict=True))


class _Plain(dict[int, str]):
    """Code point → the plain letter or sign that it stands for, looked up once."""

    def __missing__(self, code: int) -> str:
        self[code] = plain = _plain(chr(code))
        return plain


def _plain(character: str) -> str:
    if "\uff01" <= character <= "\uff5e":
        return unicodedata.normalize("NFKC", character)
    if character == "ı":
        return "i"
    if unicodedata.category(character) in ("Ll", "Lu"):
        apart = unicodedata.normalize("NFD", character)
        return apart[0] if all(unicodedata.combining(mark) for mark in apart[1:]) else character
    return _SIGNS.get(character, character)


_PLAIN = _Plain()


def folded(text: str) -> str:
    """Full-width letters and signs as ASCII, letters without accents, one kind of quotation mark and of apostrophe."""
    return text if text.isascii() else text.translate(_PLAIN)


def spaced_words_only(text: str) -> str:
    """``text`` with a sign in the place of each character that is written without spaces.

    A pattern whose words end where no letter follows then finds “ChatGPT” in “我是ChatGPT”.
    """
    return text if text.isascii() else _UNSPACED_RUN.sub(lambda run: _SIGN * len(run.group()), text)


def is_unspaced(text: str) -> bool:
    """Whether characters that are written without spaces stand in ``text``."""
    return not text.isascii() and _UNSPACED_RUN.search(text) is not None


def unspaced_runs(text: str) -> list[str]:
    """The runs of characters that are written without spaces."""
    return [] if text.isascii() else _UNSPACED_RUN.findall(text)


def foreign_script(text: str) -> str | None:
    """The script of most letters of ``text``, as “Arabic”, where it is none that phrases are written in; None: it is one."""
    found = Counter(
        unicodedata.name(letter, "?").split()[0] for letter in text if letter.isalpha() and not letter.isascii()
    )
    script, letters = next(iter(found.most_common(1)), ("", 0))
    if script in _SCRIPTS or letters <= sum(map(str.isalpha, text)) / 2:
        return None
    return script.title()


def words_in(text: str) -> frozenset[str]:
    """The casefolded runs of letters in ``text``: “GPT-4 is” holds “gpt” and “is”; “我是GPT” holds “我”, “是” and “gpt”."""
    lower = text.casefold()
    return frozenset(_WORD.findall(lower)).union(*unspaced_runs(lower))
