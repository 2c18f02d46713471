"""The words of a markdown text: no signs, the same lines, and no word lost."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from parlai_humaneval.showing.markdown_rules import chat_markdown

_SIGNS = re.compile(r"[*_`#>\[\]|~<&\\]|^\s*(?:[-+]|\d+[.)])\s|^\s*-+\s*$|https?:", re.MULTILINE)
_BREAK = re.compile(
    r"</?(?:address|article|aside|blockquote|body|br|caption|center|d[dlt]|details|div|fieldset|fig\w+|footer|form|h[1-6r]|head(?:er)?"
    r"|html|legend|li|main|nav|ol|option|p|pre|section|summary|table|t[bdhr]\w*|title|ul)\b",
    re.IGNORECASE,
)
"""Tags between which words do not touch."""
_LIST_ENDS = ("bullet_list_open", "bullet_list_close")


def without_markdown(text: str) -> str:
    """``text`` without signs for bold, headings, code, quotes; links without their address.

    Items of a list stand on lines of their own, numbers stay; cells of a table are joined by commas; tags of HTML are
    left out, what stands between them is not. Signs that may mean something else stay: of a list of one item, unless the
    text before it ends with a colon; and those that :mod:`~parlai_humaneval.showing.markdown_rules` lets pass.
    """
    if not _SIGNS.search(text):
        return text
    shown = "\n".join(_Blocks(_parser().parse(text)).texts)
    return text if shown.split() == text.split() else shown


@lru_cache(maxsize=1)
def _parser() -> Any:
    return chat_markdown()


class _Blocks:
    """``texts``: those of the blocks of a parsed text, one a line."""

    def __init__(self, tokens: list[Any]) -> None:
        self.texts: list[str] = []
        self._mark = ""
        self._row: list[str] | None = None
        self._lone: list[bool] = []
        for at, token in enumerate(tokens):
            self._take(token, tokens, at)

    def _take(self, token: Any, tokens: list[Any], at: int) -> None:
        if token.type == "bullet_list_open":
            self._lone.append(not self._lone and not self._announced() and _is_lone(tokens, at))
        elif token.type == "ordered_list_open":
            self._lone.append(False)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._lone.pop()
        elif token.type == "list_item_open":
            # Of a list within a list the mark of the outer one may still wait for its words.
            self._mark += f"{token.info}{token.markup} " if token.info else f"{token.markup} " * self._lone[-1]
        elif token.type == "list_item_close" and self._mark:
            self._end_of_block("")
        elif token.type == "tr_open":
            self._row = []
        elif token.type == "tr_close":
            self._end_of_block(", ".join(self._row or ()))
            self._row = None
        elif token.type in ("inline", "fence"):
            words = _words(token)
            if self._row is not None:
                self._row.append(words)
            elif words.strip():
                self._end_of_block(words)

    def _announced(self) -> bool:
        return bool(self.texts) and self.texts[-1].rstrip().endswith((":", "："))

    def _end_of_block(self, words: str) -> None:
        self.texts.append(self._mark + words)
        self._mark = ""


def _is_lone(tokens: list[Any], at: int) -> bool:
    """Whether the list that begins at ``at`` has one item, and no other list is next to it: “- 5 degrees”."""
    level, last = tokens[at].level, at + 1
    while tokens[last].level > level:
        last += 1
    items = sum(token.type == "list_item_open" and token.level == level + 1 for token in tokens[at:last])
    signs = [
        token.markup
        for token in (*tokens[max(0, at - 1) : at], *tokens[last + 1 : last + 2])
        if token.type in _LIST_ENDS
    ]
    # “- 5” and “+ 3” below each other are a sum.
    return items == 1 and not any("+" not in (sign, tokens[at].markup) for sign in signs)


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
