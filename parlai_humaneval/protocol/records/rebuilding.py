"""Stored events → records: the only place, so that a running, a finished and a cut-off dialogue are read in one way."""

from __future__ import annotations

from collections.abc import Iterable

from parlai_humaneval.protocol.records.dialogue import DialogueRecord, Status, TopicChange, Turn
from parlai_humaneval.protocol.records.events import (
    Answered,
    CandidatesShown,
    Delayed,
    Event,
    Failed,
    FeedbackGiven,
    FinalRated,
    Finished,
    HumanMessage,
    Interrupted,
    Judged,
    JudgingStarted,
    NoneChosen,
    PracticeAnswered,
    PracticeEnded,
    Refused,
    Started,
    TopicChanged,
    TopicChosen,
    VerdictGiven,
)
from parlai_humaneval.protocol.records.points import points, ranks


class EventLogError(ValueError):
    """A stored log that cannot be read as a dialogue."""


def split_dialogues(events: Iterable[Event]) -> list[list[Event]]:
    """The events of each dialogue or judgement of one unit; what stands before the first makes a part of its own."""
    parts: list[list[Event]] = []
    for event in events:
        if not parts or isinstance(event, (Started, JudgingStarted)):
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
    shared = event.model_dump(exclude={"event", "at", "simulated"})
    return DialogueRecord(**shared, status=status, started_at=event.at, simulated=bool(event.simulated))


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
        case JudgingStarted() | Judged():
            raise EventLogError(f"{event.event!r} stands in a dialogue's log, but belongs to a judgement")
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
