"""What a rater's page is told to show, and what it answers.

The server owns the state of a live task. After every event it sends the page one
:class:`PageState`: the whole of what is to be seen, with a growing ``version``. A page
that was reloaded, or that missed some, needs only the newest. The page answers a step
with one :class:`Answer`; the server checks it against the step that it had sent.

No model name, no key of a right answer and no worker id ever stands in a PageState.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_TEXT = 20_000
"""Most characters of any text that a page may send in one answer."""


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Card(_Wire):
    """One candidate reply; cards are shown in list order, numbered from 1."""

    candidate_id: str
    text: str


class Entry(_Wire):
    """One line of the transcript. ``note`` is a small remark below it (practice feedback, say)."""

    entry_id: str
    speaker: Literal["you", "partner"]
    text: str
    note: str | None = None


class Progress(_Wire):
    """“turn 3 of 6”; ``total`` None when the rater decides when to end."""

    unit: Literal["turn", "conversation", "practice"]
    current: int
    total: int | None


class Context(_Wire):
    """The foldable card above the transcript: a persona or a topic."""

    title: str
    lines: list[str]


class Notice(_Wire):
    """A message about the last answer: why it was refused, or practice feedback with a point for each item."""

    level: Literal["info", "success", "error"]
    text: str
    points: list[str] = Field(default_factory=list)


class ReasonField(_Wire):
    """The written reason below a choice."""

    label: str
    required: bool = True
    min_words: int = 1


class WaitStep(_Wire):
    """The partner is typing, or something takes longer (``slow``)."""

    kind: Literal["wait"] = "wait"
    text: str
    slow: bool = False


class MessageStep(_Wire):
    """Write the next message."""

    kind: Literal["message"] = "message"
    step_id: str
    label: str
    min_words: int = 1
    max_chars: int = 2000


class ChooseStep(_Wire):
    """Choose ``min_choices`` to ``max_choices`` cards; with 0 allowed, ``none_label`` is the explicit “none”."""

    kind: Literal["choose"] = "choose"
    step_id: str
    question: str
    cards: list[Card]
    min_choices: int = 1
    max_choices: int = 1
    none_label: str | None = None
    reason: ReasonField | None = None


class FeedbackStep(_Wire):
    """Free text at the end; may be left empty."""

    kind: Literal["feedback"] = "feedback"
    step_id: str
    label: str
    max_chars: int = 5000


class EndStep(_Wire):
    """Nothing more to do here.

    ``next`` says what the page does: ``submit`` sends the unit in, ``submit_onboarding`` sends the practice in
    (the server knows whether it was passed), ``stay`` only shows the text.
    """

    kind: Literal["end"] = "end"
    title: str
    text: str
    next: Literal["submit", "submit_onboarding", "stay"]


Step = Annotated[WaitStep | MessageStep | ChooseStep | FeedbackStep | EndStep, Field(discriminator="kind")]


class PageState(_Wire):
    """All that the page shows.

    ``confirmed`` holds the ``update_id`` of the last answers that the server has dealt with
    (taken or refused): the page keeps resending an answer until it stands here.
    """

    version: int
    phase: Literal["practice", "task", "ended"]
    progress: Progress | None = None
    context: Context | None = None
    transcript: list[Entry] = Field(default_factory=list)
    step: Step
    notice: Notice | None = None
    confirmed: list[str] = Field(default_factory=list)


class _Answer(_Wire):
    update_id: Annotated[str, Field(min_length=1, max_length=100)]
    step_id: Annotated[str, Field(min_length=1, max_length=100)]


class MessageAnswer(_Answer):
    kind: Literal["message"]
    text: Annotated[str, Field(max_length=MAX_TEXT)]


class ChooseAnswer(_Answer):
    """The ids of the chosen cards, and the reason as typed (empty where none is asked)."""

    kind: Literal["choose"]
    selected: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=50)]
    reason: Annotated[str, Field(max_length=MAX_TEXT)] = ""


class FeedbackAnswer(_Answer):
    kind: Literal["feedback"]
    text: Annotated[str, Field(max_length=MAX_TEXT)]


Answer = Annotated[MessageAnswer | ChooseAnswer | FeedbackAnswer, Field(discriminator="kind")]
