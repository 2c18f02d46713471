"""How a reply looks, apart from what it says: markdown, emoji, invisible characters, length.

A model that writes headings, bold words and bullets is known by them. ``plain`` shows every reply in the same way; what was
changed is noted by the names in :data:`CHANGES`. Characters that nobody sees, and those that turn the direction of
writing around, are taken out in any case: they could hide a name, or scramble the page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

Appearance = Literal["as_said", "plain"]
Emoji = Literal["keep", "strip"]

CHANGES = {
    "control_characters": "characters without a shape, or that turn the direction of writing around, and a terminal's "
    "colours were removed",
    "model_tokens": "marks of a model's own format (</s>, <|im_end|>, thoughts between tags) were removed",
    "markdown": "markdown was written as plain text",
    "emoji": "emoji were removed",
    "white_space": "runs of spaces and empty lines were made one",
    "length": "the end was cut off",
}
"""What may be done to how a reply looks, by the name that stands in ``Candidate.changes``."""

ELLIPSIS = "…"
_SHORTEST_CUT = 0.5
"""A cut at the end of a sentence keeps at least this part of what would fit; else it is between words."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
    "\u034f\u3164\uffa0\u2800]"
)
"""Unicode's control and format characters but for \\n, \\t, joiners and signs over Arabic numbers; and, in the last row,
what Unicode counts as letters or signs though it has no shape."""
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b(?=[\d;?]))[0-?]*[ -/]*[@-~]"  # colours, moves of the cursor
    r"|(?:\x1b\]|\x9d(?=\d+;))[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)"  # strings to the terminal
    r"|\x1b(?:[ -/]+[0-~]|[78=>])"  # sets of characters
)
"""Escape sequences of terminals (ECMA-48), which leave “[31m” behind if only their first character goes."""
_JOINERS = "\u200c\u200d"
"""They make shapes in emoji and in Persian or Indic writing, and are taken out elsewhere."""

_NEWLINES = re.compile(r"\r\n?|[\u2028\u2029\x0b\x0c\x85]")
_LONE_JOINER = re.compile(
    "(?:(?<![^\x00-\u02ff])|(?<=[\u2000-\u200b]))[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u02ff])|[\u200c\u200d](?=[\u200c\u200d])"
)
_MODEL_TOKENS = re.compile(
    r"<think(?:ing)?>.*?</think(?:ing)?>|<\|[\w ]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"
    r"|<(?:eos|bos|pad|unk)>|__(?:start|end|unk|null)__",
    re.IGNORECASE | re.DOTALL,
)
_MARKDOWN_SIGNS = re.compile(r"[*_`#>\[\]|~<&\\]|^\s*(?:[-+]|\d+[.)])\s|^\s*[-=]+\s*$|https?:", re.MULTILINE)
_TAG = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)")


def looked_over(
    text: str, *, appearance: Appearance = "as_said", emoji: Emoji = "keep", max_chars: int | None = None
) -> tuple[str, list[str]]:
    """``text`` as it is to look, and the names of what was changed, in the order of :data:`CHANGES`.

    Args:
        text: what a model said.
        appearance: ``plain`` takes out markdown, HTML tags and tokens of models, and makes white space the same.
        emoji: whether emoji stay.
        max_chars: the longest text; what is over it is cut off, if possible after a sentence.
    """
    steps: list[tuple[str, Any]] = [("control_characters", without_control)]
    if appearance == "plain":
        steps += [("model_tokens", without_model_tokens), ("markdown", without_markdown)]
    if emoji == "strip":
        steps.append(("emoji", without_emoji))
    if appearance == "plain":
        steps.append(("white_space", with_single_spaces))
    if max_chars is not None:
        steps.append(("length", lambda text: shortened(text, max_chars)))
    changes = []
    for name, step in steps:
        changed = step(text)
        if changed != text:
            changes.append(name)
        text = changed
    return text, changes


def without_control(text: str) -> str:
    """Newlines as ``\\n``; no control, zero-width and direction characters, and no escape sequences of terminals.

    Joiners stay in emoji and non-Latin words.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _UNSEEN.sub("", _NEWLINES.sub("\n", _TERMINAL.sub("", text)))
    return _LONE_JOINER.sub("", text) if any(joiner in text for joiner in _JOINERS) else text


def without_model_tokens(text: str) -> str:
    """No ``</s>`` and the like, and no thoughts between ``<think>`` tags."""
    return _MODEL_TOKENS.sub("", text) if "<" in text or "[" in text or "__" in text else text


def without_markdown(text: str) -> str:
    """The words of a markdown text: no signs for bold, headings, code, quotes; links without their address.

    Items of a list stand on lines of their own, numbers stay; cells of a table are joined by commas; tags of HTML are
    left out, what stands between them is not.
    """
    if not _MARKDOWN_SIGNS.search(text):
        return text
    blocks = _plain_blocks(_markdown().parse(text))
    return "\n".join(blocks)


@lru_cache(maxsize=1)
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    # Indented lines and “[a]: b” are no markdown to who writes a chat.
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["code", "reference", "lheading"])


def _plain_blocks(tokens: list[Any]) -> list[str]:
    """The texts of the blocks of a parsed text, one a line."""
    blocks: list[str] = []
    mark = ""
    row: list[str] | None = None
    for token in tokens:
        if token.type == "list_item_open":
            mark = f"{token.info}{token.markup} " if token.info else ""
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            blocks.append(", ".join(row or ()))
            row = None
        elif token.type in ("inline", "fence", "code_block", "html_block"):
            words = _words(token)
            if row is not None:
                row.append(words)
            elif words.strip():
                blocks.append(mark + words)
                mark = ""
    return blocks


def _words(token: Any) -> str:
    if token.type in ("fence", "code_block"):
        return str(token.content).rstrip("\n")
    if token.type == "html_block":
        return _TAG.sub("", _BREAK.sub("\n", token.content)).strip()
    return "".join(_inline(child) for child in token.children or [])


def _inline(token: Any) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "html_inline":
        return "\n" if _BREAK.fullmatch(token.content) else ""
    return str(token.content)  # of text, code and images; what opens and closes has none


def without_emoji(text: str) -> str:
    """No emoji, and no space that stood before one."""
    if text.isascii():
        return text
    import emoji

    marked = emoji.replace_emoji(text, "\0")
    return re.sub(r"^(?:\0 ?)+| ?\0+(?: \0+)*", "", marked, flags=re.MULTILINE)


def with_single_spaces(text: str) -> str:
    """One space between words, one line break between lines, nothing at the ends."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def shortened(text: str, max_chars: int) -> str:
    """At most ``max_chars`` characters: up to the end of a sentence, or else of a word, and “…”."""
    if len(text) <= max_chars:
        return text
    room = text[: max(0, max_chars - 2)]
    least = int(len(room) * _SHORTEST_CUT)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, len(room) + 1) if match.end() <= len(room)]
    if ends and ends[-1] >= least:
        return f"{room[: ends[-1]]} {ELLIPSIS}"
    space = max(room.rfind(" "), room.rfind("\n"))
    return (room[:space] if space >= least else text[: max_chars - 1]).rstrip() + ELLIPSIS
