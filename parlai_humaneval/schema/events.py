"""The events of a rating session, as stored.

Each event is stored the moment it happens; :mod:`parlai_humaneval.schema.rebuild` turns them into records of
dialogues and of judgements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from parlai_humaneval.schema import records


class _Event(BaseModel, extra="forbid"):
    at: float  # seconds since the epoch


class _Begun(_Event):
    simulated: bool | None = None
    """Whether the rater is a program of this project, as the launch knows; None: written before that was noted."""
    language: str = "en"  # of the rater's page


class Started(_Begun):
    event: Literal["started"] = "started"
    schema_version: int
    dialogue_id: str
    technique: str
    setting: str
    settings: dict[str, Any]
    metric: str
    question: str
    models: list[records.ModelRecord]
    context: records.ContextRecord
    seed: int
    session: str = ""
    conversation: int = 1
    conversations: int = 1
    quality_control_model: str = ""
    turn_criteria: list[records.CriterionRecord] = Field(default_factory=list)
    criteria: list[records.CriterionRecord] = Field(default_factory=list)


class TopicChosen(_Event):
    """The rater named what to talk about, and what they think of it (``opinion`` None where that is not asked)."""

    event: Literal["topic_chosen"] = "topic_chosen"
    text: str
    opinion: str | None


class TopicChanged(_Event):
    """The rater noted a new topic before their message of ``turn``."""

    event: Literal["topic_changed"] = "topic_changed"
    turn: int
    text: str


class HumanMessage(_Event):
    """``suggested``: the text is one of the openings that the page offered."""

    event: Literal["human_message"] = "human_message"
    turn: int
    text: str
    fixed: bool
    suggested: bool = False
    images: list[records.ImageRecord] = Field(default_factory=list)


class CandidatesShown(_Event):
    event: Literal["candidates_shown"] = "candidates_shown"
    turn: int
    candidates: list[records.Candidate]


class NoneChosen(_Event):
    """The rater said that no candidate fits; the reply that they write instead comes with ``answered``. ``seconds``:
    those that it took; 0: written before that was noted."""

    event: Literal["none_chosen"] = "none_chosen"
    turn: int
    reason: str | None = None
    seconds: float = 0.0


class Answered(records.TurnAnswer, _Event):
    """The turn is over."""

    event: Literal["answered"] = "answered"
    turn: int
    seconds: float = 0.0


class FinalRated(_Event):
    """The scales after the last turn: criterion → rating."""

    event: Literal["final_rated"] = "final_rated"
    ratings: dict[str, float]
    seconds: float


class VerdictGiven(_Event):
    """Which of two partners is better, said after ``turn`` turns; ``model`` is the better one."""

    event: Literal["verdict_given"] = "verdict_given"
    turn: int
    verdict: Literal["a", "b", "tie", "both_bad"]
    model: str | None


class Refused(_Event):
    """An answer that was not accepted; nothing changed. ``excerpt`` is the start of what came."""

    event: Literal["refused"] = "refused"
    reason: str
    excerpt: str


class Delayed(_Event):
    event: Literal["delayed"] = "delayed"
    turn: int
    reason: str


class EndChosen(_Event):
    """The rater ended the conversation in place of their message of ``turn``; what is asked of the whole comes after it."""

    event: Literal["end_chosen"] = "end_chosen"
    turn: int


class Finished(_Event):
    """The last rating of the dialogue was given. ``by_rater``: it was they who ended the conversation."""

    event: Literal["finished"] = "finished"
    by_rater: bool = False


class FeedbackGiven(_Event):
    event: Literal["feedback"] = "feedback"
    text: str


class Failed(_Event):
    event: Literal["failed"] = "failed"
    reason: str


class Interrupted(_Event):
    """The launch ended while the dialogue ran: not the rater's doing."""

    event: Literal["interrupted"] = "interrupted"


class Resumed(_Event):
    """The rater continues an interrupted visit: the events of Mephisto's agent ``earlier`` precede this one, and count
    only here. The time between the last of them and this one was nobody's work."""

    event: Literal["resumed"] = "resumed"
    earlier: str


class JudgingStarted(records.JudgementItem, _Begun):
    """An item is shown."""

    event: Literal["judging_started"] = "judging_started"
    schema_version: int
    technique: str
    settings: dict[str, Any]
    metric: str
    questions: list[records.AskedQuestion]


class Judged(_Event):
    """A step of an item was answered; the item ends with ``finished``."""

    event: Literal["judged"] = "judged"
    answers: list[records.GivenAnswer]


class PracticeAnswered(_Event):
    """``choice``: good where the answer was right, else bad; ``given`` is the answer itself, as JSON."""

    event: Literal["practice_answered"] = "practice_answered"
    attempt: int
    item: int
    choice: Literal["good", "bad"]
    given: Any = None


class PracticeEnded(_Event):
    event: Literal["practice_ended"] = "practice_ended"
    passed: bool
    attempts: int


_Talk = Started | TopicChosen | TopicChanged | HumanMessage | CandidatesShown | NoneChosen | Answered
_Verdict = FinalRated | VerdictGiven | EndChosen
_Course = Refused | Delayed | Finished | FeedbackGiven | Failed | Interrupted | Resumed
_Judging = JudgingStarted | Judged | PracticeAnswered | PracticeEnded
Event = Annotated[_Talk | _Verdict | _Course | _Judging, Field(discriminator="event")]

_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])

REFUSED_EXCERPT = 500  # characters kept of an answer that was refused


def parse_events(raw: Sequence[dict[str, Any]]) -> list[Event]:
    """Stored JSON objects → events. Raises pydantic.ValidationError: an object is not an event of this version."""
    return _EVENTS.validate_python(raw)
