"""Letters of all scripts: scripts without spaces between words, equivalent letters, and invisible characters."""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from itertools import islice
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
"""The ends of a word that has spaces around it, or characters written without spaces: these have no case, and to make a
pattern that ignores case, Python would check a hundred thousand of them."""

_SCRIPTS = frozenset(
    ["LATIN", "CYRILLIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH", "HALFWIDTH", "IDEOGRAPHIC"]
)
"""First words of the names of letters, of those scripts in which phrases are packaged."""

_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]+")
_SIGN = "\ufffc"
_SIGNS = dict(zip("。、’‘ʼ′“”„«»「」『』\u3000", ".,''''" + '"' * 9 + " ", strict=True))


class _Plain(dict[int, str]):
    """Code point → the plain letter or sign that it represents, looked up once."""

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
    foreign = (letter for letter in text if letter.isalpha() and not letter.isascii())
    found = Counter(unicodedata.name(letter, "?").split()[0] for letter in foreign)
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
    r"""``text`` without characters that are invisible and do not affect their neighbours; ``\n`` and ``\t`` stay."""
    if text.isascii() and text.isprintable():
        return text
    seen = _UNSEEN.sub(lambda match: match["flag"] or "", text)
    return str(_LONE_JOINER.sub("", _LONE_SELECTOR.sub("", seen)))


ONLY_THOUGHTS = (
    "its reasoning left no room for a reply: raise max_tokens (for a model on a server) "
    "or max_new_tokens (for a model on this machine), or turn reasoning off"
)
MOST_ROUNDS = 50
"""Blocks of thoughts that are looked for; nobody writes more, and a text of nothing but tags must not take seconds."""
MOST_MENTIONS = 20
NEAR = 200
"""Characters before a mark that tell whether it is spoken of."""

_OPENING = marks("OPENING")
_CLOSING = marks("CLOSING")
_HARMONY = marks("HARMONY")
_HARMONY_MESSAGE = marks("HARMONY_MESSAGE")
_BARE_HARMONY = marks("BARE_HARMONY")
_BARE_HARMONY_CUT = marks("BARE_HARMONY_CUT")
_GRANITE = marks("GRANITE")
_GRANITE_BEGUN = marks("GRANITE_BEGUN")
_FENCED = marks("FENCED")
_CODE = marks("CODE")
_IN_SENTENCE = marks("IN_SENTENCE")
_SPOKEN_OF = marks("SPOKEN_OF")
_NOUN = marks("NOUN")
_LITTLE = marks("LITTLE")
_GOES_ON = marks("GOES_ON")
_QUOTES = (frozenset("`\"“„«‘'("), frozenset("`\"”“»’')"))


@dataclass(frozen=True)
class Parted:
    """A text in its two parts. ``is_open``: it ends within the thoughts, so that the reply had not begun (again)."""

    reply: str
    thoughts: tuple[str, ...] = ()
    is_open: bool = False


class Code:
    """The code in a markdown text: fences and, unless ``only_fences``, words between backticks; those that are closed."""

    def __init__(self, text: str, *, only_fences: bool = False) -> None:
        pattern = _FENCED if only_fences else _CODE
        self._places = [match.span() for match in pattern.finditer(text)] if "`" in text or "~~~" in text else []
        self._starts = [start for start, _ in self._places]

    def holds(self, place: int) -> bool:
        at = bisect_right(self._starts, place) - 1
        return at >= 0 and place < self._places[at][1]


def parted(text: str) -> Parted:
    """``text`` as the reply in it and the thoughts around; unchanged where it holds none."""
    if not ("<" in text or "[" in text or "▷" in text or text.lstrip().startswith(("analysis", "assistant", "Here"))):
        return Parted(text)
    if (harmony := _of_harmony(text)) is not None:
        return harmony
    for pattern in (_BARE_HARMONY, _GRANITE):
        if match := pattern.match(text):
            return Parted(match["reply"], (match["thoughts"].strip(),) if match["thoughts"] else ())
    if _BARE_HARMONY_CUT.match(text):
        return Parted("", (text.strip().removeprefix("analysis"),), is_open=True)
    said = ""
    thoughts: list[str] = []
    rest, is_open = text, False
    for _ in range(MOST_ROUNDS):
        code = Code(rest)
        closing = _first_mark(_CLOSING, rest, code, partial(_closes, said))
        opening = _first_mark(_OPENING, rest, code, partial(_opens, said))
        if closing is not None and (opening is None or closing.start() < opening.start()):
            thoughts.append(said + rest[: closing.start()])  # the chat template had begun them
            said, rest = "", rest[closing.end() :]
            continue
        if opening is None:
            break
        end = _end_of(opening)
        said += rest[: opening.start()]
        thoughts.append(rest[opening.end() : end.start() if end else None])
        rest = rest[end.end() :] if end else ""
        if is_open := end is None:
            break
    return Parted(said + rest, tuple(map(str.strip, thoughts)), is_open)


def without_thoughts(text: str) -> str:
    """The reply in ``text``; the very same text where it holds no thoughts."""
    both = parted(text)
    return text if both.reply == text else both.reply.strip()


def only_thoughts(text: str) -> str | None:
    """Why ``text`` is not a reply: it contains only thoughts. None: it contains more, or something else."""
    both = parted(text)
    return ONLY_THOUGHTS if (both.thoughts or both.is_open) and not both.reply.strip() else None


def is_thinking(text: str) -> bool:
    """Whether an unfinished ``text`` is within its thoughts."""
    return parted(text).is_open or _GRANITE_BEGUN.match(text) is not None


def begins_thoughts(text: str) -> str:
    """The mark at the end of ``text`` after which thoughts follow, as a chat template may write one; often empty."""
    ends = [match for match in _OPENING.finditer(text) if not text[match.end() :].strip()]
    return ends[-1].group() if ends else ""


def is_channel(token: str) -> bool:
    return token in ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")


def is_mark(token: str) -> bool:
    return is_channel(token) or token == "<|channel>" or any(each.fullmatch(token) for each in (_OPENING, _CLOSING))


def _of_harmony(text: str) -> Parted | None:
    mark = _HARMONY.match(text) if "<|channel|>" in text else None
    if mark is None or Code(text).holds(text.index("<|channel|>")):
        return None
    said: list[str] = []
    thoughts: list[str] = [(mark["begun"] or "").strip()]
    for message in _HARMONY_MESSAGE.finditer(text):
        if message["other"] is not None:
            if said or any(thoughts):
                break
            continue
        (said if message["channel"] == "final" else thoughts).append(message["content"].strip())
    return Parted("\n".join(said), tuple(filter(None, thoughts)), is_open=not said)


def _first_mark(
    pattern: re.Pattern[str], text: str, code: Code, is_meant: Callable[[re.Match[str]], bool]
) -> re.Match[str] | None:
    marks = (match for match in pattern.finditer(text) if not code.holds(match.start()))
    return next((match for match in islice(marks, MOST_MENTIONS) if is_meant(match)), None)


def _end_of(opening: re.Match[str]) -> re.Match[str] | None:
    """Where the thoughts end that begin there: at the tag of the same name, if there is one, else at any that ends some."""
    text, begin = opening.string, opening.end()
    code = Code(text[begin:], only_fences=True)  # a backtick of the thoughts may have its pair in the reply
    own = re.compile(rf"</{re.escape(opening['tag'])}\s*>", re.IGNORECASE) if opening["tag"] else _CLOSING
    for pattern in (own, _CLOSING):
        ends = list(islice(pattern.finditer(text, begin), MOST_MENTIONS))
        meant = (end for end in ends if not code.holds(end.start() - begin) and not _is_quoted(end, ""))
        if (end := next(meant, next(iter(ends), None))) is not None:
            return end
    return None


def _opens(said: str, mark: re.Match[str]) -> bool:
    """Whether thoughts begin at ``mark``, rather than that it is spoken of; ``said``: what precedes its text."""
    if _is_quoted(mark, said):
        return False
    before = _before(mark, said)
    if mark["early"] and not _is_line_start(before):
        return False
    end = _end_of(mark)
    if end is None:
        return not _IN_SENTENCE.search(before) and not _SPOKEN_OF.match(mark.string, mark.end())
    little = _LITTLE.fullmatch(mark.string, mark.end(), end.start())
    spoken_of = _SPOKEN_OF.match(mark.string, end.end()) is not None
    if _IN_SENTENCE.search(before):
        return not little and not spoken_of
    return not (little and (little["word"] or spoken_of))


def _closes(said: str, mark: re.Match[str]) -> bool:
    before = _before(mark, said)
    if _is_quoted(mark, said) or (mark["early"] and not _is_line_start(before)) or _NOUN.match(mark.string, mark.end()):
        return False
    return before[-1:] != " " or not (_IN_SENTENCE.search(before) and _GOES_ON.match(mark.string, mark.end()))


def _before(mark: re.Match[str], said: str) -> str:
    return (said[-NEAR:] + mark.string[max(0, mark.start() - NEAR) : mark.start()])[-NEAR:]


def _is_line_start(before: str) -> bool:
    line = before.rpartition("\n")[2].rstrip()
    return not line or line[-1] in ">]▷"


def _is_quoted(mark: re.Match[str], said: str) -> bool:
    opening, closing = _QUOTES
    return _before(mark, said)[-1:] in opening and mark.string[mark.end() : mark.end() + 1] in closing
