r"""The words of a markdown text: no signs, the same lines, and no word lost.

CommonMark takes ``2*3*4`` for emphasis, ``# of people`` for a heading and ``List<String>`` for HTML. In a chat they are
words, and a reply must not lose them. So a sign that may mean something else is replaced by a character that stands in no
text before markdown-it reads it, and put back afterwards (see :data:`_DOUBTFUL`). Indented lines, “[a]: b” and underlined
titles are no markdown here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import regex

_SIGNS = "*_~<>#-+|[]`\\.)!"
_HIDE = {ord(sign): 0xFDD0 + number for number, sign in enumerate(_SIGNS)}
"""Sign → a code point that Unicode keeps free of characters for ever."""
_SHOW = {free: sign for sign, free in _HIDE.items()}
_MARKDOWN = re.compile(r"[*_`#>\[\]|~<&\\]|^[^\S\n]*(?:[-+]|\d+[.)])\s|^[^\S\n]*-+[^\S\n]*$|https?:", re.MULTILINE)
_BREAK = re.compile(
    r"</?(?:address|article|aside|blockquote|body|br|caption|center|d[dlt]|details|div|fieldset|fig\w+|footer|form|h[1-6r]|"
    r"head(?:er)?|html|legend|li|main|nav|ol|option|p|pre|section|summary|table|t[bdhr]\w*|title|ul)\b",
    re.IGNORECASE,
)
"""Tags between which words do not touch."""

_TAG_NAMES = (
    "a abbr address area article aside audio b big blockquote body br button canvas center cite code col colgroup dd del "
    "details dfn dialog div dl dt em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr "
    "html i iframe img input ins kbd label legend li link main mark menu meta nav noscript object ol optgroup option p "
    "param picture pre progress q s samp script section select small source span strike strong style sub summary sup svg "
    "table tbody td textarea tfoot th thead title tr tt u ul var video wbr"
).replace(" ", "|")
_VALUE = r"\"[^\"]*\"|'[^']*'|[^\s\"'<>=`]+"
_ATTRIBUTES = (
    rf"(?:\s+(?:[a-z:@_][\w:.-]*\s*=\s*(?:{_VALUE})|async|checked|controls|defer|disabled|hidden|loop|muted|open|readonly|"
    r"required|reversed|selected))*"
)
_TAG = (  # a tag of one letter right behind a word (“a<b>c”) needs its end
    rf"<(?:(?!(?<=\w<)\w>(?!.*</))(?:{_TAG_NAMES}){_ATTRIBUTES}\s*/?>|/(?:{_TAG_NAMES})\s*>|!--.*?-->|!doctype\s[^<>]*>|"
    r"(?:https?|ftp|mailto):[^\s<>]*>|[\w.+-]+@[\w-]+(?:\.[\w-]+)+>)"
)
_ADDRESS = r"\s*<?(?:[)>#/.?]|www\.|[\w.+-]+://|(?:mailto|tel|sms|data|file|javascript):|[^\s\"'()]*(?:@|\.[a-z]\w))"
"""The target of a link; that of “[home](finally)” is a word."""

# Written without spaces around words.
_UNSPACED = r"\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\u3000-\u303f"
_SPACED = rf"[[\w\p{{M}}]--[{_UNSPACED}]]"
_SEEN = r"[\p{L}\p{N}\p{M}\p{So}\p{Sc}]"
_RUN = r"(?<![*_~\\])(?:[*_]|(?<!~)~~(?!~))+(?![*_~])"
_EMPHASIS = (
    r"(?<![\w*^\\/)\]=])\*\*[^\W\d_]{2,30}\*\*(?=\w)|(?<=\w)\*\*[^\W\d_]{2,30}\*\*(?![\w*])|"
    rf"(?<!{_SPACED}|[\^\\/)\]}}%=<$@#&¯]){_RUN}(?={_SEEN})|(?<=^|[\s(\[{{]){_RUN}(?=[\"'`<\[({{¿¡…#@&\p{{Pi}}]|\.\.\.)|"
    rf"(?<={_SEEN}){_RUN}(?!{_SPACED}|[\^\\=@#]|(?<=_)(?:[.:/(@-]\w|\(\)))|"
    rf"(?<=[.,!?:;…\"'`%>)\]}}\p{{Pf}}]){_RUN}(?=$|[\s.,!?:;…)\]}}{_UNSPACED}])"
)
"""Signs around a part of a word that stands free on its other side (``**Chat**GPT``), and those that stand free on one."""
_LINE = r"^[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*"
_SURE = (
    r"(?<!¯)\\[*_`\[\]<>~|$&#]|(?<=^[ \t]*)\\[-+]|(?<=^[ \t]*\d+)\\[.)]|\\(?=!\[)|\\\n|"
    rf"(?<={_LINE})(?:`{{3,}}|~{{3,}})[ \t]*(?:(?:[\w+#.-]{{1,20}}|\{{[^`~}}]*\}})[ \t]*(?=\n)|$)|"
    rf"(?<={_LINE})(?:(?:\*[ \t]*){{3,}}$|\*(?=[ \t]+\S)|(?:_[ \t]*){{3}}$)|"
    rf"{_TAG}|\]\(\s*<?(?=[)>])|\]\((?={_ADDRESS})"
)
"""Escapes, code with an end, bullets and rules, tags, links."""
_LONE = "|".join(
    rf"(?<=^[ \t]*)(?<!^[ \t]*{sign}[^\n]*\n[ \t]*)(?<![:：][ \t]*\n\s*){sign}(?=[ \t]+\d)(?![^\n]*\n[ \t]*{sign}[ \t])"
    for sign in ("-", r"\+")
)
"""A sign before a number, with none below or above it and no announcement: “It is\n- 5 degrees”."""
_NO_BLOCK = (
    rf"(?<={_LINE})(?:#{{1,6}}(?=[ \t]*$)|\#(?=[ \t]+of\b)|>(?![ \t]+(?![\d=<>]?[\d=])\S|[ \t]*$)|`{{3,}}(?=[^`\n]*$)|"
    rf"[-+*](?=[ \t]*$))|(?<=\A\s*)\#(?=[ \t]+(?:(?-i:\p{{Ll}})|\d)[^\n]*\s*\Z)|{_LONE}"
)
"""A number (“# of dogs”), a face or comparison (“>:(”, “> 5”), code without an end, a list of nothing, a sum."""
_DOUBTFUL = regex.compile(
    rf"(?=[*_~<>#+`\\\]-])(?:(?P<sure>{_SURE})|(?P<name>__[a-z]+__)|(?P<emphasis>{_EMPHASIS})|{_NO_BLOCK}|"
    r"[*_]+|~+|\\|<|\](?=\())",
    regex.V1 | regex.MULTILINE | regex.IGNORECASE | regex.DOTALL,
)
"""Signs. Those in the groups ``sure`` and ``emphasis`` are left to markdown-it; all others are no markdown."""
_DEEP = re.compile(
    r"^(?:[ \t]{0,9}(?:[>+*-]|\d{1,9}[.)])){9,}(?=[ \t]*[^\s>*+-])|^(?:[ \t]{0,9}[>+*-](?=[ \t])){100,}|(?:!?\[){30,}",
    re.MULTILINE,
)
"""Lists within lists without end: markdown-it drops what is too deep. And signs without end, which take seconds to read."""

_MATHS = re.compile(
    r"\\\[(?:(?!\n\s*\n|```|\\\[).){1,2000}?\\\]|\\\((?:(?!\n|\\\().){1,500}?\\\)"
    r"|\$\$(?:(?!\n\s*\n|```|\$\$).){1,2000}?\$\$|(?<![\w$\\])\$(?=\S)(?=[^$\n]*[\\^_{=])[^$\n*`]{1,500}(?<=\S)\$(?![\w$])",
    re.DOTALL,
)
"""LaTeX between its signs; two prices in a sentence are none."""
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def without_markdown(text: str) -> str:
    """``text`` without signs for bold, headings, code, quotes; links without their address.

    Items of a list stand on lines of their own, numbers stay; cells of a table are joined by commas; tags of HTML are
    left out, what stands between them is not. Signs that may mean something else stay.
    """
    if not may_be_markdown(text):
        return text
    shown = put_back("\n".join(_lines(parsed(text))))
    return text if shown.split() == text.split() else shown


def may_be_markdown(text: str) -> bool:
    """Whether anything in ``text`` may be a sign."""
    return _MARKDOWN.search(text) is not None


def parsed(text: str, *, keep_maths: bool = False) -> list[Any]:
    """markdown-it's tokens of ``text``; what they hold is to be :func:`put_back`.

    ``keep_maths``: what stands between the signs of LaTeX is no markdown, and neither is a link where it leads nowhere else
    than out of the page.
    """
    known = _MATHS.sub(_all_hidden, text) if keep_maths else text
    sure = _DOUBTFUL.sub(_hidden_from_parser, _DEEP.sub(_all_hidden, known))
    tokens: list[Any] = _parser(any_address=keep_maths).parse(_without_short_tables(sure))
    return tokens


def put_back(text: str) -> str:
    """``text`` of a token with the signs that were hidden from markdown-it."""
    return text.translate(_SHOW)


def is_line_break(tag: str) -> bool:
    """Whether an HTML tag does nothing but break the line."""
    return _LINE_BREAK.fullmatch(tag) is not None


def _all_hidden(match: re.Match[str]) -> str:
    return match[0].translate(_HIDE)


def _hidden_from_parser(match: regex.Match[str]) -> str:
    kept = match["sure"] or match["emphasis"] or (match["name"] not in _python_names() and match["name"])
    return str(kept or match[0].translate(_HIDE))


@lru_cache(maxsize=1)
def _python_names() -> frozenset[str]:
    others = "all author del enter exit file future getattr main name path pycache slots version"
    return frozenset([*dir(type), *dir(int), *dir(dict), *(f"__{name}__" for name in others.split())])


def _without_short_tables(text: str) -> str:
    """A table with a row that is wider than its head is none: its last cells would be lost."""
    lines = text.split("\n")
    widest_below = 0
    for at in range(len(lines) - 1, 0, -1):
        line, width = lines[at], _cells(lines[at])
        if "|" in line and "-" in line and not line.strip(" \t|:-") and widest_below > _cells(lines[at - 1]):
            lines[at] = line.translate(_HIDE)
        widest_below = max(widest_below, width)
    return "\n".join(lines)


def _cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row.strip().strip("|"))) + 1


@lru_cache(maxsize=2)
def _parser(*, any_address: bool = False) -> Any:
    """``any_address``: a link is one wherever it leads (``javascript:…``); only for who shows no address."""
    from markdown_it import MarkdownIt

    parser: Any = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    parser.normalizeLinkText = str
    if any_address:
        parser.validateLink = lambda url: True
    return parser.disable(["code", "reference", "lheading", "html_block"])


def _lines(tokens: Iterable[Any]) -> list[str]:
    lines: list[str] = []
    numbers = ""
    row: list[str] | None = None
    for token in tokens:
        if token.type == "list_item_open":
            # Of a list within a list the number of the outer one may still wait for its words.
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
    return lines


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
