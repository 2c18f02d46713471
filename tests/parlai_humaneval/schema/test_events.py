"""A dialogue is rebuilt from its events, wherever it was cut off; a log that makes no sense is told as such."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parlai_humaneval.schema.events import (
    Answered,
    CandidatesShown,
    Delayed,
    Event,
    Failed,
    FeedbackGiven,
    Finished,
    HumanMessage,
    Interrupted,
    PracticeAnswered,
    PracticeEnded,
    Refused,
    Started,
    parse_events,
)
from parlai_humaneval.schema.rebuild import EventLogError, build_record
from parlai_humaneval.schema.records import SCHEMA_VERSION, Candidate, ContextRecord, Mask, ModelRecord

TEXT = st.text(min_size=1, max_size=30)


def started(at: float = 1.0) -> Started:
    return Started(
        at=at,
        schema_version=SCHEMA_VERSION,
        dialogue_id="1-7",
        technique="pw_turn",
        setting="",
        settings={"turns": 3},
        metric="preference",
        question="Which?",
        models=[ModelRecord(name="a", options={"beam_size": 10}), ModelRecord(name="b")],
        context=ContextRecord(persona=["I like tea.", "I have a dog."]),
        seed=5,
    )


def turn(number: int, text: str = "Hi!", reason: str = "better by far") -> list[Event]:
    at = 10.0 * number
    mask = Mask(start=0, end=1, original="x", replacement="y")
    shown = [
        Candidate(candidate_id=f"{number}a", model="a", text="one", position=1, latency_s=0.1),
        Candidate(
            candidate_id=f"{number}b", model="b", text="yz", position=2, latency_s=0.2, raw_text="xz", masks=[mask]
        ),
    ]
    chosen = f"{number}{'ab'[number % 2]}"
    return [
        HumanMessage(at=at, turn=number, text=text, fixed=number == 1),
        CandidatesShown(at=at + 1, turn=number, candidates=shown),
        Answered(at=at + 4, turn=number, selected=[chosen], continued=chosen, reason=reason, seconds=3.0),
    ]


def whole(turns: int = 3) -> list[Event]:
    events: list[Event] = [started()]
    for number in range(1, turns + 1):
        events += turn(number)
    return [*events, Finished(at=90.0), FeedbackGiven(at=95.0, text="Nice.")]


def stored(events: list[Event]) -> list[dict[str, Any]]:
    """As state.json holds them."""
    loaded = json.loads(json.dumps([event.model_dump(mode="json") for event in events], ensure_ascii=False))
    assert isinstance(loaded, list)
    return loaded


def test_a_whole_dialogue() -> None:
    record = build_record(parse_events(stored(whole())))
    assert (record.status, record.started_at, record.finished_at) == ("complete", 1.0, 90.0)
    assert [entry.turn for entry in record.complete_turns] == [1, 2, 3]
    second = record.turns[1]
    assert (second.selected, second.continued, second.reason) == (["2a"], "2a", "better by far")
    assert (second.human_at, second.shown_at, second.answered_at, second.seconds) == (20.0, 21.0, 24.0, 3.0)
    assert second.candidates[1].raw_text == "xz"
    assert second.candidates[1].masks[0].original == "x"
    assert [entry.human_fixed for entry in record.turns] == [True, False, False]
    assert record.feedback == "Nice."
    assert record.context.persona == ["I like tea.", "I have a dog."]
    assert record.models[0].options == {"beam_size": 10}


@given(text=TEXT, reason=TEXT, comment=TEXT)
def test_whatever_people_write_survives_storage(text: str, reason: str, comment: str) -> None:
    events = [started(), *turn(1, text, reason), FeedbackGiven(at=2, text=comment)]
    assert parse_events(stored(events)) == events
    record = build_record(parse_events(stored(events)))
    assert (record.turns[0].human_text, record.turns[0].reason, record.feedback) == (text, reason, comment)


@pytest.mark.parametrize("length", range(1, len(whole()) - 1))
def test_cut_off_anywhere_it_is_partial_and_holds_its_complete_turns(length: int) -> None:
    record = build_record(whole()[:length])
    answered = (length - 1) // 3
    assert record.status == ("complete" if length == len(whole()) - 1 else "partial")
    assert [entry.turn for entry in record.complete_turns] == list(range(1, answered + 1))
    assert record.finished_at is None


def test_the_caller_may_know_that_it_is_still_running() -> None:
    assert build_record(whole()[:5], unfinished="running").status == "running"
    assert build_record(whole(), unfinished="running").status == "complete"


def test_a_failure_is_kept_with_what_came_before() -> None:
    record = build_record([*whole()[:6], Failed(at=33.0, reason="models failed: a")])
    assert (record.status, record.failure, record.finished_at) == ("failed", "models failed: a", 33.0)
    assert len(record.complete_turns) == 1


def test_a_failure_after_the_last_rating_does_not_take_it_back() -> None:
    record = build_record([*whole(), Failed(at=99.0, reason="the disk was full")])
    assert (record.status, record.failure) == ("complete", "the disk was full")


def test_refusals_are_counted_and_delays_change_nothing() -> None:
    events = whole()
    events[3:3] = [
        Refused(at=12.0, reason="no", excerpt="{}"),
        Delayed(at=12.1, turn=1, reason="late"),
        Refused(at=12.2, reason="no", excerpt="{}"),
    ]
    record = build_record(events)
    assert record.refused_answers == 2
    assert record.turns == build_record(whole()).turns


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([], "empty"),
        (whole()[1:], "must begin with 'started'"),
        ([started(), started()], "'started' twice"),
        ([started(), *turn(2)[1:]], "turn 2 is outside"),
        ([started(), *turn(1), *turn(2)[1:]], "turn 2 is outside"),
        ([PracticeEnded(at=1.0, passed=True, attempts=1)], "must begin"),
    ],
)
def test_a_log_that_makes_no_sense_is_an_error(events: list[Any], said: str) -> None:
    with pytest.raises(EventLogError, match=said):
        build_record(events)


@pytest.mark.parametrize(
    "wrong",
    [
        {"event": "unheard_of", "at": 1.0},
        {"event": "finished"},
        {"event": "finished", "at": "yesterday"},
        {"event": "finished", "at": 1.0, "mood": "good"},
        {"at": 1.0},
        {},
    ],
)
def test_an_object_that_is_no_event_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        parse_events([wrong])


def test_practice_events_round_trip() -> None:
    events: list[Event] = [
        PracticeAnswered(at=1.0, attempt=1, item=2, choice="bad"),
        PracticeEnded(at=2.0, passed=False, attempts=2),
    ]
    assert parse_events(stored(events)) == events


def test_only_a_dialogue_that_was_cut_off_is_interrupted() -> None:
    """A launch that ends while its rater reads the thanks has cut nothing off: nobody gets that dialogue again."""
    assert build_record([*whole(), Interrupted(at=99.0)]).interrupted is False
    assert build_record([*whole()[:4], Interrupted(at=99.0)]).interrupted is True
