"""What a reply's markdown comes to on a rater's page: a small tree of known parts, which holds no HTML and no address."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

Tag = Literal[
    "p", "title", "b", "i", "s", "code", "pre", "ul", "ol", "li", "quote", "hr", "br", "table", "tr", "th", "td"
]
"""``title``: a heading, which is none of the page's own; ``pre``: lines of code; ``quote``: what somebody else said."""

MOST_LEVELS = 16
"""Parts within parts; the page refuses more."""
MOST_PARTS = 5000
"""Parts and texts of one reply; the page refuses more."""


class Part(TypedDict):
    """A part of a text and what stands in it. ``start``: the number of an ordered list's first item, where it is not 1."""

    tag: Tag
    start: NotRequired[int]
    parts: list[Part | str]


Markup = list[Part | str]
