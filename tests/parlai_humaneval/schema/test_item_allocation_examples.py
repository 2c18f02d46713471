"""Small cases of the allocation of finished dialogues, with what must come out of them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from parlai_humaneval.allocation.groups import Cell, Item, PastJudgement
from parlai_humaneval.allocation.items import ItemAllocator

AB, AC = Cell(("a", "b"), "preference"), Cell(("a", "c"), "preference")


def singles(count: int, cell: Cell = AB, *, wanted: int = 1, prefix: str = "d") -> list[Item]:
    return [Item(f"i:{prefix}{n}", cell, (f"{prefix}{n}",), wanted=wanted) for n in range(count)]


def past(item: Item, worker: str, session: str, *, complete: bool = True, numbers: int = 1) -> PastJudgement:
    return PastJudgement(item.item_id, item.cell, item.dialogues, worker, session, complete, numbers)


def judge(allocator: ItemAllocator, worker: str, unit: str) -> list[Item]:
    """A whole unit; empty where there is none."""
    batch = allocator.claim(worker, unit, unit)
    if batch is None:
        return []
    allocator.complete(unit)
    return batch.items


def segments(dialogues: int, lengths: Sequence[int], wanted: int) -> list[Item]:
    return [
        Item(f"d{n}:{k}", AB if n % 2 else AC, (f"d{n}",), k=k, wanted=wanted)
        for n in range(dialogues)
        for k in lengths
    ]


def test_spot_the_bot_as_published() -> None:
    """Deriu et al. 2020, §4: batches of 20, three a worker, and never two segments of a conversation."""
    allocator = ItemAllocator(segments(90, (2, 3, 5), 2), per_unit=20, units_per_worker=3)
    assert allocator.remaining == 27
    seen = [item for n in range(3) for item in judge(allocator, "w", f"u{n}")]
    assert len(seen) == 60
    assert len({item.dialogues for item in seen}) == 60
    assert allocator.claim("w", "u4", "u4") is None
    assert allocator.has_done_all("w")
    workers = 0
    while allocator.remaining:
        workers += 1
        for n in range(3):
            judge(allocator, f"w{workers}", f"w{workers}-{n}")
    assert workers <= 10
    assert set(allocator.reuse().values()) == {6}


def test_one_pair_of_dialogues_for_each_worker_and_pair_of_models() -> None:
    """Smith et al. 2022, App. B.3. The unit is shorter than five: there are only two pairs of models."""
    items = [*singles(9), *singles(9, AC, prefix="e")]
    allocator = ItemAllocator(items, per_unit=5, per_worker_and_cell=1)
    assert allocator.remaining == 9, "as many as judge the pair that lacks most"
    assert sorted(item.cell for item in judge(allocator, "w", "u")) == [AB, AC]
    assert not allocator.available("w")
    assert allocator.has_done_all("w")


def test_the_cell_that_lacks_most_comes_first() -> None:
    """By its share: 3 of 30 is less than 2 of 10."""
    few, many = singles(10), singles(30, AC, prefix="e")
    for seed in range(10):
        allocator = ItemAllocator([*few, *many], per_unit=1, seed=seed)
        allocator.restore([past(item, "x", "s") for item in [*few[:2], *many[:3]]])
        (item,) = judge(allocator, "w", "u")
        assert item.cell == AC


def test_the_item_with_the_fewest_judgements_comes_first() -> None:
    """Under way counts, too."""
    items = singles(3, wanted=3)
    allocator = ItemAllocator(items, per_unit=1)
    allocator.restore([past(items[0], "x", "s")])
    first = allocator.claim("v", "v", "v")
    assert first is not None
    assert judge(allocator, "w", "w") == [item for item in items[1:] if item not in first.items]


def test_few_judgements_of_an_item_go_before_little_used_dialogues() -> None:
    """The dialogues of the second were shown often, but in other items; the first was judged itself."""
    judged, fresh, other = (
        Item("i1", AB, ("a",), wanted=2),
        Item("i2", AB, ("b", "c")),
        Item("i3", AC, ("b", "c"), wanted=3),
    )
    allocator = ItemAllocator([judged, fresh, other], per_unit=1)
    allocator.restore([past(judged, "x", "s"), *(past(other, f"x{n}", f"s{n}") for n in range(3))])
    assert judge(allocator, "w", "u") == [fresh]


def test_an_answer_noted_twice_counts_once() -> None:
    allocator = ItemAllocator(singles(2, wanted=2), per_unit=2)
    batch = allocator.claim("w", "u", "u")
    assert batch is not None
    for _ in range(2):
        allocator.note_done("u", batch.items[0].item_id)
    assert allocator.progress().completed == {AB: 1}
    assert allocator.progress().running == {AB: 1}
    allocator.complete("u")
    assert allocator.progress().completed == {AB: 2}


def test_the_dialogues_that_were_shown_least_come_first() -> None:
    """Three dialogues of each side: three of the nine pairings use each of them once."""
    pairs = [Item(f"{a}{b}", AB, (a, b)) for a in ("a1", "a2", "a3") for b in ("b1", "b2", "b3")]
    for seed in range(10):
        allocator = ItemAllocator(pairs, {AB: 6}, per_unit=1, seed=seed)
        for n in range(3):
            judge(allocator, f"w{n}", f"w{n}")
        assert set(allocator.reuse().values()) == {1}
        assert allocator.progress().wanted == {AB: 6}
        for n in range(3, 6):
            judge(allocator, f"w{n}", f"w{n}")
        assert allocator.remaining == 0
        assert not allocator.available("late")
        assert max(allocator.reuse().values()) - min(allocator.reuse().values()) <= 2


def test_items_needed_alike_come_by_chance_and_the_same_seed_repeats_it() -> None:
    def first(seed: int) -> str:
        return judge(ItemAllocator(singles(4), per_unit=1, seed=seed), "w", "u")[0].item_id

    assert {first(seed) for seed in range(40)} == {item.item_id for item in singles(4)}
    assert [first(seed) for seed in range(5)] == [first(seed) for seed in range(5)]


def test_a_unit_left_half_way_goes_on_with_what_it_lacks() -> None:
    """What was answered counts, what was only seen is not shown again, what was not reached may come after all."""
    allocator = ItemAllocator(singles(8), per_unit=4, units_per_worker=1)
    batch = allocator.claim("w", "u1", "one")
    assert batch is not None
    answered, seen = batch.items[0], batch.items[1]
    allocator.note_shown("u1", answered.item_id)
    allocator.note_done("u1", answered.item_id)
    allocator.note_shown("u1", seen.item_id)
    allocator.abandon("u1")
    assert allocator.progress().completed == {AB: 1}
    assert allocator.progress().running == {AB: 0}
    again = allocator.claim("w", "u2", "two")
    assert again is not None
    assert (again.session, again.done, again.numbers, len(again.items)) == ("one", 1, 4, 3)
    assert not {answered, seen} & set(again.items)
    allocator.complete("u2")
    assert allocator.claim("w", "u3", "three") is None, "the one unit was held in two visits"


def test_a_unit_of_which_nothing_was_shown_leaves_no_trace() -> None:
    allocator = ItemAllocator(singles(3), per_unit=3, units_per_worker=1)
    assert allocator.claim("w", "u1", "one") is not None
    allocator.abandon("u1")
    again = allocator.claim("w", "u2", "two")
    assert again is not None
    assert (again.session, len(again.items)) == ("two", 3)


def test_a_launch_that_was_killed_is_gone_on_with() -> None:
    """The database knows of two items of a unit of four, one of them answered."""
    items = singles(8)
    allocator = ItemAllocator(items, per_unit=4)
    allocator.restore([past(items[0], "w", "one", numbers=4), past(items[1], "w", "one", complete=False, numbers=4)])
    batch = allocator.claim("w", "u", "two")
    assert batch is not None
    assert (batch.session, batch.done, len(batch.items)) == ("one", 1, 3)
    assert not {items[0], items[1]} & set(batch.items)


def test_a_unit_gone_on_with_may_be_shorter_than_it_was() -> None:
    """Only one item is left: the unit has two items then, and after a restart it is whole all the same."""
    items = singles(3)
    log = [past(items[0], "w", "one", numbers=3), past(items[1], "w", "one", complete=False, numbers=3)]
    allocator = ItemAllocator(items, per_unit=3)
    allocator.restore(log)
    batch = allocator.claim("w", "u", "two")
    assert batch is not None
    assert (batch.done, batch.numbers, batch.items) == (1, 2, [items[2]])
    allocator.complete("u")
    later = ItemAllocator([*items, *singles(5, prefix="e")], per_unit=3)
    later.restore([*log, past(items[2], "w", "one", numbers=batch.numbers)])
    new = later.claim("w", "u", "two")
    assert new is not None
    assert (new.session, new.done) == ("two", 0)


def test_a_past_unit_of_unknown_size_is_over() -> None:
    items = singles(4)
    allocator = ItemAllocator(items, per_unit=2)
    allocator.restore([past(items[0], "w", "one", complete=False, numbers=0)])
    batch = allocator.claim("w", "u", "two")
    assert batch is not None
    assert batch.session == "two"


def test_models_named_in_another_order_are_the_same_cell() -> None:
    items = singles(2)
    allocator = ItemAllocator(items, {Cell(("b", "a"), "preference"): 1}, per_unit=1)
    allocator.restore([replace(past(items[0], "x", "s"), cell=Cell(("b", "a"), "preference"))])
    assert allocator.remaining == 0


def test_a_judgement_of_an_item_that_is_gone_counts_where_any_item_will_do() -> None:
    """Twenty judgements of a pair of models may be of any pairings; a segment that lacks its own lacks it still."""
    gone = Item("gone", AB, ("x", "y"))
    for wanted, left in (({AB: 2}, 1), (None, 3)):
        allocator = ItemAllocator(singles(3), wanted, per_unit=1)
        allocator.restore([past(gone, "w", "s")])
        assert allocator.remaining == left


def test_more_judgements_of_an_item_than_it_wants_replace_none_of_another() -> None:
    """An earlier launch asked for three a piece."""
    items = singles(2)
    allocator = ItemAllocator(items, per_unit=1)
    allocator.restore([past(items[0], f"w{n}", f"s{n}") for n in range(3)])
    assert judge(allocator, "new", "u") == [items[1]]
    assert allocator.remaining == 0


def test_units_that_remain_where_a_dialogue_belongs_to_many_items() -> None:
    """Five turns of one dialogue need five raters, however many items a unit holds."""
    turns = [Item(f"d:{turn}", AB, ("d",), turn=turn) for turn in range(5)]
    allocator = ItemAllocator(turns, per_unit=10)
    assert allocator.remaining == 5
    judge(allocator, "w", "u")
    assert allocator.remaining == 4
    assert allocator.has_done_all("w")
    assert not allocator.has_done_all("v")


def test_all_taken_is_not_all_done() -> None:
    """While another works on the last item, nothing is open; when they leave, it is."""
    allocator = ItemAllocator(singles(1), per_unit=1)
    allocator.claim("v", "u", "u")
    assert not allocator.available("w")
    assert not allocator.has_done_all("w")
    allocator.abandon("u")
    assert allocator.available("w")


@pytest.mark.parametrize(
    ("items", "wanted", "numbers", "said"),
    [
        ([], None, {}, "nothing to judge"),
        (singles(1) * 2, None, {}, "i:d0 appears twice"),
        ([Item("i", AB, ())], None, {}, "needs a dialogue"),
        ([Item("i", AB, ("d",), wanted=0)], None, {}, "at least one judgement"),
        (singles(2), {AB: 3}, {}, "3 judgements of a vs b .* its items allow only 2"),
        (singles(2), {AB: 0}, {}, "must be at least 1"),
        (singles(2), {AC: 1}, {}, "no item of a vs c"),
        (singles(2), None, {"per_unit": 0}, "items of a unit must be at least 1"),
        (singles(2), None, {"units_per_worker": 0}, "units per worker must be"),
        (singles(2), None, {"per_worker_and_cell": 0}, "items per worker and cell must be"),
    ],
)
def test_what_cannot_be_given_out_is_an_error(
    items: list[Item], wanted: dict[Cell, int] | None, numbers: dict[str, int], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        ItemAllocator(items, wanted, **{"per_unit": 1, **numbers})


def test_a_unit_and_a_session_have_names_of_their_own() -> None:
    allocator = ItemAllocator(singles(5), per_unit=1)
    allocator.claim("w", "u", "one")
    with pytest.raises(ValueError, match="already running"):
        allocator.claim("v", "u", "two")
    with pytest.raises(ValueError, match="needs another name"):
        allocator.claim("w", "v", "one")


def test_counts_hold_when_threads_claim_at_once() -> None:
    allocator = ItemAllocator(singles(6, wanted=2), per_unit=2)
    got: list[Item] = []
    lock = threading.Lock()

    def come(number: int) -> None:
        batch = allocator.claim(f"w{number}", f"u{number}", f"u{number}")
        if batch is not None:
            with lock:
                got.extend(batch.items)
            allocator.complete(f"u{number}")

    threads = [threading.Thread(target=come, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(Counter(got).values()) == {2}
    assert len(got) == 12


def fastest_claim(sides: int) -> float:
    """Seconds of this thread's own work, of the best of nine, with ``sides ** 2`` items."""
    pairs = [Item(f"{a}:{b}", AB, (f"a{a}", f"b{b}")) for a in range(sides) for b in range(sides)]
    allocator = ItemAllocator(pairs, per_unit=20)
    seconds = []
    for n in range(9):
        begun = time.thread_time()
        assert allocator.available(f"w{n}")
        allocator.claim(f"w{n}", f"u{n}", f"u{n}")
        seconds.append(time.thread_time() - begun)
    return min(seconds)


def test_a_claim_takes_no_longer_than_there_are_items() -> None:
    """Twenty thousand items take ten times as long as two thousand (about 5 ms), not a hundred times."""
    assert fastest_claim(142) < 30 * fastest_claim(45)


def test_the_same_models_once_only_in_whatever_setting() -> None:
    """And not where the worker rated them in another study."""
    other = Cell(("b", "a"), "preference", "self_chat")
    items = [*singles(5), *singles(5, other, prefix="s"), *singles(5, AC, prefix="c")]
    allocator = ItemAllocator(items, per_unit=1, group_once=True)
    allocator.bar_groups("known", [frozenset("ab")])
    for worker, groups in (("new", [{"a", "b"}, {"a", "c"}]), ("known", [{"a", "c"}])):
        judged = [set(item.cell.models) for n in range(3) for item in judge(allocator, worker, f"{worker}-{n}")]
        assert sorted(map(sorted, judged)) == sorted(map(sorted, groups))
        assert allocator.has_done_all(worker)
