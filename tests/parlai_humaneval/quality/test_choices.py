"""A fixed way of choosing, and answers faster than anybody reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from rated import answered, of_turns

from parlai_humaneval.quality.answers import READING_SPEED_WPM, same_position, too_fast
from parlai_humaneval.schema.records import DialogueRecord, Turn

THREE = ("I like tea", "I like milk", "I like water")


def chosen(*positions: Sequence[int], **fields: Any) -> DialogueRecord:
    return of_turns([answered(n, "and then?", places, **fields) for n, places in enumerate(positions, start=1)])


def test_always_the_first_is_a_fixed_pattern() -> None:
    finding = same_position(chosen(*[(1,)] * 10))
    assert finding.passed is False
    assert finding.reason == "In all 10 turns, the rater chose the reply at position 1."


@pytest.mark.parametrize(
    ("positions", "words"),
    [([(1, 2)] * 6, "all of the replies"), ([()] * 6, "none of the replies")],
)
def test_always_all_or_none_is_a_fixed_pattern(positions: list[tuple[int, ...]], words: str) -> None:
    finding = same_position(chosen(*positions))
    assert finding.passed is False
    assert words in finding.reason


def test_the_same_two_of_three_is_a_fixed_pattern() -> None:
    finding = same_position(chosen(*[(3, 1)] * 6, replies=THREE))
    assert finding.passed is False
    assert "positions 1 and 3" in finding.reason


def test_one_other_choice_is_enough_to_pass() -> None:
    assert same_position(chosen(*[(1,)] * 9, (2,))).passed is True


def test_alternating_is_no_fixed_pattern() -> None:
    """Order is balanced in pairs of turns: who always prefers one model chooses 1, 2, 1, 2 a quarter of the time."""
    assert same_position(chosen(*[(1,), (2,)] * 5)).passed is True


@pytest.mark.parametrize(
    "record",
    [
        of_turns([]),
        chosen(*[(1,)] * 5),
        chosen(*[(1,)] * 10, replies=("one reply only",)),
        chosen(*[()] * 10, none_said=False, continued_each=True),
    ],
    ids=["empty", "too short", "single model", "nothing asked"],
)
def test_where_there_is_no_choice_there_is_no_pattern(record: DialogueRecord) -> None:
    assert same_position(record).passed is None


def test_equal_and_failed_replies_are_not_positions() -> None:
    """Two models with one text are one card: there was nothing to choose from in that turn."""

    def merged(turn: Turn) -> Turn:
        first, second = turn.candidates
        both = [first, second.model_copy(update={"same_as": first.candidate_id})]
        return turn.model_copy(update={"candidates": both, "selected": [c.candidate_id for c in both]})

    def failed(turn: Turn) -> Turn:
        first, second = turn.candidates
        return turn.model_copy(
            update={"candidates": [first, second.model_copy(update={"failed": True, "position": 0})]}
        )

    record = chosen(*[(1,)] * 8)
    for spoil in (merged, failed):
        turns = [spoil(turn) for turn in record.turns[:4]] + record.turns[4:]
        assert same_position(of_turns(turns)).passed is None
    assert same_position(record).passed is False


def reading(*seconds: float, words: int = 30, **fields: Any) -> DialogueRecord:
    """Two replies of ``words`` words together, answered in so many seconds."""
    replies = ("word " * (words // 2), "word " * (words - words // 2))
    turns = [answered(n, "and then?", replies=replies, seconds=s) for n, s in enumerate(seconds, start=1)]
    return of_turns(turns, **fields)


LIMIT = 30 * 60 / READING_SPEED_WPM


def test_half_of_the_turns_too_fast_fails() -> None:
    finding = too_fast(reading(0.5, 0.5, 20, 20))
    assert (finding.passed, finding.value) == (False, 0.5)
    assert "2 of 4 turns" in finding.reason


def test_hasty_in_few_turns_passes() -> None:
    finding = too_fast(reading(0.5, 20, 20))
    assert finding.passed is True
    assert finding.value == pytest.approx(1 / 3)


def test_the_limit_follows_words_and_speed() -> None:
    assert too_fast(reading(*[LIMIT * 1.01] * 3)).value == 0
    assert too_fast(reading(*[LIMIT * 0.99] * 3)).value == 1
    assert too_fast(reading(*[LIMIT * 0.99] * 3, words=20)).value == 0
    assert too_fast(reading(*[LIMIT * 0.99] * 3, settings={"reading_speed_wpm": READING_SPEED_WPM * 2})).value == 0


@pytest.mark.parametrize("speed", [None, 0, -5, "fast", True, float("nan")])
def test_a_speed_that_cannot_be_used_is_the_default(speed: object) -> None:
    assert too_fast(reading(*[LIMIT * 0.99] * 3, settings={"reading_speed_wpm": speed})).value == 1


def test_where_nothing_is_asked_the_next_message_is_the_answer() -> None:
    """Direct assessment: the reply continues at once (0 s), but the rater writes on only after reading."""

    def record(pause: float) -> DialogueRecord:
        turns = []
        for number in range(1, 6):
            turn = answered(number, "and then?", replies=("word " * 30,), seconds=0.0, none_said=False)
            at = number * (pause + 1)
            turns.append(turn.model_copy(update={"human_at": at, "shown_at": at + 1, "selected": []}))
        return of_turns(turns, technique="direct_assessment")

    assert too_fast(record(pause=30)).value == 0
    assert too_fast(record(pause=0.5)).value == 1


def test_ticks_on_a_single_reply_are_timed() -> None:
    turns = [
        answered(n, "so?", (), replies=("word " * 30,), seconds=0.2, ticks=[], none_said=True) for n in range(1, 5)
    ]
    assert too_fast(of_turns(turns, technique="single_model")).value == 1


@pytest.mark.parametrize(
    "record", [of_turns([]), reading(0.1, 0.1), reading(0.1, 0.1, 0.1).model_copy(update={"turns": []})]
)
def test_too_few_turns_to_judge(record: DialogueRecord) -> None:
    assert too_fast(record).passed is None


def test_turns_where_all_replies_were_the_same_are_not_timed() -> None:
    record = reading(0.0, 0.0, 0.0, 20, 20, 20)
    for turn in record.turns[:3]:
        turn.automatic = True
    assert too_fast(record).value == 0
