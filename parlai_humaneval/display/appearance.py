"""How a reply looks, apart from what it says: markdown, emoji, invisible characters, length.

A model that writes headings, bold words and bullets is known by them. ``plain`` shows every reply in the same way; what was
changed is noted by the names in :data:`CHANGES`. ``markdown`` leaves the text as it was said, for the page to draw (see
:mod:`~parlai_humaneval.display.markdown_tree`). What is no part of the reply
(:mod:`~parlai_humaneval.display.turn_cleanup`) is
taken out in any case, and so are characters that nobody sees, and those that turn the direction of writing around: they
could hide a name, or scramble the page.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import regex

from parlai_humaneval.display.markdown import without_markdown
from parlai_humaneval.display.thoughts import without_thoughts
from parlai_humaneval.display.turn_cleanup import without_labels, without_model_tokens, without_unsafe_mark
from parlai_humaneval.display.vocabulary import Vocabulary, packaged

Appearance = Literal["as_said", "plain", "markdown"]
Emoji = Literal["keep", "strip"]

CHANGES = {
    "control_characters": "characters without a shape, or that turn the direction of writing around, and a terminal's "
    "colours were removed",
    "thoughts": "what the model thought before it replied was left out",
    "unsafe_mark": "the model's own mark of a reply that it does not trust (_POTENTIALLY_UNSAFE__, _PAUSE__) was removed",
    "model_tokens": "marks of a model's own format (</s>, <|im_end|>, <answer>), words to programs, and turns that marks "
    "begin, were removed",
    "speaker_labels": "“Assistant:” before the reply was removed, or a turn after it that begins with “User:”",
    "markdown": "markdown was written as plain text",
    "emoji": "emoji were removed",
    "white_space": "runs of spaces and empty lines were made one",
    "length": "the end was cut off",
}
"""What may be done to how a reply looks, by the name that stands in ``Candidate.changes``."""

ELLIPSIS = "…"
_SHORTEST_CUT = 0.5
"""A cut at the end of a sentence keeps at least this part of what would fit; else it is between words."""

_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b(?=[\d;?]))[0-?]*[ -/]*[@-~]"  # colours, moves of the cursor
    r"|(?:\x1b\]|\x9d(?=\d+;))[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)"  # strings to the terminal
    r"|\x1b(?:[ -/]+[0-~]|[78=>])"  # sets of characters
)
"""Escape sequences of terminals (ECMA-48), which leave “[31m” behind if only their first character goes."""

_NEWLINES = re.compile(r"\r\n?|[\u2028\u2029\x0b\x0c\x85]")
# Some characters without a shape give one to those next to them: joiners (emoji, Persian, Indic writing), variation
# selectors (emoji, Chinese characters, signs of mathematics, Mongolian) and the tags in the flags of regions. These stay.
_FLAG = r"(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"
"""Of a region, as England's: a black flag and the region's code in tags (UTS #51, ED-14a)."""
_SELECTORS = r"\ufe00-\ufe0f\u180b-\u180d\u180f\U000e0100-\U000e01ef"
_SIGNS_OVER_NUMBERS = r"\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Format characters that are seen (Unicode's Prepended_Concatenation_Mark)."""

_UNSEEN = regex.compile(
    rf"{_FLAG}|[[\p{{Cc}}\p{{Cf}}\p{{Default_Ignorable_Code_Point}}\u2800]"
    rf"--[\n\t\u200c\u200d{_SELECTORS}{_SIGNS_OVER_NUMBERS}]]",
    regex.V1,
)
"""Control and format characters, fillers, unassigned ones that are ignored (UAX #44), and the empty Braille pattern."""
_LONE_SELECTOR = regex.compile(
    rf"(?<![[\p{{Emoji}}--\p{{ASCII}}]\p{{Han}}\p{{Sm}}\p{{Mongolian}}\p{{Myanmar}}\p{{Phags_Pa}}])[{_SELECTORS}](?!\u20e3)",
    regex.V1,
)
"""Not behind what it selects a shape of, and not in a keycap (a digit, U+FE0F, U+20E3)."""
_LONE_JOINER = regex.compile(
    "(?:(?<![^\x00-\u02ff])|(?<=[\u2000-\u200b]))[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u02ff])|[\u200c\u200d](?=[\u200c\u200d])"
)

_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)")


def looked_over(
    text: str,
    *,
    appearance: Appearance = "as_said",
    emoji: Emoji = "keep",
    max_chars: int | None = None,
    vocabulary: Vocabulary | None = None,
) -> tuple[str, list[str]]:
    """``text`` as it is to look, and the names of what was changed, in the order of :data:`CHANGES`.

    Args:
        text: what a model said.
        appearance: ``plain`` takes out markdown and HTML tags, and makes white space the same.
        emoji: whether emoji stay.
        max_chars: the longest text; what is over it is cut off, if possible after a sentence.
        vocabulary: holds the labels of speakers; None: the packaged ones.
    """
    plain = appearance == "plain"
    steps: list[tuple[str, Any]] = [
        ("control_characters", without_control),
        ("thoughts", without_thoughts),
        ("unsafe_mark", without_unsafe_mark),
        ("model_tokens", lambda text: without_model_tokens(text, all_of_them=plain)),
        ("speaker_labels", lambda text: without_labels(text, vocabulary or packaged())),
    ]
    if plain:
        steps.append(("markdown", lambda text: without_control(without_markdown(text))))
    if emoji == "strip":
        steps.append(("emoji", without_emoji))
    if plain:
        steps.append(("white_space", with_single_spaces))
    if max_chars is not None:
        cut = shortened_markdown if appearance == "markdown" else shortened
        steps.append(("length", lambda text: cut(text, max_chars)))
    changes = []
    for name, step in steps:
        changed = step(text)
        if changed != text:
            changes.append(name)
        text = changed
    return text, changes


def without_control(text: str) -> str:
    """Newlines as ``\\n``; no control, zero-width and direction characters, and no escape sequences of terminals.

    Joiners and the like stay in emoji and non-Latin words (see :func:`without_unseen`).
    """
    if text.isascii() and text.isprintable():
        return text
    return without_unseen(_NEWLINES.sub("\n", _TERMINAL.sub("", text)))


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
    """At most ``max_chars`` characters: up to the end of a sentence, or else of a word or of what is seen as a character,
    and “…”."""
    if len(text) <= max_chars:
        return text
    room = text[: max(0, max_chars - 2)]
    least = int(len(room) * _SHORTEST_CUT)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, len(room) + 1) if match.end() <= len(room)]
    if ends and ends[-1] >= least:
        return f"{room[: ends[-1]]} {ELLIPSIS}"
    space = max(room.rfind(" "), room.rfind("\n"))
    end = space if space >= least else whole_up_to(text, max_chars - 1)
    return text[:end].rstrip() + ELLIPSIS


def shortened_markdown(text: str, max_chars: int) -> str:
    """The same of markdown, which stays whole: no sign is left over by a cut within code, a table or bold words."""
    if len(text) <= max_chars:
        return text
    cut = shortened(text, max_chars - 4).removesuffix(ELLIPSIS).rstrip()
    before, _, last_line = cut.rpartition("\n")
    in_code = len(_FENCE.findall(cut)) % 2 == 1
    at_fence = _FENCE.match(last_line) is not None
    if in_code and not at_fence:
        return f"{cut}\n{ELLIPSIS}"
    begun = at_fence if in_code else last_line.startswith("|") and not last_line.endswith("|")
    if begun or at_fence or last_line.endswith("|"):
        return f"{before if begun else cut}\n\n{ELLIPSIS}".lstrip("\n")
    bold = cut.rpartition("\n\n")[2].count("**") % 2
    return cut + ELLIPSIS + "**" * bold


def without_unseen(text: str) -> str:
    r"""``text`` without characters that have no shape and give none to their neighbours; ``\n`` and ``\t`` stay."""
    if text.isascii() and text.isprintable():
        return text
    seen = _UNSEEN.sub(lambda match: match["flag"] or "", text)
    return str(_LONE_JOINER.sub("", _LONE_SELECTOR.sub("", seen)))


def whole_up_to(text: str, end: int) -> int:
    r"""The last place up to ``end`` that splits no character as it is seen: a grapheme cluster (UAX #29, ``\X``)."""
    if end >= len(text):
        return len(text)
    for cluster in regex.finditer(r"\X", text):
        if cluster.end() > end:
            return int(cluster.start())
    return end
