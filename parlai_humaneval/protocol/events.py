"""What happens in a live dialogue, as it is written down; and how a record is rebuilt from it.

Each event is stored the moment it happens. :func:`build_record` is the only place that turns events into a
:class:`~parlai_humaneval.protocol.records.DialogueRecord`, so that a running, a finished and a cut-off
dialogue are read in one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from parlai_humaneval.protocol.points import points, ranks
from parlai_humaneval.protocol.records import (
    Candidate,
    ContextRecord,
    CriterionRecord,
    DialogueRecord,
    ModelRecord,
    Status,
    TopicChange,
    Turn,
)


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid")
    at: float
    """Seconds since the epoch."""


class Started(_Event):
    event: Literal["started"] = "started"
    schema_version: int
    dialogue_id: str
    technique: str
    setting: str
    settings: dict[str, Any]
    metric: str
    question: str
    models: list[ModelRecord]
    context: ContextRecord
    seed: int
    session: str = ""
    conversation: int = 1
    conversations: int = 1
    quality_control_model: str = ""
    turn_criteria: list[CriterionRecord] = Field(default_factory=list)
    criteria: list[CriterionRecord] = Field(default_factory=list)


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


class CandidatesShown(_Event):
    event: Literal["candidates_shown"] = "candidates_shown"
    turn: int
    candidates: list[Candidate]


class NoneChosen(_Event):
    """The rater said that no candidate fits; the reply that they write instead comes with ``answered``."""

    event: Literal["none_chosen"] = "none_chosen"
    turn: int
    reason: str | None = None


class Answered(_Event):
    """The turn is over: see :class:`~parlai_humaneval.protocol.records.Turn` for the fields."""

    event: Literal["answered"] = "answered"
    turn: int
    selected: list[str]
    continued: str | None
    written: str | None = None
    reason: str | None
    seconds: float
    none_said: bool = False
    ticks: list[str] | None = None
    continued_each: bool = False
    automatic: bool = False


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


Event = Annotated[
    Started
    | TopicChosen
    | TopicChanged
    | HumanMessage
    | CandidatesShown
    | NoneChosen
    | Answered
    | FinalRated
    | VerdictGiven
    | Refused
    | Delayed
    | Finished
    | FeedbackGiven
    | Failed
    | Interrupted
    | PracticeAnswered
    | PracticeEnded,
    Field(discriminator="event"),
]

_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])

REFUSED_EXCERPT = 500
"""Characters kept of an answer that was refused."""


class EventLogError(ValueError):
    """A stored log that cannot be read as a dialogue."""


def parse_events(raw: Sequence[dict[str, Any]]) -> list[Event]:
    """Stored JSON objects → events.

    Raises:
        pydantic.ValidationError: an object is not an event of this version.
    """
    return _EVENTS.validate_python(raw)


def split_dialogues(events: Iterable[Event]) -> list[list[Event]]:
    """The events of each dialogue of one unit; what stands before the first ``started`` makes a part of its own."""
    parts: list[list[Event]] = []
    for event in events:
        if not parts or isinstance(event, Started):
            parts.append([])
        parts[-1].append(event)
    return parts


def build_record(events: Iterable[Event], *, unfinished: Status = "partial") -> DialogueRecord:
    """The record of one dialogue.

    Args:
        events: in the order in which they happened.
        unfinished: status of a dialogue with neither an end nor a failure: ``partial``, or ``running`` where the
            caller knows that its launch is alive.

    Raises:
        EventLogError: the log does not begin with ``started``, or an answer belongs to no turn.
    """
    record: DialogueRecord | None = None
    for event in events:
        if record is None:
            if not isinstance(event, Started):
                raise EventLogError(f"a dialogue's log must begin with 'started', not {event.event!r}")
            record = _begin(event, unfinished)
        else:
            _apply(record, event)
    if record is None:
        raise EventLogError("the log of the dialogue is empty")
    record.points = points(record)
    record.ranks = ranks(record.points)
    return record


def _begin(event: Started, status: Status) -> DialogueRecord:
    shared = event.model_dump(exclude={"event", "at"})
    return DialogueRecord(**shared, status=status, started_at=event.at)


def _apply(record: DialogueRecord, event: Event) -> None:
    match event:
        case TopicChosen() | TopicChanged():
            _note_topic(record, event)
        case HumanMessage() | CandidatesShown() | NoneChosen() | Answered():
            _note_turn(record, event)
        case FinalRated():
            record.final_ratings, record.final_seconds = event.ratings, event.seconds
        case VerdictGiven():
            record.verdict, record.verdict_model = event.verdict, event.model
        case Finished():
            record.status, record.finished_at, record.ended_by_rater = "complete", event.at, event.by_rater
        case FeedbackGiven():
            record.feedback = event.text
        case Failed():
            record.failure, record.finished_at = event.reason, event.at
            if record.status != "complete":
                record.status = "failed"
        case Interrupted():
            record.interrupted = record.status != "complete"
        case Refused():
            record.refused_answers += 1
        case Started():
            raise EventLogError("a dialogue's log has 'started' twice")
        case Delayed() | PracticeAnswered() | PracticeEnded():
            pass


def _note_topic(record: DialogueRecord, event: TopicChosen | TopicChanged) -> None:
    if isinstance(event, TopicChosen):
        record.context.topic, record.context.topic_source = event.text, "free"
        record.context.opinion = event.opinion
    else:
        record.context.topic_changes.append(TopicChange(turn=event.turn, text=event.text))


def _note_turn(record: DialogueRecord, event: HumanMessage | CandidatesShown | NoneChosen | Answered) -> None:
    if isinstance(event, HumanMessage):
        record.turns.append(
            Turn(
                turn=event.turn,
                human_text=event.text,
                human_fixed=event.fixed,
                human_suggested=event.suggested,
                human_at=event.at,
            )
        )
        return
    turn = _turn(record, event.turn)
    if isinstance(event, CandidatesShown):
        turn.candidates, turn.shown_at = event.candidates, event.at
    elif isinstance(event, NoneChosen):
        turn.none_said, turn.reason = True, event.reason
    else:
        turn.answered_at = event.at
        for name in Answered.model_fields.keys() - {"event", "at", "turn"}:
            setattr(turn, name, getattr(event, name))


def _turn(record: DialogueRecord, number: int) -> Turn:
    if not record.turns or record.turns[-1].turn != number:
        raise EventLogError(f"an event of turn {number} stands outside that turn")
    return record.turns[-1]
