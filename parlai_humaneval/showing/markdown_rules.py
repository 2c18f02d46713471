"""Markdown as models write it in a chat: signs count as markdown only where they surely are.

CommonMark takes ``2*3*4`` for emphasis, ``# of people`` for a heading and ``List<String>`` for HTML. In a chat they are
words, and a reply must not lose them. The rules here stand in front of those of markdown-it and leave such signs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from parlai_humaneval.showing.markdown_emphasis import emphasis, only_around_words, strikethrough

BlockRule = Callable[[Any, int, int, bool], bool]
InlineRule = Callable[[Any, bool], bool]

_FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]{0,20}|\{[^`~}]*\})[ \t]*")
_QUOTE = re.compile(r">[ \t]+(?![\d=<>]?[\d=])\S|>[ \t]*$")
_HEADING = re.compile(r"(?P<signs>#{1,6})[ \t]+(?P<words>\S.*)")
_GAP = re.compile(r"_{4,}\s*")
_NUMBER_OF = re.compile(r"of\b", re.IGNORECASE)
_ADDRESS = re.compile(
    r"\s*<?(?:$|>|[#/.?]|www\.|[\w.+-]+://|(?:mailto|tel|sms|data|file|javascript):|[^\s\"'(]*(?:@|\.[a-z]\w))",
    re.IGNORECASE,
)
_DEEPEST = 12
"""markdown-it drops the text that is deeper than its own limit, 20."""
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto):[^\s<>]*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)>", re.IGNORECASE)
_ESCAPED = "*_`[]<>~|$&#"
_SHRUG = "¯"
_LINE_START = re.compile(r"(?:^|\n)[ \t]*$")
_NUMBER = re.compile(r"(?:^|\n)[ \t]*\d+$")

_NAMES = (
    "a abbr address area article aside audio b big blockquote body br button canvas center cite code col colgroup dd del "
    "details dfn dialog div dl dt em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr "
    "html i iframe img input ins kbd label legend li link main mark menu meta nav noscript object ol optgroup option p "
    "param picture pre progress q s samp script section select small source span strike strong style sub summary sup svg "
    "table tbody td textarea tfoot th thead title tr tt u ul var video wbr"
)
_FLAGS = "async|checked|controls|defer|disabled|hidden|loop|muted|open|readonly|required|reversed|selected"
_VALUE = r"\"[^\"]*\"|'[^']*'|[^\s\"'<>=`]+"
_TAG = re.compile(
    rf"<(?P<name>{_NAMES.replace(' ', '|')})(?:\s+(?:[a-z:@_][\w:.-]*\s*=\s*(?:{_VALUE})|(?:{_FLAGS})))*\s*/?>"
    rf"|</(?:{_NAMES.replace(' ', '|')})\s*>|<!--.*?-->|<!doctype\s[^<>]*>",
    re.IGNORECASE | re.DOTALL,
)


def chat_markdown() -> Any:
    """A parser of markdown that is sure of it. Indented lines, “[a]: b” and underlined titles are no markdown to it, and
    HTML is nothing but the tags that there are."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import blockquote, fence, heading, hr, list_block, table
    from markdown_it.rules_inline import escape, image, link

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.disable(["code", "reference", "lheading", "html_block"])
    everywhere = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    blocks = parser.block.ruler
    blocks.at("fence", _block_if(_is_fence, fence), everywhere)
    blocks.at("blockquote", _block_if(_is_quote, blockquote), everywhere)
    blocks.at("hr", _block_if(_is_rule, hr), everywhere)
    blocks.at("list", _block_if(_is_shallow, list_block), {"alt": ["paragraph", "reference", "blockquote"]})
    blocks.at("heading", _block_if(_is_heading, heading), {"alt": ["paragraph", "reference", "blockquote"]})
    blocks.at("table", _table_without_loss(table), {"alt": ["paragraph", "reference"]})
    words = parser.inline.ruler
    words.at("escape", _escape_of_markdown(escape))
    words.at("emphasis", emphasis)
    words.at("strikethrough", strikethrough)
    words.at("link", _to_an_address(link))
    words.at("image", _to_an_address(image))
    words.at("autolink", _autolink)
    words.at("html_inline", _html_tag)
    parser.inline.ruler2.after("balance_pairs", "only_around_words", only_around_words)
    return parser


def _block_if(wanted: Callable[[str, Any, int, int], bool], rule: BlockRule) -> BlockRule:
    """``rule`` for the lines that are ``wanted``: a function of the line, the state, its number and that of the end."""

    def checked(state: Any, start: int, end: int, silent: bool) -> bool:
        return wanted(_line(state, start), state, start, end) and rule(state, start, end, silent)

    return checked


def _line(state: Any, number: int) -> str:
    return str(state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]])


def _is_fence(line: str, state: Any, start: int, end: int) -> bool:
    """Of code: nothing but a language stands behind the signs, and lines follow (or it is the end of a fence)."""
    found = _FENCE.fullmatch(line)
    return found is not None and (not found["language"] or start + 1 < end)


def _is_quote(line: str, state: Any, start: int, end: int) -> bool:
    return _QUOTE.match(line) is not None and state.level < _DEEPEST  # neither “>:(” nor “> 5” nor “>>>”


def _is_shallow(line: str, state: Any, start: int, end: int) -> bool:
    return bool(state.level < _DEEPEST)


def _is_rule(line: str, state: Any, start: int, end: int) -> bool:
    return _GAP.fullmatch(line) is None  # which is to be filled in


def _is_heading(line: str, state: Any, start: int, end: int) -> bool:
    """One “#” also means “number”: “# of people: 12”, “# 5”, or a lower-case word in a reply of one line."""
    found = _HEADING.fullmatch(line)
    if found is None or _NUMBER_OF.match(found["words"]):
        return False
    begins = found["words"][0]
    alone = "\n" not in state.src.strip()
    return len(found["signs"]) > 1 or not (alone and (begins.islower() or begins.isdigit()))


def _table_without_loss(rule: BlockRule) -> BlockRule:
    """Tables without the rows that are wider than the head, whose last cells would be lost."""

    def checked(state: Any, start: int, end: int, silent: bool) -> bool:
        tokens = len(state.tokens)
        if not rule(state, start, end, silent):
            return False
        if silent or all(
            _cells(_line(state, line)) <= _cells(_line(state, start)) for line in range(start, state.line)
        ):
            return True
        del state.tokens[tokens:]
        state.line = start
        return False

    return checked


def _cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line.strip().strip("|"))) + 1


def _escape_of_markdown(rule: InlineRule) -> InlineRule:
    r"""Backslashes before signs that would be markdown: not those of ``\\server``, ``\d+\.\d``, ``\(x\)`` and a shrug."""

    def checked(state: Any, silent: bool) -> bool:
        at = state.pos
        if state.src[at : at + 1] != "\\":
            return False
        return _guards(state.src[max(0, at - 40) : at], state.src[at + 1 : at + 3]) and rule(state, silent)

    return checked


def _guards(before: str, after: str) -> bool:
    sign = after[:1]
    if sign in ("-", "+"):
        return _LINE_START.search(before) is not None
    if sign in (".", ")"):
        return _NUMBER.search(before) is not None
    if sign == "!":
        return after == "!["
    return sign == "\n" or (sign != "" and sign in _ESCAPED and not before.endswith(_SHRUG))


def _to_an_address(rule: InlineRule) -> InlineRule:
    """Links and images whose target looks like one: “[home](finally)” is text."""

    def checked(state: Any, silent: bool) -> bool:
        at = state.pos
        if not rule(state, True):
            return False
        end, state.pos = state.pos, at
        target = state.src[at:end].rpartition("](")[2].removesuffix(")")
        return _ADDRESS.match(target) is not None and rule(state, silent)

    return checked


def _autolink(state: Any, silent: bool) -> bool:
    """``<https://…>`` and ``<me@example.org>``: what stands between; ``<std::vector>`` is text."""
    found = _AUTOLINK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("text", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _html_tag(state: Any, silent: bool) -> bool:
    """Tags that HTML has, and comments: “<Enter>”, “List<String>” and “a<b and c>d” are text."""
    found = _TAG.match(state.src, state.pos, state.posMax)
    if found is None or not _is_tag(found, state.src):
        return False
    if not silent:
        state.push("html_inline", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _is_tag(found: re.Match[str], text: str) -> bool:
    """A tag of one letter right behind a word (``a<b>c``) needs its end."""
    name = found["name"]
    glued = found.start() > 0 and text[found.start() - 1].isalnum()
    return name is None or len(name) > 1 or not glued or f"</{name}" in text
