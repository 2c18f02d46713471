"""Characters without a shape: they could hide a name from who masks it, or turn the direction of writing around.

Some of them shape the characters next to them: joiners (emoji, Persian, Indic writing), variation selectors (emoji, Chinese
characters, signs of mathematics, Mongolian) and the tags in the flags of regions. There they stay; all others go.
"""

from __future__ import annotations

import regex

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
