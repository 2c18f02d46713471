"""Stored events → records of judgements: the only place, as :mod:`.rebuilding` is for dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parlai_humaneval.protocol.records.dialogue import DialogueRecord, Status
from parlai_humaneval.protocol.records.events import (
    Event,
    Failed,
    FeedbackGiven,
    Finished,
    Interrupted,
    Judged,
    JudgingStarted,
    Refused,
)
from parlai_humaneval.protocol.records.judgement import JudgementRecord
from parlai_humaneval.protocol.records.rebuilding import EventLogError, build_record


def build_rated(events: Sequence[Event], *, unfinished: Status = "partial") -> DialogueRecord | JudgementRecord:
    """The record of a live dialogue or of a judgement, whichever the log is of; arguments and errors as for both."""
    if events and isinstance(events[0], JudgingStarted):
        return build_judgement(events, unfinished=unfinished)
    return build_record(events, unfinished=unfinished)


def build_judgement(events: Iterable[Event], *, unfinished: Status = "partial") -> JudgementRecord:
    """The record of one judgement.

    Args:
        events: in the order in which they happened, of one part of
            :func:`~parlai_humaneval.protocol.records.rebuilding.split_dialogues`.
        unfinished: status of a judgement with neither an end nor a failure: ``partial``, or ``running`` where the
            caller knows that its launch is alive.

    Raises:
        EventLogError: the log does not begin with ``judging_started``, or holds what belongs to a dialogue.
    """
    record: JudgementRecord | None = None
    for event in events:
        if record is None:
            if not isinstance(event, JudgingStarted):
                raise EventLogError(f"a judgement's log must begin with 'judging_started', not {event.event!r}")
            shared = event.model_dump(exclude={"event", "at", "simulated"})
            record = JudgementRecord(**shared, status=unfinished, started_at=event.at, simulated=bool(event.simulated))
        else:
            _apply(record, event)
    if record is None:
        raise EventLogError("the log of the judgement is empty")
    return record


def _apply(record: JudgementRecord, event: Event) -> None:
    match event:
        case Judged():
            record.answers += event.answers
        case Finished():
            record.status, record.finished_at = "complete", event.at
        case Failed():
            record.failure, record.finished_at = event.reason, event.at
            if record.status != "complete":
                record.status = "failed"
        case FeedbackGiven():
            record.feedback = event.text
        case Interrupted():
            record.interrupted = record.status != "complete"
        case Refused():
            record.refused_answers += 1
        case _:
            raise EventLogError(f"{event.event!r} does not belong to a judgement's log")
