"""A reply's markdown → the tree that the page draws, with no word lost, no HTML, and no address.

Read as :mod:`~parlai_humaneval.display.markdown` reads it, so that ``2*3*4`` and ``List<String>`` stay words. HTML is
text like any other (``<br>`` alone breaks a line), links are their words, images what is said in their place, and maths
stays as it was written. A single line break is one, as in every chat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from parlai_humaneval.display.appearance import without_control
from parlai_humaneval.display.markdown import is_line_break, may_be_markdown, parsed, put_back
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.schema.wire import MOST_LEVELS, MOST_PARTS, Markup, Part, Tag

LONGEST = 20_000
"""Characters of a reply that is read for markdown; a longer one is shown as it was said."""

_BLOCKS: dict[str, Tag] = {
    "paragraph": "p",
    "heading": "title",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "quote",
    "table": "table",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "strong": "b",
    "em": "i",
    "s": "s",
}
"""Parts that begin with ``…_open`` and end with ``…_close``, by markdown-it's names."""
_LINES: frozenset[str] = frozenset({"p", "title", "pre", "li", "hr", "br", "table", "tr"})
"""Parts that words of their neighbours do not touch."""


@lru_cache(maxsize=2048)
def markup_of(text: str) -> Markup | None:
    """The parts of a markdown text; None: it has none, is too long or too involved, or nothing would be left to see.

    The tree is kept, and must not be changed.
    """
    if len(text) > LONGEST or not may_be_markdown(text):
        return None
    tree = _Tree()
    tree.add_all(parsed(text, keep_maths=True))
    plain = all(isinstance(part, str) or part["tag"] in ("p", "br") for part in _all_parts(tree.root))
    if tree.count > MOST_PARTS or is_blank(words_of(tree.root)):
        return None
    return None if plain and words_of(tree.root).split() == text.split() else tree.root


def words_of(markup: Markup) -> str:
    """What a person reads of it: the words, on lines of their own where the page breaks them."""
    return "".join(_words(markup)).strip("\n")


def _words(markup: Markup) -> Iterator[str]:
    for part in markup:
        if isinstance(part, str):
            yield part
            continue
        yield from _words(part["parts"])
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
    """Grows by markdown-it's tokens. What is nested deeper than a page draws stands in the last part that it does draw."""

    def __init__(self) -> None:
        self.root: Markup = []
        self.count = 0
        self._open: list[Markup] = [self.root]

    def add_all(self, tokens: Iterable[Any]) -> None:
        for token in tokens:
            self._add(token)

    def _add(self, token: Any) -> None:
        kind, _, way = str(token.type).rpartition("_")
        if token.type == "inline":
            self.add_all(token.children or [])
        elif way == "open" and kind in _BLOCKS:
            self._begin(_BLOCKS[kind], token)
        elif way == "close" and kind in _BLOCKS:
            self._end(token)
        elif token.type in ("fence", "code_block"):
            self._leaf("pre", token.content.rstrip("\n"))
        elif token.type == "code_inline":
            self._leaf("code", token.content)
        elif token.type == "hr":
            self._leaf("hr")
        elif token.type in ("softbreak", "hardbreak") or (token.type == "html_inline" and is_line_break(token.content)):
            self._leaf("br")
        elif token.type == "image":
            self.add_all(token.children or [])
        elif way not in ("open", "close"):  # of a link, or a table's head and body, only what stands in it is shown
            self._say(token.content)

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

    def _end(self, token: Any) -> None:
        del token
        self._open.pop()

    def _leaf(self, tag: Tag, text: str = "") -> None:
        said = _seen(text)
        self._put({"tag": tag, "parts": [said] if said else []})

    def _say(self, text: str) -> None:
        said = _seen(text)
        here = self._open[-1]
        if said and here and isinstance(here[-1], str):
            here[-1] += said
        elif said:
            self._put(said)

    def _put(self, part: Part | str) -> None:
        self.count += 1
        self._open[-1].append(part)


def _seen(text: str) -> str:
    """Text as it is shown. Written as “&#8238;”, a character that turns the page around was none before."""
    return without_control(put_back(text))
