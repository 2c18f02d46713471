"""What happens in a live dialogue, as it is written down; and how a record is rebuilt from it.

Each event is stored the moment it happens. :func:`build_record` is the only place that turns events into a
:class:`~parlai_humaneval.protocol.records.DialogueRecord`, so that a running, a finished and a cut-off
dialogue are read in one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from parlai_humaneval.protocol.records import (
    Candidate,
    ContextRecord,
    DialogueRecord,
    ModelRecord,
    Status,
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


class HumanMessage(_Event):
    event: Literal["human_message"] = "human_message"
    turn: int
    text: str
    fixed: bool


class CandidatesShown(_Event):
    event: Literal["candidates_shown"] = "candidates_shown"
    turn: int
    candidates: list[Candidate]


class Answered(_Event):
    event: Literal["answered"] = "answered"
    turn: int
    selected: list[str]
    continued: str | None
    written: str | None = None
    reason: str | None
    seconds: float


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
    """The last rating of the dialogue was given."""

    event: Literal["finished"] = "finished"


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
    event: Literal["practice_answered"] = "practice_answered"
    attempt: int
    item: int
    choice: Literal["good", "bad"]


class PracticeEnded(_Event):
    event: Literal["practice_ended"] = "practice_ended"
    passed: bool
    attempts: int


Event = Annotated[
    Started
    | HumanMessage
    | CandidatesShown
    | Answered
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
    return record


def _begin(event: Started, status: Status) -> DialogueRecord:
    shared = event.model_dump(exclude={"event", "at"})
    return DialogueRecord(**shared, status=status, started_at=event.at)


def _apply(record: DialogueRecord, event: Event) -> None:
    match event:
        case HumanMessage():
            record.turns.append(
                Turn(turn=event.turn, human_text=event.text, human_fixed=event.fixed, human_at=event.at)
            )
        case CandidatesShown():
            turn = _turn(record, event.turn)
            turn.candidates, turn.shown_at = event.candidates, event.at
        case Answered():
            turn = _turn(record, event.turn)
            turn.selected, turn.continued, turn.written = event.selected, event.continued, event.written
            turn.reason, turn.seconds, turn.answered_at = event.reason, event.seconds, event.at
        case Finished():
            record.status, record.finished_at = "complete", event.at
        case FeedbackGiven():
            record.feedback = event.text
        case Failed():
            record.failure, record.finished_at = event.reason, event.at
            if record.status != "complete":
                record.status = "failed"
        case Interrupted():
            record.interrupted = True
        case Refused():
            record.refused_answers += 1
        case Started():
            raise EventLogError("a dialogue's log has 'started' twice")
        case Delayed() | PracticeAnswered() | PracticeEnded():
            pass


def _turn(record: DialogueRecord, number: int) -> Turn:
    if not record.turns or record.turns[-1].turn != number:
        raise EventLogError(f"an event of turn {number} stands outside that turn")
    return record.turns[-1]
