"""Stored events → records of dialogues and judgements. Running, finished and unfinished ones are all read here.

A record of a dialogue has the points and ranks of its models (Ma et al. 2023, §2: a reply that is picked is a point).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from parlai_humaneval.schema import events as log
from parlai_humaneval.schema import records


def points(record: records.DialogueRecord) -> dict[str, int]:
    """Model → turns in which its reply was picked; empty where no reply is picked from several. Turns without an answer
    or a question give no point. Where equal replies of two models were shown as one, picking it gives both a point."""
    names = list(dict.fromkeys(model.name for model in record.models))
    chosen_from = record.turns and all(turn.offers_choice for turn in record.turns)
    if len(names) < 2 or not chosen_from:
        return {}
    won = dict.fromkeys(names, 0)
    for turn in (turn for turn in record.complete_turns if not turn.automatic):
        for candidate in turn.candidates:
            won[candidate.model] += turn.picks(candidate)
    return won


def ranks(won: Mapping[str, int]) -> dict[str, int]:
    """Points → competition ranks: 1 has the most, equal points share the better rank."""
    return {model: 1 + sum(other > own for other in won.values()) for model, own in won.items()}


class EventLogError(ValueError):
    """A stored log that cannot be read as a dialogue."""


def split_dialogues(events: Iterable[log.Event]) -> list[list[log.Event]]:
    """The events of each dialogue or judgement of a unit; events before the first are a separate part."""
    parts: list[list[log.Event]] = []
    for event in events:
        if not parts or isinstance(event, (log.Started, log.JudgingStarted)):
            parts.append([])
        parts[-1].append(event)
    return parts


def build_record(events: Iterable[log.Event], *, unfinished: records.Status = "partial") -> records.DialogueRecord:
    """The record of one dialogue. ``unfinished``: status of a dialogue with neither an end nor a failure: ``partial``,
    or ``running`` where the caller knows that its launch is alive. Raises EventLogError: the log does not begin with
    ``started``, or an answer belongs to no turn."""
    record = _rebuilt(records.DialogueRecord, log.Started, events, _apply_to_dialogue, unfinished)
    record.points = points(record)
    record.ranks = ranks(record.points)
    return record


def _rebuilt(
    kind: type[records.AnyRated],
    beginning: type[log.Started | log.JudgingStarted],
    events: Iterable[log.Event],
    apply: Callable[[records.AnyRated, log.Event], None],
    unfinished: records.Status,
) -> records.AnyRated:
    """A record of this ``kind``, whose log starts with ``beginning``; ``apply`` takes events that only this kind has."""
    name = "dialogue" if kind is records.DialogueRecord else "judgement"
    later = iter(events)
    first = next(later, None)
    if first is None:
        raise EventLogError(f"the log of the {name} is empty")
    if not isinstance(first, beginning):
        begins = beginning.model_fields["event"].default
        raise EventLogError(f"a {name}'s log must begin with {begins!r}, not {first.event!r}")
    shared = first.model_dump(exclude={"event", "at", "simulated"})
    record = kind(**shared, status=unfinished, started_at=first.at, simulated=bool(first.simulated))
    last = first.at
    for event in later:
        match event:
            case log.Resumed():
                # Time until a rater resumes is nobody's, unless the record is complete: then a later part is resumed.
                if record.status != "complete":
                    seconds = max(0.0, event.at - last)
                    record.interrupted, record.away_s = False, record.away_s + seconds
                    if isinstance(record, records.DialogueRecord) and record.turns:
                        record.turns[-1].away_s += seconds
            case log.Failed():
                record.failure, record.finished_at = event.reason, event.at
                if record.status != "complete":
                    record.status = "failed"
            case log.FeedbackGiven():
                record.feedback = event.text
            case log.Interrupted():
                record.interrupted = record.status != "complete"
            case log.Refused():
                record.refused_answers += 1
            case _:
                apply(record, event)
        last = event.at
    return record


def _apply_to_dialogue(record: records.DialogueRecord, event: log.Event) -> None:
    match event:
        case log.TopicChosen():
            record.context.topic, record.context.topic_source = event.text, "free"
            record.context.opinion = event.opinion
        case log.TopicChanged():
            record.context.topic_changes.append(records.TopicChange(turn=event.turn, text=event.text))
        case log.HumanMessage():
            said = {"human_text": event.text, "human_fixed": event.fixed, "human_suggested": event.suggested}
            record.turns.append(records.Turn(turn=event.turn, human_at=event.at, human_images=event.images, **said))
        case log.CandidatesShown():
            turn = _turn(record, event.turn)
            turn.candidates, turn.shown_at = event.candidates, event.at
        case log.NoneChosen():
            turn = _turn(record, event.turn)
            turn.none_said, turn.reason = True, event.reason
        case log.Answered():
            turn = _turn(record, event.turn)
            turn.answered_at, turn.seconds = event.at, event.seconds
            for name in records.TurnAnswer.model_fields:
                setattr(turn, name, getattr(event, name))
        case log.FinalRated():
            record.final_ratings, record.final_seconds = event.ratings, event.seconds
        case log.VerdictGiven():
            record.verdict, record.verdict_model = event.verdict, event.model
        case log.Finished():
            record.status, record.finished_at, record.ended_by_rater = "complete", event.at, event.by_rater
        case log.Started():
            raise EventLogError("a dialogue's log has 'started' twice")
        case log.JudgingStarted() | log.Judged():
            raise EventLogError(f"{event.event!r} is in a dialogue's log, but belongs to a judgement")
        case log.Delayed() | log.EndChosen() | log.PracticeAnswered() | log.PracticeEnded():
            pass


def _turn(record: records.DialogueRecord, number: int) -> records.Turn:
    """The turn under way, of which an event must be."""
    if not record.turns or record.turns[-1].turn != number:
        raise EventLogError(f"an event of turn {number} is outside that turn")
    return record.turns[-1]


def build_rated(
    events: Sequence[log.Event], *, unfinished: records.Status = "partial"
) -> records.DialogueRecord | records.JudgementRecord:
    """The record of a live dialogue or of a judgement, whichever the log is of; arguments and errors as for both."""
    if events and isinstance(events[0], log.JudgingStarted):
        return build_judgement(events, unfinished=unfinished)
    return build_record(events, unfinished=unfinished)


def build_judgement(events: Iterable[log.Event], *, unfinished: records.Status = "partial") -> records.JudgementRecord:
    """The record of one judgement. ``events``: in the order in which they happened, of one part of
    :func:`~parlai_humaneval.schema.rebuild.split_dialogues`. ``unfinished``: status of a judgement with neither an end
    nor a failure: ``partial``, or ``running`` where the caller knows that its launch is alive. Raises EventLogError:
    the log does not begin with ``judging_started``, or holds what belongs to a dialogue."""
    return _rebuilt(records.JudgementRecord, log.JudgingStarted, events, _apply_to_judgement, unfinished)


def _apply_to_judgement(record: records.JudgementRecord, event: log.Event) -> None:
    match event:
        case log.Judged():
            record.answers += event.answers
        case log.Finished():
            record.status, record.finished_at = "complete", event.at
        case _:
            raise EventLogError(f"{event.event!r} does not belong to a judgement's log")
