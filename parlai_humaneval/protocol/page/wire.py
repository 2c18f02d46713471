"""What steps and answers are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from parlai_humaneval.languages.speaking import t
from parlai_humaneval.protocol.page.markup import Markup

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
