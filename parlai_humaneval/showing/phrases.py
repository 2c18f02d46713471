"""A notation for phrases that anybody can read and write, and the patterns that find them.

``als [eine] {program} <habe ich|.>`` finds “Als KI habe ich” and “als eine KI.”:

- Words are found as whole words, in any case. A word in capitals (``AI``) is found in capitals only. Accents do not matter.
- ``(a|b)`` is one of several, ``[a|b]`` one of them or nothing, ``{list}`` one of the list of that name.
- ``word*`` has any ending, ``*`` is any word, and ``…`` stands for any words of the same sentence.
- ``,`` is a comma, and ``.`` any other punctuation or the end.
- ``<a|b>`` must stand there, and is not hidden; it is the first or the last part of a phrase.

Where a phrase holds characters that are written without spaces, a space in it may stand in the text or not; ``_`` is one
that must.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from parlai_humaneval.showing.scripts import NO_LETTER_BEFORE, UNSPACED, folded, is_unspaced

STEM = 4
"""So many first letters of a word are looked for before a phrase is."""

_TOKEN = re.compile(r"\s+|[()\[\]<>|{}]|…|[^\s()\[\]<>|{}…]+")
_CLOSING = {"(": ")", "[": "]"}
_END = r"(?=\s*(?:[.;:!?)\"…–—]|$)|\s+-)"
_WITH_CONTEXT = re.compile(
    r"(?:<(?P<before>[^<>]+)>(?P<space>\s*))?(?P<hidden>[^<>]+?)(?:(?P<space_after>\s*)<(?P<after>[^<>]+)>)?"
)
_NO_HANGUL = r"(?<![\uac00-\ud7a3])"
_HANGUL_FIRST = re.compile(r"[<(\[]*[\uac00-\ud7a3]")
_SIGNS = {"*": r"\w{0,6}", "_": r"\s"}
_PIECE = re.compile(rf"[{UNSPACED}]+|[^\W\d_{UNSPACED}]+|.", re.DOTALL)

Triggers = tuple[frozenset[str], ...]
"""A text is looked at if it holds one of each of these sets; no sets: always."""


class PhraseError(ValueError):
    """A phrase cannot be read; the message says why."""


class Part(NamedTuple):
    """A part of a phrase, and the sets of stems of which one must stand in the text.

    ``spaced``: whether a space stands before it. ``optional``: whether it may be missing.
    """

    expression: str
    needed: Triggers = ()
    spaced: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Phrase:
    """A pattern whose group ``hidden`` is to be hidden, and what a text must hold to be looked at.

    ``unspaced``: whether the text is to be looked at with the characters that are written without spaces.
    """

    expression: str
    triggers: Triggers
    unspaced: bool

    def may_match(self, stems: frozenset[str]) -> bool:
        """Whether ``stems`` hold one of each set."""
        return not any(map(stems.isdisjoint, self.triggers))

    @property
    def pattern(self) -> re.Pattern[str]:
        """It is made when it is first needed: most texts are in one language."""
        return _compiled(self.expression)


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE | re.MULTILINE)


def stems_of(words: frozenset[str]) -> frozenset[str]:
    """The first letters of each word."""
    return frozenset(word[:STEM] for word in words)


def read_phrase(
    notation: str,
    lists: Mapping[str, Sequence[str]],
    names: Mapping[str, Part] | None = None,
    variants: Mapping[str, str] | None = None,
) -> Phrase:
    """The phrase of a ``notation``.

    Args:
        notation: as the module says.
        lists: name → phrases that ``{name}`` stands for.
        names: the same for what is no phrase, such as the names of models.
        variants: a character → all that stand for the same, as 为 and 為.

    Raises:
        PhraseError: it cannot be read.
    """
    parts = _WITH_CONTEXT.fullmatch(folded(notation).strip())
    if parts is None:
        raise PhraseError("<…> must be closed, and be its first or its last part")
    unspaced = is_unspaced(notation)
    words = _Words(lists, names or {}, variants or {}, unspaced)
    before, after = (words.read(f"({context})") if context else Part("") for context in parts.group("before", "after"))
    hidden = words.read(parts["hidden"])
    space = words.space if before.expression and (parts["space"] or unspaced) else ""
    expression = f"{before.expression}{space}(?P<hidden>{hidden.expression})"
    if parts["after"]:
        expression += (
            f"(?={words.choice(parts['after'], words.space if parts['space_after'] or unspaced else '').expression})"
        )
    triggers = before.needed + hidden.needed + after.needed
    if not triggers:
        raise PhraseError("it holds no word that must stand there")
    return Phrase((_NO_HANGUL if _HANGUL_FIRST.match(notation) else "") + expression, triggers, unspaced)


class _Words:
    """Reads parts of phrases by the lists and letters of a language."""

    def __init__(
        self, lists: Mapping[str, Sequence[str]], names: Mapping[str, Part], variants: Mapping[str, str], unspaced: bool
    ) -> None:
        self._lists = lists
        self._names = names
        self._variants = variants
        self._unspaced = unspaced
        self.space = r"\s?" if unspaced else r"(?:\s{1,3}|(?<='))"

    def read(self, text: str, before: str = "") -> Part:
        """All of ``text``, with what stands ``before`` its first word."""
        tokens = _TOKEN.findall(text)
        part = self._sequence(tokens, before)
        if tokens:
            raise PhraseError(f"“{tokens[0]}” stands where nothing is open")
        return part

    def choice(self, text: str, before: str) -> Part:
        """One of several, separated by “|”, each with what stands ``before``."""
        return self._choice([*_TOKEN.findall(text), ")"], ")", before)

    def _sequence(self, tokens: list[str], before: str = "") -> Part:
        """Up to a bracket that closes, or “|”, which is left; tokens are taken from the list as they are read."""
        parts: list[Part] = []
        spaced = self._unspaced
        while tokens and tokens[0] not in ("|", ")", "]", ">", "}"):
            token = tokens.pop(0)
            if token.isspace():
                spaced = True
                continue
            starts = all(earlier.optional for earlier in parts)
            space = self.space if spaced else ""
            part = self._item(token, tokens, ("" if parts else before) if starts else space)
            parts.append(part._replace(spaced=spaced))
            spaced = self._unspaced
        if not parts:
            raise PhraseError("a part of it is empty")
        return self._joined(parts)

    def _joined(self, parts: Sequence[Part]) -> Part:
        """Parts one after the other. Of those at the start that may be missing, the space behind goes with them."""
        expression = ""
        for at, part in enumerate(parts):
            starts = all(earlier.optional for earlier in parts[:at])
            if part.optional and starts:
                follows = self.space if at + 1 < len(parts) and parts[at + 1].spaced else ""
                expression += f"(?:{part.expression}{follows})?"
            else:
                expression += f"{part.expression}?" if part.optional else part.expression
        needed = tuple(stems for part in parts if not part.optional for stems in part.needed)
        if all(part.optional for part in parts):
            raise PhraseError("all of it may be missing")
        return Part(expression, needed)

    def _item(self, token: str, tokens: list[str], before: str) -> Part:
        if token in ("(", "["):
            return self._choice(tokens, _CLOSING[token], before)._replace(optional=token == "[")
        if token == "{":
            return self._list(tokens, before)
        if token == "<":
            raise PhraseError("<…> must be its first or its last part")
        if token == "…":
            return Part(r"[^.!?\n]{0,30}?" if self._unspaced else r"[^.!?\n]{0,60}?")
        if token == ".":
            return Part(_END)
        if not any(character.isalnum() or character in _SIGNS for character in token):
            return Part(r"\s?" + re.escape(token))
        word = self._unspaced_word(token) if self._unspaced else self._word(token)
        return word._replace(expression=before + word.expression)

    def _choice(self, tokens: list[str], closing: str, before: str) -> Part:
        parts = []
        while True:
            parts.append(self._sequence(tokens, before))
            ends = tokens.pop(0) if tokens else ""
            if ends == closing:
                return _either(parts)
            if ends != "|":
                raise PhraseError(f"“{closing}” is missing")

    def _list(self, tokens: list[str], before: str) -> Part:
        name = tokens.pop(0) if tokens else ""
        if not tokens or tokens.pop(0) != "}":
            raise PhraseError("“}” is missing")
        if name in self._names:
            return Part(before + self._names[name].expression, self._names[name].needed)
        if name not in self._lists:
            known = ", ".join("{" + known + "}" for known in (*self._lists, *self._names)) or "none"
            raise PhraseError(f"there is no list {{{name}}}; there are: {known}")
        others = {other: items for other, items in self._lists.items() if other != name}
        words = _Words(others, self._names, self._variants, self._unspaced)
        either = _either([words.read(folded(item), before) for item in self._lists[name]])
        return Part(either.expression + ("" if self._unspaced else r"(?!-\w)"), either.needed)

    def _word(self, word: str) -> Part:
        if word == "*":
            return Part(r"[\w-]+")
        expression = re.escape(word).replace(r"\*", r"\w*")
        start = r"(?<!\w)" if word[0].isalnum() or word[0] == "*" else ""
        end = r"(?!\w)" if word[-1].isalnum() or word[-1] == "*" else ""
        capitals = sum(map(str.isalpha, word)) > 1 and word.isupper()
        needed = []
        for run in re.finditer(r"[^\W\d_]+", word.casefold()):
            whole = "*" not in (word[run.start() - 1 : run.start()], word[run.end() : run.end() + 1])
            begins = word[run.start() - 1 : run.start()] != "*"
            if whole or (begins and len(run.group()) >= STEM):
                needed.append(frozenset({run.group()[:STEM]}))
        return Part(start + (f"(?-i:{expression})" if capitals else expression) + end, tuple(needed))

    def _unspaced_word(self, word: str) -> Part:
        expressions, needed = [], []
        for piece in _PIECE.findall(word):
            if is_unspaced(piece):
                choices = [self._variants.get(character, character) for character in piece]
                expressions.append("".join(f"[{every}]" if len(every) > 1 else every for every in choices))
                needed += [frozenset(every) for every in choices]
            elif piece in _SIGNS:
                expressions.append(_SIGNS[piece])
            elif piece.isalpha():
                expressions.append(rf"{NO_LETTER_BEFORE}{re.escape(piece)}(?![^\W\d{UNSPACED}])")
                needed.append(frozenset({piece.casefold()[:STEM]}))
            else:
                expressions.append(re.escape(piece))
        return Part(r"\s?".join(expressions), tuple(needed))


def _either(parts: Sequence[Part]) -> Part:
    """One of ``parts``. Of each it needs what is longest, and so rarest."""
    expression = f"(?:{'|'.join(sorted((part.expression for part in parts), key=len, reverse=True))})"
    if not all(part.needed for part in parts):
        return Part(expression)
    rarest = (max(part.needed, key=lambda stems: min(map(len, stems))) for part in parts)
    return Part(expression, (frozenset().union(*rarest),))
