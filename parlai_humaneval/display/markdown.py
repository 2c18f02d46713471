"""The words of a markdown text, without losing a character; and its tree for the page. CommonMark takes ``2*3*4`` for
emphasis; in a chat it is none. So a sign with another possible meaning is replaced, before markdown-it reads the text,
by a character that no text contains. In the tree HTML is text, and links are their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import regex

from parlai_humaneval.display.text import is_blank, mark, marks, without_control
from parlai_humaneval.schema.wire import MOST_LEVELS, MOST_PARTS, Markup, Part, Tag

_SIGNS = "*_~<>#-+|[]`\\.)!"
_HIDE = {ord(sign): 0xFDD0 + number for number, sign in enumerate(_SIGNS)}
_SHOW = {free: sign for sign, free in _HIDE.items()}
_MARKDOWN = marks("MARKDOWN")
_BREAK = marks("BREAK")
_DOUBTFUL = mark("DOUBTFUL"), regex.V1 | regex.MULTILINE | regex.IGNORECASE | regex.DOTALL
compiled = lru_cache(regex.compile)  # on first use: it takes as long as all that is imported with it
_DEEP = marks("DEEP")
_MATHS = marks("MATHS")
_LINE_BREAK = marks("LINE_BREAK")


def without_markdown(text: str) -> str:
    """``text`` without signs, addresses and tags; numbers of a list stay, cells of a table are joined by commas."""
    if _MARKDOWN.search(text) is None:
        return text
    lines: list[str] = []
    numbers = ""
    row: list[str] | None = None
    for token in parsed(text):
        if token.type == "list_item_open":
            # In a nested list, the number of the outer list may still wait for its words.
            numbers += f"{token.info}{token.markup} " if token.info else ""
        elif token.type == "tr_open":
            row = []
        elif token.type in ("inline", "fence") and row is not None:
            row.append(_words(token))
        else:
            words = ""
            if token.type == "tr_close":
                words, row = ", ".join(row or ()), None
            elif token.type in ("inline", "fence"):
                words = _words(token)
            if words.strip() or (token.type == "list_item_close" and numbers):
                lines.append(numbers + words)
                numbers = ""
    shown = put_back("\n".join(lines))
    return text if shown.split() == text.split() else shown


def plain_end(text: str) -> int:
    """The end of the first line of ``text``, or its first sign of markdown: the part before is final."""
    sign = _MARKDOWN.search(text)
    line = text.find("\n")
    return min(sign.start() if sign else len(text), len(text) if line < 0 else line)


def parsed(text: str, *, keep_maths: bool = False) -> list[Any]:
    """markdown-it's tokens of ``text``, to be :func:`put_back`; ``keep_maths``: LaTeX is not markdown."""
    known = _MATHS.sub(_all_hidden, text) if keep_maths else text
    sure = compiled(*_DOUBTFUL).sub(_hidden_from_parser, _DEEP.sub(_all_hidden, known))
    # A table with a row that is wider than its head is none: its last cells would be lost.
    lines = sure.split("\n")
    widest_below = 0
    for at in range(len(lines) - 1, 0, -1):
        line, width = lines[at], _cells(lines[at])
        if "|" in line and "-" in line and not line.strip(" \t|:-") and widest_below > _cells(lines[at - 1]):
            lines[at] = line.translate(_HIDE)
        widest_below = max(widest_below, width)
    tokens: list[Any] = _parser(any_address=keep_maths).parse("\n".join(lines))
    return tokens


def put_back(text: str) -> str:
    return text.translate(_SHOW)


def _all_hidden(match: re.Match[str]) -> str:
    return match[0].translate(_HIDE)


def _hidden_from_parser(match: regex.Match[str]) -> str:
    kept = match["sure"] or match["emphasis"] or (match["name"] not in _python_names() and match["name"])
    return str(kept or match[0].translate(_HIDE))


@lru_cache(maxsize=1)
def _python_names() -> frozenset[str]:
    others = "all author del enter exit file future getattr main name path pycache slots version"
    return frozenset([*dir(type), *dir(int), *dir(dict), *(f"__{name}__" for name in others.split())])


def _cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row.strip().strip("|"))) + 1


@lru_cache(maxsize=2)
def _parser(*, any_address: bool = False) -> Any:
    """``any_address``: keep every link, wherever it leads (``javascript:…``), if no address is shown."""
    from markdown_it import MarkdownIt

    parser: Any = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    parser.normalizeLinkText = str
    if any_address:
        parser.validateLink = lambda url: True
    return parser.disable(["code", "reference", "lheading", "html_block"])


def _words(token: Any) -> str:
    if token.type == "fence":
        return str(token.content).rstrip("\n")
    return "".join(_inline(child) for child in token.children or []).strip("\n")


def _inline(token: Any) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "html_inline":
        return "\n" if _BREAK.match(token.content) else ""
    if token.type == "image":
        return _words(token)
    return str(token.content)  # of text and code; what opens and closes has none


LONGEST = 20_000

_BLOCKS: dict[str, Tag] = {
    "paragraph": "p", "heading": "title", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li",
    "blockquote": "quote", "table": "table", "tr": "tr", "th": "th", "td": "td", "strong": "b", "em": "i", "s": "s",
}  # fmt: skip
_LINES: frozenset[str] = frozenset({"p", "title", "pre", "li", "hr", "br", "table", "tr"})


@lru_cache(maxsize=2048)
def markup_of(text: str) -> Markup | None:
    """The parts of a markdown text, not to be changed; None: it has none, is too involved, or nothing would be seen."""
    if len(text) > LONGEST or _MARKDOWN.search(text) is None:
        return None
    tree = _Tree()
    tree.add_all(parsed(text, keep_maths=True))
    plain = all(isinstance(part, str) or part["tag"] in ("p", "br") for part in _all_parts(tree.root))
    if tree.count > MOST_PARTS or is_blank(words_of(tree.root)):
        return None
    return None if plain and words_of(tree.root).split() == text.split() else tree.root


_IN_OLD_CHATS = frozenset({"p", "br", "i"})  # lines, and *smiles*


def is_formatted(text: str) -> bool:
    """Whether ``text`` has markdown that people do not type by chance: lists, headings, bold words, code, tables."""
    parts = _all_parts(markup_of(text) or [])
    return any(not isinstance(part, str) and part["tag"] not in _IN_OLD_CHATS for part in parts)


def words_of(markup: Markup) -> str:
    """What a person reads of it: the words, on lines of their own where the page breaks them."""
    return "".join(_displayed(markup)).strip("\n")


def _displayed(markup: Markup) -> Iterator[str]:
    for part in markup:
        if isinstance(part, str):
            yield part
            continue
        yield from _displayed(part["parts"])
        if part["tag"] in _LINES:
            yield "\n"
        elif part["tag"] in ("td", "th"):
            yield " "


def _all_parts(markup: Markup) -> Iterator[Part | str]:
    for part in markup:
        yield part
        if not isinstance(part, str):
            yield from _all_parts(part["parts"])


class _Tree:
    """Grows by markdown-it's tokens. Anything nested too deep for a page becomes text of the innermost part."""

    def __init__(self) -> None:
        self.root: Markup = []
        self.count = 0
        self._open: list[Markup] = [self.root]

    def add_all(self, tokens: Iterable[Any]) -> None:
        for token in tokens:
            kind, _, way = str(token.type).rpartition("_")
            is_break = token.type == "html_inline" and _LINE_BREAK.fullmatch(token.content)
            if token.type in ("inline", "image"):
                self.add_all(token.children or [])
            elif way == "open" and kind in _BLOCKS:
                self._begin(_BLOCKS[kind], token)
            elif way == "close" and kind in _BLOCKS:
                self._open.pop()
            elif token.type in ("fence", "code_block"):
                self._leaf("pre", token.content.rstrip("\n"))
            elif token.type == "code_inline":
                self._leaf("code", token.content)
            elif token.type == "hr":
                self._leaf("hr")
            elif token.type in ("softbreak", "hardbreak") or is_break:
                self._leaf("br")
            elif way not in ("open", "close"):  # for a link, or a table's head and body, only show the content
                said, here = _seen(token.content), self._open[-1]
                if said and here and isinstance(here[-1], str):
                    here[-1] += said
                elif said:
                    self._put(said)

    def _begin(self, tag: Tag, token: Any) -> None:
        if token.hidden or len(self._open) >= MOST_LEVELS:
            self._open.append(self._open[-1])
            if self._open[-1] and tag in _LINES:
                self._leaf("br")
            return
        part: Part = {"tag": tag, "parts": []}
        start = token.attrGet("start") if tag == "ol" else None
        if start is not None:
            part["start"] = int(start)
        self._put(part)
        self._open.append(part["parts"])

    def _leaf(self, tag: Tag, text: str = "") -> None:
        said = _seen(text)
        self._put({"tag": tag, "parts": [said] if said else []})

    def _put(self, part: Part | str) -> None:
        self.count += 1
        self._open[-1].append(part)


def _seen(text: str) -> str:
    """Text as it is shown. Written as “&#8238;”, a character that turns the page around was none before."""
    return without_control(put_back(text))
