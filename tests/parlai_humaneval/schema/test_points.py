"""Points of a dialogue: picks of turns in which something was asked."""

from __future__ import annotations

from parlai_humaneval.schema.rebuild import points, ranks
from parlai_humaneval.schema.records import Candidate, DialogueRecord, ModelRecord, Turn


def turn(number: int, picked: list[str], *, automatic: bool = False, answered: bool = True) -> Turn:
    shown = [Candidate(candidate_id=name, model=name, text=name, position=1, latency_s=0) for name in "abc"]
    return Turn(
        turn=number,
        human_text="Hi",
        human_at=0,
        candidates=shown,
        selected=picked,
        continued=picked[0] if picked else "a",
        automatic=automatic,
        answered_at=1.0 if answered else None,
    )


def record(*turns: Turn) -> DialogueRecord:
    return DialogueRecord(
        dialogue_id="d",
        technique="free_for_all",
        metric="m",
        question="q",
        models=[ModelRecord(name=name) for name in "abc"],
        seed=1,
        turns=list(turns),
        status="complete",
        started_at=0,
    )


def test_a_pick_is_a_point_and_equal_replies_are_credited_to_both() -> None:
    assert points(record(turn(1, ["a"]), turn(2, ["a", "c"]), turn(3, []))) == {"a": 2, "b": 0, "c": 1}


def test_what_nobody_answered_or_asked_is_no_point() -> None:
    """A model whose reply stood alone, because the others' were blank, has won nothing."""
    assert points(record(turn(1, ["b"], automatic=True), turn(2, ["a"], answered=False))) == {"a": 0, "b": 0, "c": 0}


def test_equal_points_share_the_better_rank() -> None:
    assert ranks({"a": 3, "b": 1, "c": 3, "d": 0}) == {"a": 1, "b": 3, "c": 1, "d": 4}
