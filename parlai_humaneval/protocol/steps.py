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
    """One line of the transcript. ``note`` is a small remark below it (practice feedback, say).

    ``column``: where two partners stand side by side, the index into :attr:`PageState.columns`; None: in both.
    """

    entry_id: str
    speaker: Literal["you", "partner"]
    text: str
    note: str | None = None
    column: int | None = None


class Option(_Wire):
    """Something to tick or to choose that is not a reply."""

    option_id: str
    label: str


class Progress(_Wire):
    """“turn 3 of 6”; ``total`` None when the rater decides when to end, ``minimum`` then says from when on."""

    unit: Literal["turn", "conversation", "practice"]
    current: int
    total: int | None
    minimum: int | None = None


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


class Action(_Wire):
    """Something else that can be done instead of writing a message: end the chat, note a new topic, give a verdict.

    Actions of one ``group`` stand together under its name. ``enabled`` False shows it with the reason in ``hint``
    (“after 3 more messages”). With ``text_label`` it asks for a text first; with ``confirm`` it asks once more.
    """

    action_id: str
    label: str
    group: str | None = None
    enabled: bool = True
    hint: str | None = None
    text_label: str | None = None
    confirm: str | None = None


class MessageStep(_Wire):
    """Write the next message, or do one of ``actions``. A button offers ``suggestions``: one is put into the field."""

    kind: Literal["message"] = "message"
    step_id: str
    label: str
    min_words: int = 1
    max_chars: int = 2000
    suggestions: list[str] = Field(default_factory=list)
    actions: list[Action] = Field(default_factory=list)


class WriteStep(_Wire):
    """Write a better reply in the partner's place. ``cards`` are the replies that none was chosen of, to look at."""

    kind: Literal["write"] = "write"
    step_id: str
    label: str
    cards: list[Card]
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


class TickStep(_Wire):
    """Tick what applies to ``reply`` (None: to the whole conversation).

    With 0 allowed, ``none_label`` is the explicit “none”. With ``max_choices`` 1 it is one choice among options and “none”.
    """

    kind: Literal["tick"] = "tick"
    step_id: str
    question: str
    reply: Card | None = None
    options: list[Option]
    min_choices: int = 0
    max_choices: int
    none_label: str | None = None
    reason: ReasonField | None = None


class Scale(_Wire):
    """One statement to rate.

    ``slider``: continuous from ``minimum`` to ``maximum``, labelled at its ends only, no number shown, and no position
    until it is touched. ``points``: one radio button a whole number; ``labels`` names each where there are names.
    """

    scale_id: str
    statement: str
    style: Literal["slider", "points"]
    minimum: float
    maximum: float
    left: str
    right: str
    labels: list[str] = Field(default_factory=list)


class RateStep(_Wire):
    """Rate every scale; one that was not touched is unanswered."""

    kind: Literal["rate"] = "rate"
    step_id: str
    question: str
    scales: list[Scale]


class TopicStep(_Wire):
    """Name what to talk about, and what one thinks of it. No ``opinions``: it is not asked."""

    kind: Literal["topic"] = "topic"
    step_id: str
    label: str
    opinion_label: str
    opinions: list[Option]
    max_chars: int = 200


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


Step = Annotated[
    WaitStep | MessageStep | WriteStep | ChooseStep | TickStep | RateStep | TopicStep | FeedbackStep | EndStep,
    Field(discriminator="kind"),
]


class PageState(_Wire):
    """All that the page shows.

    ``within`` is the turn where ``progress`` counts conversations. ``topic`` stays in sight. ``columns`` names two partners
    whose transcripts stand side by side. ``confirmed`` holds the ``update_id`` of the last answers that the server has
    dealt with (taken or refused): the page keeps resending an answer until it stands here.
    """

    version: int
    phase: Literal["practice", "task", "ended"]
    progress: Progress | None = None
    within: Progress | None = None
    context: Context | None = None
    topic: str | None = None
    columns: list[str] = Field(default_factory=list)
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


class WriteAnswer(_Answer):
    kind: Literal["write"]
    text: Annotated[str, Field(max_length=MAX_TEXT)]


class ActionAnswer(_Answer):
    """An action of a message step, with its text where it asks for one."""

    kind: Literal["action"]
    action_id: Annotated[str, Field(max_length=100)]
    text: Annotated[str, Field(max_length=MAX_TEXT)] = ""


class _Selection(_Answer):
    """What was selected, the reason as typed (empty where none is asked), and ``none``: that nothing applies was said."""

    selected: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=50)]
    none: bool = False
    reason: Annotated[str, Field(max_length=MAX_TEXT)] = ""


class ChooseAnswer(_Selection):
    """``selected`` are ids of cards."""

    kind: Literal["choose"]


class TickAnswer(_Selection):
    """``selected`` are ids of options."""

    kind: Literal["tick"]


Rating = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class RateAnswer(_Answer):
    """Scale id → where it was put; scales that were not touched are absent."""

    kind: Literal["rate"]
    values: Annotated[dict[Annotated[str, Field(max_length=100)], Rating], Field(max_length=100)]


class TopicAnswer(_Answer):
    """``opinion`` is an option's id, empty where none is asked."""

    kind: Literal["topic"]
    text: Annotated[str, Field(max_length=MAX_TEXT)]
    opinion: Annotated[str, Field(max_length=100)] = ""


class FeedbackAnswer(_Answer):
    kind: Literal["feedback"]
    text: Annotated[str, Field(max_length=MAX_TEXT)]


Answer = Annotated[
    MessageAnswer | WriteAnswer | ActionAnswer | ChooseAnswer | TickAnswer | RateAnswer | TopicAnswer | FeedbackAnswer,
    Field(discriminator="kind"),
]
