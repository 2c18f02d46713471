"""What steps and answers are made of.

What a reply's markdown comes to on a rater's page: a small tree of known parts, which holds no HTML and no address.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from typing_extensions import NotRequired, TypedDict

from parlai_humaneval.i18n.translate import t

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


MAX_TEXT = 20_000
"""Most characters of any text that a page may send in one answer."""

Text = Annotated[str, Field(max_length=MAX_TEXT)]
"""What a person wrote."""
Name = Annotated[str, Field(max_length=100)]
"""An id that came from the server."""


Words = Annotated[str, PlainSerializer(lambda text: t(text), return_type=str)]
"""What we say, and nobody else: it goes over the wire in the language in force, and is English in the records."""


class Wire(BaseModel):
    """Nothing but what is declared goes over the wire."""

    model_config = ConfigDict(extra="forbid")


class Said(Wire):
    """Something that was said. ``markup``: how the page draws it, where it is more than its ``text``, which is recorded."""

    text: str
    markup: Markup | None = None


class Card(Said):
    """One candidate reply; cards are shown in list order, numbered from 1."""

    candidate_id: str


class Option(Wire):
    """Something to tick or to choose that is not a reply."""

    option_id: str
    label: Words


class ReasonField(Wire):
    """The written reason below a choice."""

    label: Words
    required: bool = True
    min_words: int = 1


class WireAnswer(Wire):
    """``update_id`` is the page's own, so that an answer sent twice counts once; ``step_id`` names what it answers."""

    update_id: Annotated[str, Field(min_length=1, max_length=100)]
    step_id: Annotated[str, Field(min_length=1, max_length=100)]
