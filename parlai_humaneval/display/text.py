"""Letters of all scripts: which have no spaces between words, which stand for the same, which nobody sees."""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

import regex

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval._util.text import UNSEEN


def is_blank(text: str) -> bool:
    return all(unicodedata.category(character) in UNSEEN for character in text)


def marks(name: str) -> re.Pattern[str]:
    """One of the packaged ``data/marks.yaml``."""
    return re.compile(mark(name))


def mark(name: str) -> str:
    return re.sub(r"(?<!\\p)\{([A-Z_]+)\}", lambda part: mark(part[1]), "".join(_all_marks()[name]))


@lru_cache(maxsize=1)
def _all_marks() -> Mapping[str, str | list[str]]:
    content: Mapping[str, str | list[str]] = read_yaml(packaged("marks.yaml"))
    return content


P = ParamSpec("P")
R = TypeVar("R")


def made_once(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose last ``maxsize`` values are kept, each made by one thread only: with ``lru_cache`` two hundred
    conversations read the words of all languages two hundred times."""

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
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean: the insides of a set of characters in a pattern."""

NO_LETTER_BEFORE = rf"(?<!(?-i:[^\W{UNSPACED}]))"
NO_LETTER_AFTER = rf"(?!(?-i:[^\W{UNSPACED}]))"
"""The ends of a word that is written with spaces around it, or beside characters that are written without: these have no
case, and to make a pattern that ignores it Python would look at each of a hundred thousand."""

_SCRIPTS = frozenset(
    ["LATIN", "CYRILLIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH", "HALFWIDTH", "IDEOGRAPHIC"]
)
"""First words of the names of letters, of those scripts in which phrases are packaged."""

_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]+")
_SIGN = "\ufffc"
_SIGNS = dict(zip("。、’‘ʼ′“”„«»「」『』\u3000", ".,''''" + '"' * 9 + " ", strict=True))


class _Plain(dict[int, str]):
    """Code point → the plain letter or sign that it stands for, looked up once."""

    def __missing__(self, code: int) -> str:
        plain = _SIGNS.get(chr(code), chr(code))
        if "\uff01" <= plain <= "\uff5e":
            plain = unicodedata.normalize("NFKC", plain)
        elif plain == "ı":
            plain = "i"
        elif unicodedata.category(plain) in ("Ll", "Lu"):
            apart = unicodedata.normalize("NFD", plain)
            plain = apart[0] if all(unicodedata.combining(mark) for mark in apart[1:]) else plain
        self[code] = plain
        return plain


_PLAIN = _Plain()


def folded(text: str) -> str:
    """Full-width letters and signs as ASCII, letters without accents, one kind of quotation mark and of apostrophe."""
    return text if text.isascii() else text.translate(_PLAIN)


def spaced_words_only(text: str) -> str:
    """``text`` with a sign for each character that is written without spaces: “ChatGPT” is in “我是ChatGPT”."""
    return text if text.isascii() else _UNSPACED_RUN.sub(lambda run: _SIGN * len(run.group()), text)


def is_unspaced(text: str) -> bool:
    return not text.isascii() and _UNSPACED_RUN.search(text) is not None


def unspaced_runs(text: str) -> list[str]:
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


SENTENCE = marks("SENTENCE")
_TERMINAL = marks("TERMINAL")
_NEWLINES = marks("NEWLINES")
_UNSEEN = regex.compile(mark("UNSEEN"), regex.V1)
_LONE_SELECTOR = regex.compile(mark("LONE_SELECTOR"), regex.V1)
_LONE_JOINER = marks("LONE_JOINER")


def without_control(text: str) -> str:
    """Newlines as ``\\n``; no control, zero-width and direction characters, and no escape sequences of terminals."""
    if text.isascii() and text.isprintable():
        return text
    return without_unseen(_NEWLINES.sub("\n", _TERMINAL.sub("", text)))


def without_unseen(text: str) -> str:
    r"""``text`` without characters that have no shape and give none to their neighbours; ``\n`` and ``\t`` stay."""
    if text.isascii() and text.isprintable():
        return text
    seen = _UNSEEN.sub(lambda match: match["flag"] or "", text)
    return str(_LONE_JOINER.sub("", _LONE_SELECTOR.sub("", seen)))
