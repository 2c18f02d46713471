"""Rated dialogues for third parties: whole replays, single turns, and dialogues rated as a whole."""

from __future__ import annotations

import pytest
from finished import talk
from live_dialogues import live_record, live_turn

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.allocation.pairing import NotEnough, replay_items, turn_items, whole_items
from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.dialogues.sources import dialogues_of


def rated(count: int) -> list[Dialogue]:
    return [one for n in range(count) for one in dialogues_of(live_record(f"d{n}", [live_turn(1, "ba", "a")]))]


def test_a_replay_is_a_whole_dialogue() -> None:
    """Of the models that answered in it, whatever order they stand in."""
    items = replay_items(rated(2), 3, sample=None, seed=0)
    assert [(item.dialogues, item.wanted, item.turn, item.k) for item in items] == [
        (("d0",), 3, None, None),
        (("d1",), 3, None, None),
    ]
    assert {item.cell for item in items} == {Cell(("a", "b"), "preference", "s")}


def test_two_that_stood_side_by_side_are_replayed_together() -> None:
    """Their one rater judged both at once; another pair of the same models is another item."""
    arena = [
        one for n in range(2) for one in dialogues_of(live_record(f"v{n}", [live_turn(1, "ba", "each")], verdict="tie"))
    ]
    items = replay_items(arena, 1, sample=None, seed=0)
    assert [item.dialogues for item in items] == [("v0:b", "v0:a"), ("v1:b", "v1:a")]
    assert [item.judged for item in items] == [(None, None)] * 2
    assert items[0].cell.models == ("a", "b")


def test_a_sample_is_random_and_repeats_with_its_seed() -> None:
    """Liu et al. 2023: 60 conversations drawn at random."""
    dialogues = rated(30)
    drawn = [replay_items(dialogues, 1, sample=6, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {len(items) for items in drawn} == {6}
    assert {item.item_id for item in drawn[2]} < {
        item.item_id for item in replay_items(dialogues, 1, sample=None, seed=0)
    }


def test_turns_with_several_replies_are_ranked() -> None:
    """Not those of one reply, equal replies, failed ones, no answer, or of histories that had gone apart."""
    turns = [
        live_turn(1, "ab", "a"),
        live_turn(2, "a", "a"),
        live_turn(3, "ab", "a"),
        live_turn(4, "ab", "a"),
        live_turn(5, "abc", "b"),
        live_turn(6, "ab", "a", answered_at=None),
    ]
    turns[2].candidates[1] = turns[2].candidates[1].model_copy(update={"same_as": "3-a"})
    turns[3].candidates[1] = turns[3].candidates[1].model_copy(update={"failed": True})
    turns[4].candidates[1] = turns[4].candidates[1].model_copy(update={"same_as": "5-a"})
    shared = dialogues_of(live_record("d", turns, "abc"))
    apart = dialogues_of(live_record("v", [live_turn(1, "ab", "each")]))
    items = turn_items([*shared, *apart], 2, sample=None, seed=0)
    assert [(item.dialogues, item.turn, item.wanted) for item in items] == [(("d",), 1, 2), (("d",), 5, 2)]
    assert items[0].cell == Cell(("a", "b", "c"), "rank", "s")
    assert len({item.item_id for item in items}) == 2
    assert len(turn_items(rated(9), 1, sample=4, seed=0)) == 4
    of_each = dialogues_of(live_record("i", [*turns[:1], turns[4]], "abc", settings={"history": "independent"}))
    assert [item.turn for item in turn_items(of_each, 1, sample=None, seed=0)] == [1], (
        "later each had heard other words"
    )


def test_whole_dialogues_need_no_rating() -> None:
    dialogues = [talk("x", ("human", "eliza")), talk("y", ("human", "human")), *rated(1)]
    items = whole_items(dialogues, 3, "dimensions", sample=None, seed=0)
    assert [item.cell for item in items] == [
        Cell(("eliza",), "dimensions"),
        Cell(("human",), "dimensions"),
        Cell(("a+b",), "dimensions"),
    ]
    assert [item.item_id for item in items] == ["dimensions:x", "dimensions:y", "dimensions:d0"]
    assert {item.wanted for item in items} == {3}


def test_too_few_are_told_with_numbers() -> None:
    with pytest.raises(
        NotEnough,
        match=r"sample of 60 rated dialogues was requested, but the number available is 3; ask for 3 or fewer",
    ):
        replay_items(rated(3), 1, sample=60, seed=0)
    with pytest.raises(NotEnough, match="no rated dialogues"):
        replay_items([], 1, sample=None, seed=0)
    single = dialogues_of(live_record("d", [live_turn(1, "a", "a")]))
    with pytest.raises(NotEnough, match="no dialogues with a turn of two different replies"):
        turn_items(single, 1, sample=None, seed=0)


def test_a_dialogue_that_nobody_rated_is_named() -> None:
    for make in (replay_items, turn_items):
        with pytest.raises(DataError, match=r"talks.jsonl, line 7: dialogue x was not rated.*\{task: NAME\}"):
            make([*rated(1), talk("x", ("human", "eliza"))], 1, sample=None, seed=0)
