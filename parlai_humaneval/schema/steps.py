"""Messages that tell a rater's page what to show, and the page's answers.

The server owns the state of a live task. After every event it sends the page one :class:`PageState`: the whole of what
is to be seen, with a growing ``version``. A page that was reloaded, or that missed some, needs only the newest. The
page answers a step with one :class:`Answer`; the server checks it against the step that it had sent. A PageState never
holds a model name, a key of a right answer or a worker id.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parlai_humaneval.schema.wire import Card, Name, Option, ReasonField, Redirect, Said, Text, Wire, WireAnswer, Words


class PanelLine(Said):
    """One line of a finished dialogue. ``judged``: said by the speaker that is asked about."""

    line_id: str
    speaker: Words
    judged: bool


class Panel(Wire):
    """A finished dialogue, or its beginning. Two panels stand side by side, the first on the left. ``context`` holds
    sentences that the dialogue was led by (a persona, a topic); ``judged_label`` is what the judged speaker is called
    above the lines (“Speaker A”), None where no speaker is marked."""

    title: Words
    context: list[Words] = Field(default_factory=list)
    judged_label: Words | None = None
    lines: list[PanelLine]


class FormQuestion(Wire):
    """One of ``options`` is to be chosen. Questions of one ``group`` stand together under its name."""

    question_id: str
    text: Words
    options: list[Option]
    group: Words | None = None
    reason: ReasonField | None = None


class FormStep(Wire):
    """Answer every question."""

    kind: Literal["form"] = "form"
    step_id: str
    questions: list[FormQuestion]


class RankStep(Wire):
    """Give every card a place from 1 (best); with ``ties`` several cards may share one."""

    kind: Literal["rank"] = "rank"
    step_id: str
    question: Words
    cards: list[Card]
    ties: bool = False
    reason: ReasonField | None = None


class FormAnswer(WireAnswer):
    """``values``: question id → option id. ``reasons``: question id → text, where one is asked for."""

    kind: Literal["form"]
    values: Annotated[dict[Name, Name], Field(max_length=50)]
    reasons: Annotated[dict[Name, Text], Field(max_length=50)] = Field(default_factory=dict)


class RankAnswer(WireAnswer):
    """``ranks``: card id → place, from 1. With ties a place may be given twice; places need not be without gaps."""

    kind: Literal["rank"]
    ranks: Annotated[dict[Name, Annotated[int, Field(strict=True, ge=1, le=50)]], Field(max_length=50)]
    reason: Text = ""


__all__ = ["Card", "FormAnswer", "FormStep", "Option", "Panel", "RankAnswer", "RankStep", "ReasonField", "Redirect"]


class Entry(Said):
    """One line of the transcript. ``note`` is a small remark below it (practice feedback, say). ``column``: where two
    partners stand side by side, the index into :attr:`PageState.columns`; None: in both. ``growing``: it is not
    complete, and only its beginning is shown."""

    entry_id: str
    speaker: Literal["you", "partner"]
    note: Words | None = None
    column: int | None = None
    growing: bool = False


class Progress(Wire):
    """“turn 3 of 6”; ``total`` None when the rater decides when to end, ``minimum`` then says from when on."""

    unit: Literal["turn", "conversation", "pair", "practice"]
    current: int
    total: int | None
    minimum: int | None = None


class Context(Wire):
    """The foldable card above the transcript: a persona or a topic."""

    title: Words
    lines: list[str]


class Notice(Wire):
    """A message about the last answer: why it was refused, or practice feedback with a point for each item."""

    level: Literal["info", "success", "error"]
    text: Words
    points: list[Words] = Field(default_factory=list)


class Action(Wire):
    """Something else that can be done instead of writing a message: end the chat, note a new topic, give a verdict.
    Actions of one ``group`` are together under its name, next to the ``hint`` that they share; number keys trigger
    them. ``enabled`` False shows it with the reason in ``hint`` (“after 3 more messages”). With ``text_label`` it asks
    for a text first; with ``confirm`` it asks once more."""

    action_id: str
    label: Words
    group: Words | None = None
    enabled: bool = True
    hint: Words | None = None
    text_label: Words | None = None
    confirm: Words | None = None


class MessageStep(Wire):
    """Write the next message, or do one of ``actions``. A button offers ``suggestions``: one is put into the field.
    ``max_images`` pictures may go with the message."""

    kind: Literal["message"] = "message"
    step_id: str
    label: Words
    min_words: int = 1
    max_chars: int = 2000
    suggestions: list[str] = Field(default_factory=list)
    actions: list[Action] = Field(default_factory=list)
    max_images: int = 0


class WriteStep(Wire):
    """Write a better reply in the partner's place. ``cards`` are the replies that none was chosen of, to look at."""

    kind: Literal["write"] = "write"
    step_id: str
    label: Words
    cards: list[Card]
    min_words: int = 1
    max_chars: int = 2000


class ChooseStep(Wire):
    """Choose ``min_choices`` to ``max_choices`` cards; with 0 allowed, ``none_label`` is the explicit “none”."""

    kind: Literal["choose"] = "choose"
    step_id: str
    question: Words
    cards: list[Card]
    min_choices: int = 1
    max_choices: int = 1
    none_label: Words | None = None
    reason: ReasonField | None = None


class TickStep(Wire):
    """Tick what applies to ``reply`` (None: to the whole conversation). With 0 allowed, ``none_label`` is the explicit
    “none”. With ``max_choices`` 1 it is one choice among options and “none”."""

    kind: Literal["tick"] = "tick"
    step_id: str
    question: Words
    reply: Card | None = None
    options: list[Option]
    min_choices: int = 0
    max_choices: int
    none_label: Words | None = None
    reason: ReasonField | None = None


class WaitStep(Wire):
    """The partner is typing, or something takes longer (``slow``), or nothing is to be done for now (``idle``).
    ``coming``: the step that follows, with the replies as far as they are shown by now; nothing in it can be answered
    yet. A page that does not know it shows the wait alone."""

    kind: Literal["wait"] = "wait"
    text: Words
    slow: bool = False
    idle: bool = False
    coming: Annotated[ChooseStep | TickStep, Field(discriminator="kind")] | None = None


class Scale(Wire):
    """One statement to rate. ``slider``: continuous from ``minimum`` to ``maximum``, labelled at its ends only, no
    number shown, and no position until it is touched. ``points``: one radio button a whole number; ``labels`` names
    each if there are names, and ``hints`` explains each if there are explanations."""

    scale_id: str
    statement: Words
    style: Literal["slider", "points"]
    minimum: float
    maximum: float
    left: Words
    right: Words
    labels: list[Words] = Field(default_factory=list)
    hints: list[Words] = Field(default_factory=list)


class RateStep(Wire):
    """Rate every scale; one that was not touched is unanswered."""

    kind: Literal["rate"] = "rate"
    step_id: str
    question: Words
    scales: list[Scale]


class TopicStep(Wire):
    """Name what to talk about, and what one thinks of it. No ``opinions``: it is not asked."""

    kind: Literal["topic"] = "topic"
    step_id: str
    label: Words
    opinion_label: Words
    opinions: list[Option]
    max_chars: int = 200


class FeedbackStep(Wire):
    """Free text at the end; may be left empty."""

    kind: Literal["feedback"] = "feedback"
    step_id: str
    label: Words
    max_chars: int = 5000


class EndStep(Wire):
    """Nothing more to do here. ``next`` says what the page does: ``submit`` sends the unit in, ``submit_onboarding``
    sends the practice in (the server knows whether it was passed), ``stay`` only shows the text. Then it goes to
    ``redirect``, if there is one. ``resumes``: the rater may go on later, by a button, and by itself once a launch is
    back."""

    kind: Literal["end"] = "end"
    title: Words
    text: Words
    next: Literal["submit", "submit_onboarding", "stay"]
    redirect: Redirect | None = None
    resumes: bool = False


_Asked = MessageStep | WriteStep | ChooseStep | TickStep | RateStep | FormStep | RankStep | TopicStep | FeedbackStep
Step = Annotated[WaitStep | _Asked | EndStep, Field(discriminator="kind")]


class PageState(Wire):
    """All that the page shows. ``within`` is the turn where ``progress`` counts conversations. ``topic`` stays in
    sight. ``columns`` names two partners whose transcripts stand side by side. ``panels`` hold finished dialogues, in
    the transcript's place. ``confirmed`` holds the ``update_id`` of the last answers that the server has dealt with
    (taken or refused): the page keeps resending an answer until it stands here. ``unit`` is the same for all visits to
    a unit of work, and tells nothing of it: under it the page keeps what was not sent yet. ``language`` is that of the
    unit, which may have begun on another page. ``guided``: the page shows the sentences of the task's guide, each next
    to its part until its step is answered."""

    version: int
    unit: str = ""
    language: str = "en"
    phase: Literal["practice", "task", "ended"]
    guided: bool = False
    progress: Progress | None = None
    within: Progress | None = None
    context: Context | None = None
    topic: str | None = None
    columns: list[str] = Field(default_factory=list)
    transcript: list[Entry] = Field(default_factory=list)
    panels: list[Panel] = Field(default_factory=list)
    step: Step
    notice: Notice | None = None
    confirmed: list[str] = Field(default_factory=list)


class SentImage(Wire):
    """A picture that was uploaded, as its sender describes it."""

    digest: Name
    alt: Annotated[str, Field(max_length=500)]


class MessageAnswer(WireAnswer):
    kind: Literal["message"]
    text: Text
    images: Annotated[list[SentImage], Field(max_length=10)] = Field(default_factory=list)


class WriteAnswer(WireAnswer):
    kind: Literal["write"]
    text: Text


class ActionAnswer(WireAnswer):
    """An action of a message step, with its text where it asks for one."""

    kind: Literal["action"]
    action_id: Name
    text: Text = ""


class _Selection(WireAnswer):
    """What was selected, the reason as typed (empty where none is asked), and ``none``: that nothing applies was said."""

    selected: Annotated[list[Name], Field(max_length=50)]
    none: bool = False
    reason: Text = ""


class ChooseAnswer(_Selection):
    """``selected`` are ids of cards."""

    kind: Literal["choose"]


class TickAnswer(_Selection):
    """``selected`` are ids of options."""

    kind: Literal["tick"]


Rating = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class RateAnswer(WireAnswer):
    """Scale id → where it was put; scales that were not touched are absent."""

    kind: Literal["rate"]
    values: Annotated[dict[Name, Rating], Field(max_length=100)]


class TopicAnswer(WireAnswer):
    """``opinion`` is an option's id, empty where none is asked."""

    kind: Literal["topic"]
    text: Text
    opinion: Name = ""


class FeedbackAnswer(WireAnswer):
    kind: Literal["feedback"]
    text: Text


_Written = MessageAnswer | WriteAnswer | ActionAnswer
_Picked = ChooseAnswer | TickAnswer | RateAnswer | FormAnswer | RankAnswer
Answer = Annotated[_Written | _Picked | TopicAnswer | FeedbackAnswer, Field(discriminator="kind")]
