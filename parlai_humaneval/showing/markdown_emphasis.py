"""Emphasis in a chat: ``*words*``, ``__words__`` and ``~~words~~`` that stand free, and no signs of sums, names and faces.

A run of signs opens if before it is the beginning, white space or punctuation, and right behind it a word; it closes the
other way round. CommonMark is less strict: it lets ``*`` split words. Chinese, Japanese, Korean, Thai, Khmer and Burmese,
which are written without spaces around words, may stand next to it.
"""

from __future__ import annotations

import re
import types
import unicodedata
from functools import lru_cache
from typing import Any

_SIGNS = "*_~"
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3000-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_NOT_BEFORE = "^\\/)]}%=<$@#&¯"
"""After these no emphasis begins: “^_^”, “f(x)=*p”, ``/*``."""
_NOT_AFTER = "^\\=@#"
_WITHIN_NAMES = re.compile(r"[.:\-/(@]\w|\(\)")
"""After an underscore these go on with a name: ``__init__.py``, ``_f_()``."""
_GLUED_END = re.compile(r"(?<![\w*^\\/)\]=])\*\*[^\W\d_]{2,30}$")
_GLUED_BEGIN = re.compile(r"\*\*[^\W\d_]{2,30}\*\*(?![\w*])")
"""Around a part of a word that stands free on its other side: ``**Chat**GPT``, but neither ``2**3**4`` nor “f**k”."""
_OPENING = "\"'`#@&<[({¿¡"
_CLOSING = ".,!?:;…\"'`%>])}"


def emphasis(state: Any, silent: bool) -> bool:
    """A rule for markdown-it: ``*`` and ``_``, each a token of its own."""
    sign = state.src[state.pos]
    if silent or sign not in "*_":
        return False
    length = _length(state.src, state.pos)
    _add(state, [sign] * length, length)
    return True


def strikethrough(state: Any, silent: bool) -> bool:
    """A rule for markdown-it: two tildes, not more: ``~~~wow~~~`` is text."""
    if silent or state.src[state.pos] != "~":
        return False
    length = _length(state.src, state.pos)
    if length == 2:
        _add(state, ["~~"], 0)
        return True
    state.pending += "~" * length
    state.pos += length
    return True


def only_around_words(state: Any) -> None:
    """A rule for markdown-it: pairs around nothing that is read (``*-*``) and around Python's names are none."""
    for delimiters in [state.delimiters, *(meta["delimiters"] for meta in state.tokens_meta if meta)]:
        for one in delimiters:
            if one.end >= 0 and not _emphasized(state.tokens[one.token + 1 : delimiters[one.end].token], one.marker):
                one.end = -1


def _emphasized(tokens: list[Any], marker: int) -> bool:
    text = "".join(token.content for token in tokens)
    named = marker == ord("_") and f"__{text.strip('_')}__" in _python_names()
    return not named and any(map(_is_seen, text))


def _length(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end] == text[start]:
        end += 1
    return end - start


def _add(state: Any, signs: list[str], length: int) -> None:
    from markdown_it.rules_inline.state_inline import Delimiter

    marker = ord(signs[0][0])
    opens, closes = _edges(state.src, state.pos)
    for number, sign in enumerate(signs):
        state.push("text", "", 0).content = sign
        at = len(state.tokens) - 1
        one = Delimiter(marker=marker, length=length, jump=number, token=at, end=-1, open=opens, close=closes)
        state.delimiters.append(one)
        state.pos += len(sign)


def _edges(text: str, at: int) -> tuple[bool, bool]:
    """Whether the signs at ``at`` may open and close: by what stands around the whole run of any signs of emphasis."""
    start, end = at, at
    while start > 0 and text[start - 1] in _SIGNS:
        start -= 1
    while end < len(text) and text[end] in _SIGNS:
        end += 1
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    free = text[at] == "*"
    opens = _word_begins(text[end : end + 3], before) and _is_edge(before, _NOT_BEFORE, free)
    closes = _word_ends(before, after) and _is_edge(after, _NOT_AFTER, free)
    if closes and text[at] == "_":
        closes = _WITHIN_NAMES.match(text, end) is None
    if before.isalpha() and after.isalpha() and text[at:end] == "**":
        opens = opens or _GLUED_BEGIN.match(text, at) is not None
        closes = closes or _GLUED_END.search(text, max(0, at - 33), at) is not None
    return opens, closes


def _word_begins(words: str, before: str) -> bool:
    if _is_seen(words[:1]):
        return True
    begins = (
        words[:1] in _OPENING or words == "..." or words[:1] == "…" or unicodedata.category(words[:1] or " ") == "Pi"
    )
    return words != "" and begins and (before.isspace() or unicodedata.category(before) == "Ps")


def _word_ends(before: str, after: str) -> bool:
    if _is_seen(before):
        return True
    ends = before in _CLOSING or unicodedata.category(before) == "Pf"
    return ends and (after.isspace() or after in ".,!?:;…)]}" or (_UNSPACED.match(after) is not None))


def _is_edge(character: str, never: str, unspaced: bool) -> bool:
    if _UNSPACED.match(character):
        return unspaced
    return unicodedata.category(character)[0] not in "LNM" and character not in never


def _is_seen(character: str) -> bool:
    """A letter, digit, mark over one, emoji or sign of money."""
    category = unicodedata.category(character or " ")
    return category[0] in "LNM" or category in ("So", "Sc")


@lru_cache(maxsize=1)
def _python_names() -> frozenset[str]:
    kinds: list[Any] = [object, type, int, dict, str, types.ModuleType("m"), _edges]
    others = "all author del enter exit file future getattr main path pycache slots version"
    return frozenset(name for kind in kinds for name in dir(kind)) | {f"__{name}__" for name in others.split()}
