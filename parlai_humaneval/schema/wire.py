"""The parts of steps and answers on the wire.

A reply's markdown travels as a small tree of known parts, without HTML and addresses.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, PlainSerializer
from typing_extensions import NotRequired, TypedDict

from parlai_humaneval.i18n.translate import t

Tag = Literal[
    "p", "title", "b", "i", "s", "code", "pre", "ul", "ol", "li", "quote", "hr", "br", "table", "tr", "th", "td"
]
"""``title``: a heading of the reply; ``pre``: lines of code; ``quote``: a block quote."""

MOST_LEVELS = 16  # levels of nesting; the page refuses more
MOST_PARTS = 5000  # parts and texts of one reply; the page refuses more


class Part(TypedDict):
    """Part of a text and its content. ``start``: the number of an ordered list's first item, where it is not 1."""

    tag: Tag
    start: NotRequired[int]
    parts: list[Part | str]


Markup = list[Part | str]


MAX_TEXT = 20_000  # the most characters of a text in an answer

Text = Annotated[str, Field(max_length=MAX_TEXT)]  # what a person wrote
Name = Annotated[str, Field(max_length=100)]  # an id that came from the server


Words = Annotated[str, PlainSerializer(lambda text: t(text), return_type=str)]
"""Our words, not a person's or a model's: English in records, and in the rater's language on the wire."""


class Wire(BaseModel, extra="forbid"):
    """Nothing but what is declared goes over the wire."""


class Picture(Wire):
    """A picture next to a text, which the study's own server has at ``images/DIGEST.jpg``."""

    digest: str
    alt: str
    width: int
    height: int


class Said(Wire):
    """Something that was said. ``markup``: how the page draws it, where it is more than its ``text``, which is recorded."""

    text: str
    markup: Markup | None = None
    images: list[Picture] = Field(default_factory=list)


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


class Redirect(Wire):
    """Back to the ``site`` that sent the rater: an address, or a ``code`` that the rater is to enter there."""

    site: str
    url: str | None = None
    code: str | None = None


class WireAnswer(Wire):
    """``update_id`` is the page's own, so that an answer sent twice counts once; ``step_id`` names what it answers."""

    update_id: Annotated[str, Field(min_length=1, max_length=100)]
    step_id: Annotated[str, Field(min_length=1, max_length=100)]
