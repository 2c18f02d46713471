"""A notation for phrases that anybody can read and write, and the patterns that find them.

``als [eine] {program} <habe ich|.>`` finds “Als KI habe ich” and “als eine KI.”:

- Words are found as whole words, in any case. A word in capitals (``AI``) is found in capitals only. Accents do not
matter. - ``(a|b)`` is one of several, ``[a|b]`` one of them or nothing, ``{list}`` one of the list of that name. -
``word*`` matches any ending, ``*`` any word, and ``…`` any words of the same sentence. - ``,`` is a comma, and ``.``
any other punctuation or the end. - ``<a|b>`` must stand there, and is not hidden; it is the first or the last part of a
phrase. ``<!a|b>`` must not stand there; before a phrase these are single words.

If a phrase holds characters that are written without spaces, a space in it is optional in the text; ``_`` is a required
space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.text import UNSPACED, folded, is_unspaced, unspaced_runs

STEM, SHORT_STEM = 6, 4
"""Initial letters of a word to look for before the whole phrase; the short one for words with any ending."""

_TOKEN = re.compile(r"\s+|[()\[\]<>|{}]|…|[^\s()\[\]<>|{}…]+")
_CLOSING = {"(": ")", "[": "]"}
_END = r"(?=\s*(?:[.;:!?)\"…–—]|$)|\s+-)"
_WITH_CONTEXT = re.compile(
    r"(?:<(?P<before>[^<>]+)>(?P<space>\s*))?(?P<hidden>[^<>]+?)(?:(?P<space_after>\s*)<(?P<after>[^<>]+)>)?"
)
_NO_HANGUL = r"(?<!(?-i:[\uac00-\ud7a3]))"  # see NO_LETTER_BEFORE
_NOT_IN_A_WORD = r"(?!\B\w)"
"""No phrase of words with spaces starts inside of one: most places of a text are passed over by this alone."""
_HANGUL_FIRST = re.compile(r"[<(\[]*[\uac00-\ud7a3]")
_SPACE, _WORD_STARTS, _WORD_ENDS = r"(?:\s{1,3}|(?<='))", r"(?<!\w)", r"(?!\w)"
_PARTS = re.compile(rf"^((?:{re.escape(_SPACE)})?(?:{re.escape(_WORD_STARTS)})?)(.*?)((?:{re.escape(_WORD_ENDS)})?)$")
_SIGNS = {"*": r"\w{0,6}", "_": r"\s"}
_PIECE = re.compile(rf"[{UNSPACED}]+|[^\W\d_{UNSPACED}]+|.", re.DOTALL)

Triggers = tuple[frozenset[str], ...]
"""A text is looked at if it holds one of each of these sets; no sets: always."""


class Part(NamedTuple):
    """Part of a phrase, and sets of stems; the text must contain a stem of each set. ``spaced``: after a space."""

    expression: str
    needed: Triggers = ()
    spaced: bool = False
    optional: bool = False


ListsRead = dict[tuple[bool, str, str], Part]
"""Lists of a language, by whether the phrase is unspaced, the name, and the text before each item."""


@dataclass(frozen=True)
class Phrase:
    """A pattern whose group ``hidden`` is to be hidden; ``unspaced``: looked for with letters written without spaces."""

    expression: str
    triggers: Triggers
    unspaced: bool

    def may_match(self, stems: frozenset[str]) -> bool:
        return not any(map(stems.isdisjoint, self.triggers))

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE | re.MULTILINE)


class PhraseBook:
    """Phrases of all languages, and which of them a text may hold."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self._phrases = tuple(phrases)
        self._by_stem: dict[str, list[int]] = {}
        for number, phrase in enumerate(self._phrases):
            for stem in max(phrase.triggers, key=lambda stems: min(map(len, stems))):
                self._by_stem.setdefault(stem, []).append(number)

    def that_may_match(self, stems: frozenset[str]) -> list[Phrase]:
        numbers = {number for stem in stems & self._by_stem.keys() for number in self._by_stem[stem]}
        return [self._phrases[number] for number in sorted(numbers) if self._phrases[number].may_match(stems)]


def stems_of(text: str, words: frozenset[str]) -> frozenset[str]:
    """The first letters of ``words``, those of a folded text, and of what is written without spaces all pairs."""
    stems = {word[:STEM] for word in words} | {word[:SHORT_STEM] for word in words}
    for run in unspaced_runs(text):
        stems.update([run[at : at + 2] for at in range(len(run) - 1)])
    return frozenset(stems)


def stem_of(word: str, *, any_ending: bool = False) -> str | None:
    """What of :func:`stems_of` a text must hold that holds ``word``; None: nothing is sure."""
    if not any_ending or len(word) >= STEM:
        return word[:STEM]
    return word[:SHORT_STEM] if len(word) >= SHORT_STEM else None


def read_phrase(
    notation: str,
    lists: Mapping[str, Sequence[str]],
    names: Mapping[str, Part] | None = None,
    variants: Mapping[str, str] | None = None,
    lists_read: ListsRead | None = None,
) -> Phrase:
    """The phrase of a ``notation``; an :class:`InvalidValue` where it cannot be read. ``variants``: a character → all
    its equivalents. ``lists_read``: what other phrases have read."""
    parts = _WITH_CONTEXT.fullmatch(folded(notation).strip())
    if parts is None:
        raise InvalidValue("<…> must be closed, and be its first or its last part")
    unspaced = is_unspaced(notation)
    words = _Words(lists, names or {}, variants or {}, unspaced, {} if lists_read is None else lists_read)
    hidden = words.read(parts["hidden"])
    expression, triggers = f"(?P<hidden>{hidden.expression})", hidden.needed
    if parts["before"]:
        before = words.before(parts["before"], words.space if parts["space"] or unspaced else "")
        expression, triggers = before.expression + expression, before.needed + triggers
    if parts["after"]:
        after = words.after(parts["after"], words.space if parts["space_after"] or unspaced else "")
        expression, triggers = expression + after.expression, triggers + after.needed
    if not triggers:
        raise InvalidValue("it contains none of the required words")
    starts = (_NO_HANGUL if _HANGUL_FIRST.match(notation) else "") if unspaced else _NOT_IN_A_WORD
    return Phrase(starts + expression, triggers, unspaced)


@dataclass
class _Words:
    lists: Mapping[str, Sequence[str]]
    names: Mapping[str, Part]
    variants: Mapping[str, str]
    unspaced: bool
    lists_read: ListsRead

    def __post_init__(self) -> None:
        self.space = r"\s?" if self.unspaced else _SPACE

    def read(self, text: str, before: str = "") -> Part:
        tokens = _TOKEN.findall(text)
        part = self._sequence(tokens, before)
        if tokens:
            raise InvalidValue(f"“{tokens[0]}” closes a part that was never opened")
        return part

    def before(self, context: str, space: str) -> Part:
        if context.startswith("!"):
            gap = "" if self.unspaced else r"\s"
            unwanted = [re.escape(word.strip()).replace("_", r"\s") + gap for word in context[1:].split("|")]
            return Part("".join(rf"(?<!{'' if self.unspaced else chr(92) + 'b'}{word})" for word in unwanted))
        part = self.read(f"({context})")
        return Part(part.expression + space, part.needed)

    def after(self, context: str, space: str) -> Part:
        wanted = not context.startswith("!")
        part = self._choice([*_TOKEN.findall(context.removeprefix("!")), ")"], ")", space)
        return Part(f"(?{'=' if wanted else '!'}{part.expression})", part.needed if wanted else ())

    def _sequence(self, tokens: list[str], before: str = "") -> Part:
        """Up to a bracket that closes, or “|”, which is left; tokens are taken from the list as they are read."""
        parts: list[Part] = []
        spaced = self.unspaced
        while tokens and tokens[0] not in ("|", ")", "]", ">", "}"):
            token = tokens.pop(0)
            if token.isspace():
                spaced = True
                continue
            starts = all(earlier.optional for earlier in parts)
            space = self.space if spaced else ""
            part = self._item(token, tokens, ("" if parts else before) if starts else space)
            parts.append(Part(part.expression, part.needed, spaced, part.optional))
            spaced = self.unspaced
        if not parts:
            raise InvalidValue("one part is empty")
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
            raise InvalidValue("every part is optional")
        return Part(expression, needed)

    def _item(self, token: str, tokens: list[str], before: str) -> Part:
        if token in ("(", "["):
            choice = self._choice(tokens, _CLOSING[token], before)
            return Part(choice.expression, choice.needed, optional=token == "[")
        if token == "{":
            return self._list(tokens, before)
        if token == "<":
            raise InvalidValue("<…> must be its first or its last part")
        if token == "…":
            return Part(r"[^.!?\n]{0,30}?" if self.unspaced else r"[^.!?\n]{0,60}?")
        if token == ".":
            return Part(_END)
        if not any(character.isalnum() or character in _SIGNS for character in token):
            return Part(r"\s?" + re.escape(token))
        word = self._unspaced_word(token) if self.unspaced else self._word(token)
        return Part(before + word.expression, word.needed)

    def _choice(self, tokens: list[str], closing: str, before: str) -> Part:
        parts = []
        while True:
            parts.append(self._sequence(tokens, before))
            ends = tokens.pop(0) if tokens else ""
            if ends == closing:
                return _either(parts)
            if ends != "|":
                raise InvalidValue(f"“{closing}” is missing")

    def _list(self, tokens: list[str], before: str) -> Part:
        name = tokens.pop(0) if tokens else ""
        if not tokens or tokens.pop(0) != "}":
            raise InvalidValue("“}” is missing")
        if name in self.names:
            return Part(before + self.names[name].expression, self.names[name].needed)
        if name not in self.lists:
            known = ", ".join("{" + known + "}" for known in (*self.lists, *self.names)) or "none"
            raise InvalidValue(f"there is no list {{{name}}}", try_=f"there are: {known}")
        if (key := (self.unspaced, name, before)) not in self.lists_read:
            others = {other: items for other, items in self.lists.items() if other != name}
            words = _Words(others, self.names, self.variants, self.unspaced, self.lists_read)
            either = _either([words.read(folded(item), before) for item in self.lists[name]])
            expression = either.expression + ("" if self.unspaced else r"(?!-\w)")
            self.lists_read[key] = Part(expression, either.needed)
        return self.lists_read[key]

    def _word(self, word: str) -> Part:
        if word == "*":
            return Part(r"[\w'-]+")
        expression = re.escape(word).replace(r"\*", r"\w*")
        start = _WORD_STARTS if word[0].isalnum() or word[0] == "*" else ""
        end = _WORD_ENDS if word[-1].isalnum() or word[-1] == "*" else ""
        capitals = sum(map(str.isalpha, word)) > 1 and word.isupper()
        needed = []
        for run in re.finditer(r"[^\W\d_]+", word.casefold()):
            any_ending = word[run.end() : run.end() + 1] == "*"
            stem = stem_of(run.group(), any_ending=any_ending)
            if stem is not None and word[run.start() - 1 : run.start()] != "*":
                needed.append(frozenset({stem}))
        return Part(start + (f"(?-i:{expression})" if capitals else expression) + end, tuple(needed))

    def _unspaced_word(self, word: str) -> Part:
        expressions, needed = [], []
        for piece in _PIECE.findall(word):
            if is_unspaced(piece):
                choices = [self.variants.get(character, character) for character in piece]
                expressions.append("".join(f"[{every}]" if len(every) > 1 else every for every in choices))
                pairs = [*pairwise(choices)] if len(choices) > 1 else [(choices[0], "")]
                needed += [frozenset(a + b for a in first for b in second or ("",)) for first, second in pairs]
            elif piece in _SIGNS:
                expressions.append(_SIGNS[piece])
            elif piece.isalpha():
                expressions.append(rf"(?<![A-Za-z]){re.escape(piece)}(?![A-Za-z])")
                needed.append(frozenset({piece.casefold()[:STEM]}))
            else:
                expressions.append(re.escape(piece))
        return Part(r"\s?".join(expressions), tuple(needed))


def _either(parts: Sequence[Part]) -> Part:
    """One of ``parts``. Of each it needs what is longest, and so rarest."""
    longest_first = sorted((part.expression for part in parts), key=len, reverse=True)
    expression = f"(?:{'|'.join(_with_common_ends(longest_first))})"
    if len(parts) == 1:
        return Part(expression, parts[0].needed)
    if not all(part.needed for part in parts):
        return Part(expression)
    rarest = (max(part.needed, key=lambda stems: min(map(len, stems))) for part in parts)
    return Part(expression, (frozenset().union(*rarest),))


def _with_common_ends(expressions: Iterable[str]) -> Iterator[str]:
    """Neighbours that begin and end alike do so once: what finds the same takes Python half as long to compile."""
    split = (_PARTS.findall(expression)[0] for expression in expressions)
    for (start, end), alike in groupby(split, key=itemgetter(0, 2)):
        inner = [middle for _, middle, _ in alike]
        yield start + (f"(?:{'|'.join(inner)})" if len(inner) > 1 else inner[0]) + end


def any_of(names: Sequence[str]) -> str:
    """Any of ``names``, longest first; a separator matches any separator, “*” any ending."""
    parts = [
        r"[\s_-]".join(re.escape(part).replace(r"\*", r"\w*") for part in re.split(r"[\s_-]+", name))
        for name in sorted(set(names), key=lambda name: (-len(name), name))
    ]
    return f"(?:{'|'.join(parts)})"
