"""Which finished dialogues are judged next where answers decide: however workers come, leave, come back and launches die.

The real monitor of a study stands behind the allocator, with a clock of the test's own; a plain account of what was judged
stands beside both.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mephisto_tasks.session.stopping import StoppingMonitor, monitor_of, note_missing, note_record
from mephisto_tasks.storage.sqlite import Saving
from parlai_humaneval.allocation.adaptive import DrawnItemAllocator
from parlai_humaneval.allocation.groups import Cell, Item, PastJudgement
from parlai_humaneval.allocation.items import Batch
from parlai_humaneval.schema.records import AskedQuestion, GivenAnswer, JudgementRecord, ShownDialogue
from parlai_humaneval.stopping.events import Answered, Arrived, Event, Left, Predicted, Returned
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import replay

TIMEOUT = 100.0
METRIC = "preference"


def items_of(models: Sequence[str], dialogues: int) -> list[Item]:
    """Every pairing of so many self-chats of each model."""
    return [
        Item(f"{one}{i}|{other}{j}", Cell((one, other), METRIC, "self_chat"), (f"{one}{i}", f"{other}{j}"))
        for one, other in combinations(models, 2)
        for i, j in product(range(dialogues), repeat=2)
    ]


def judged(item: Item, winner: str, *, swapped: bool = False, name: str = "j") -> JudgementRecord:
    """A finished judgement of an item."""
    shown = [
        ShownDialogue(dialogue_id=dialogue, position=1, kind="self_chat", entities=[model, model], judged=1, lines=[])
        for dialogue, model in zip(item.dialogues, item.cell.models, strict=True)
    ]
    shown = [
        one.model_copy(update={"position": position})
        for position, one in enumerate(reversed(shown) if swapped else shown, start=1)
    ]
    sides = {one.entities[1]: side for one, side in zip(shown, ("first", "second"), strict=True)}
    return JudgementRecord(
        judgement_id=name,
        item_id=item.item_id,
        task_name="task",
        technique="pw_dialog",
        setting="self_chat",
        metric=METRIC,
        group=list(item.cell.models),
        dialogues=shown,
        questions=[AskedQuestion(question_id=METRIC, text="Who?")],
        answers=[GivenAnswer(question_id=METRIC, option=sides.get(winner, "same"), seconds=1, at=1)],
        seed=0,
        status="complete",
        started_at=0,
    )


@dataclass
class Bench:
    """A study whose launches can die at any time: its monitor and allocator, and what is on the disk."""

    models: tuple[str, ...]
    dialogues: int
    cap: int
    per_unit: int = 3
    per_pair: int | None = None
    judged: bool = False
    now: float = 0.0
    log: list[Event] = field(default_factory=list)
    past: list[PastJudgement] = field(default_factory=list)
    finished: list[tuple[str, JudgementRecord]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.items = items_of(self.models, self.dialogues)
        self.launch()

    def launch(self) -> None:
        """The launch before is gone with all that was not on the disk."""
        rule_ = StoppingRule(models=self.models, margin=0.4, max_dialogues=self.cap, timeout=TIMEOUT, floor=1)
        rule_ = rule_.model_copy(update={"judge": "j@1" if self.judged else ""})
        closing = threading.Event()
        self.monitor: StoppingMonitor = monitor_of(
            list(self.log),
            rule_,
            self.log.extend,
            Saving(closing),
            lambda worker: f"of {worker}",
            closing,
            seed=3,
            technique="pw_dialog",
            setting="self_chat",
            metric=METRIC,
            clock=lambda: self.now,
        )
        if self.judged:  # it has said nothing of every seventh item
            self.monitor.predictions = {
                item.item_id: (item.cell.models[place % 2], place * 37 % 11 / 10)
                for place, item in enumerate(self.items)
                if place % 7
            }
        note_missing(self.monitor, self.finished)
        self.monitor.look()
        self.allocator = DrawnItemAllocator(
            self.monitor,
            self.items,
            cap=self.cap,
            per_unit=self.per_unit,
            per_worker_and_cell=self.per_pair,
            seed=5,
            by_lot=self.judged,
        )
        self.allocator.restore(self.past)

    def finish(self, worker: str, item: Item, winner: str, *, swapped: bool = False) -> JudgementRecord:
        """What the page of a worker writes down."""
        record = judged(item, winner, swapped=swapped, name=f"j{len(self.finished)}")
        self.finished.append((worker, record))
        return record

    def drawn(self, worker: str) -> Counter[frozenset[str]]:
        """The pairs that were drawn for a worker."""
        return Counter(
            frozenset(pair)
            for event in self.log
            if isinstance(event, Arrived) and event.worker == f"of {worker}"
            for pair in event.dialogues
        )


@dataclass
class Unit:
    """A unit by the account: what its worker was given, and of that what they saw and judged."""

    worker: str
    session: str
    numbers: int
    items: list[Item]
    shown: list[Item] = field(default_factory=list)
    done: list[Item] = field(default_factory=list)

    @property
    def left(self) -> list[Item]:
        return [item for item in self.items if item not in self.done]


class DrawnItems(RuleBasedStateMachine):
    @initialize(
        models=st.sampled_from([("a", "b"), ("a", "b", "c")]),
        dialogues=st.integers(2, 4),
        spare=st.integers(0, 2),
        per_unit=st.integers(1, 4),
        per_pair=st.none() | st.integers(1, 2),
        judged=st.booleans(),
    )
    def begin(
        self, models: tuple[str, ...], dialogues: int, spare: int, per_unit: int, per_pair: int | None, judged: bool
    ) -> None:
        """The cap is as many judgements as there are items of a pair, or a few less."""
        self.bench = Bench(models, dialogues, dialogues**2 - spare, per_unit, per_pair, judged)
        self.running: dict[str, Unit] = {}
        self.left: dict[str, Unit] = {}
        self.number = 0

    def met(self, worker: str) -> set[str]:
        return {name for one in self.bench.past if one.worker == worker for name in one.dialogues}

    def note(self, unit: Unit) -> None:
        """What is on the disk of a unit."""
        noted = {(one.session, one.item_id) for one in self.bench.past}
        for item in unit.shown:
            past = PastJudgement(
                item.item_id, item.cell, item.dialogues, unit.worker, unit.session, item in unit.done, unit.numbers
            )
            if (unit.session, item.item_id) in noted:
                at = next(
                    place
                    for place, one in enumerate(self.bench.past)
                    if one.item_id == item.item_id and one.session == unit.session
                )
                self.bench.past[at] = past
            else:
                self.bench.past.append(past)

    @rule()
    def somebody_comes(self) -> None:
        self.number += 1
        worker, bench = f"w{self.number}", self.bench
        can = bench.allocator.available(worker)
        batch = bench.allocator.claim(worker, worker, worker)
        assert (batch is not None) == can, "who is told that there is something gets something"
        if batch is None:
            return
        self.check(worker, batch)
        self.running[worker] = Unit(worker, batch.session, batch.numbers, batch.items)
        assert bench.allocator.claim(worker, "again", "again") is None, "all of a worker's pairs are drawn once"

    def check(self, worker: str, batch: Batch) -> None:
        bench = self.bench
        pairs = Counter(item.cell.key[0] for item in batch.items)
        assert pairs <= bench.drawn(worker), "nothing is given that was not drawn"
        assert bench.per_pair is None or max(pairs.values()) <= bench.per_pair
        said = [event for event in bench.log if isinstance(event, Predicted) and event.worker == f"of {worker}"]
        known = [item for item in batch.items if item.item_id in bench.monitor.predictions]
        assert len(said) >= len(known), "what a judge had said of an item is in the log before it is shown"
        shown = [name for item in batch.items for name in item.dialogues]
        assert len(shown) == len(set(shown)), "no dialogue twice"

    @precondition(lambda self: self.running)
    @rule(data=st.data(), counted=st.booleans(), swapped=st.booleans())
    def somebody_goes_on(self, data: st.DataObject, counted: bool, swapped: bool) -> None:
        """The next item is seen, or judged; where it is not counted, the launch dies then."""
        unit = self.running[data.draw(st.sampled_from(sorted(self.running)))]
        if not unit.left:
            return
        item = unit.left[0]
        if item not in unit.shown:
            unit.shown.append(item)
            self.bench.allocator.note_shown(unit.worker, item.item_id)
            self.note(unit)
            return
        unit.done.append(item)
        self.note(unit)
        winner = data.draw(st.sampled_from([*item.cell.models, "nobody"]))
        record = self.bench.finish(unit.worker, item, winner, swapped=swapped)
        if counted:
            self.bench.allocator.note_done(unit.worker, item.item_id)
            note_record(self.bench.monitor, unit.worker, record)
        else:
            self.launch_dies()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def somebody_ends(self, data: st.DataObject) -> None:
        unit = self.running.pop(data.draw(st.sampled_from(sorted(self.running))))
        if unit.left:
            self.left[unit.worker] = unit
            self.bench.allocator.abandon(unit.worker)
        else:
            self.bench.allocator.complete(unit.worker)

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def somebody_comes_back(self, data: st.DataObject) -> None:
        """They go on with what is left of their unit, or with other items of the same pairs."""
        unit = self.left[data.draw(st.sampled_from(sorted(self.left)))]
        bench, names = self.bench, [item.item_id for item in unit.left]
        can = bench.allocator.can_go_on(unit.worker, names)
        others = {item.dialogues: item for item in unit.shown if item not in unit.done}
        claimed = bench.allocator.claim_again(unit.worker, unit.worker, unit.session, names)
        assert bool(claimed or not names) == can
        if not can:
            return
        del self.left[unit.worker]
        gone = [
            event for event in bench.log if isinstance(event, (Left, Returned)) and event.worker == f"of {unit.worker}"
        ]
        assert not (names and gone and isinstance(gone[-1], Left)), "what they answer from now on counts"
        now = {item.item_id: item for item in unit.left}
        assert all(other.cell == now[name].cell for name, other in claimed.items()), "within the drawn pair"
        seen = {name for item in unit.done for name in item.dialogues}
        new = [item for item in claimed.values() if item.dialogues not in others]
        assert all(seen.isdisjoint(item.dialogues) for item in claimed.values())
        assert all(self.met(unit.worker).isdisjoint(item.dialogues) for item in new if item not in unit.items)
        items = [*unit.done, *claimed.values()]
        self.running[unit.worker] = replace(unit, items=items, numbers=len(items))

    @rule(seconds=st.sampled_from([10.0, TIMEOUT, 5 * TIMEOUT]))
    def time_passes(self, seconds: float) -> None:
        self.bench.now += seconds
        self.bench.monitor.look()

    @rule()
    def launch_dies(self) -> None:
        """Everybody at work may come back to the next launch, which knows only what is on the disk."""
        self.left |= self.running
        self.running = {}
        self.bench.launch()

    @invariant()
    def each_item_is_judged_once(self) -> None:
        if not hasattr(self, "bench"):
            return
        bench = self.bench
        judged_ = Counter(record.item_id for _, record in bench.finished)
        judged_.update(item.item_id for unit in self.running.values() for item in unit.left)
        assert max(judged_.values(), default=0) <= 1
        done = Counter(tuple(record.group) for _, record in bench.finished)
        assert {cell.models: number for cell, number in bench.allocator.progress().completed.items() if number} == done

    @invariant()
    def each_answer_is_counted_once(self) -> None:
        """What the log holds of a worker is what they judged, pair by pair."""
        if not hasattr(self, "bench"):
            return
        drawn = {event.worker: event.dialogues for event in self.bench.log if isinstance(event, Arrived)}
        counted: Counter[tuple[str, frozenset[str]]] = Counter()
        for event in self.bench.log:
            if isinstance(event, Answered):
                counted[event.worker, frozenset(drawn[event.worker][event.dialogue])] += 1
        assert counted == Counter((f"of {worker}", frozenset(one.group)) for worker, one in self.bench.finished)

    def teardown(self) -> None:
        """With enough new workers the study ends: a pair is never open and out of items at once."""
        if not hasattr(self, "bench"):
            return
        bench, chance = self.bench, random.Random(1)
        for unit in self.running.values():
            bench.allocator.abandon(unit.worker)
        bench.now += 10 * TIMEOUT  # those who were cut off by a kill are waited for no longer
        bench.monitor.look()
        while not bench.monitor.is_over:
            self.number += 1
            worker = f"w{self.number}"
            assert bench.allocator.remaining > 0
            assert not bench.allocator.has_done_all(worker)
            batch = bench.allocator.claim(worker, worker, worker)
            assert batch is not None, "whoever is new gets something until it ends"
            self.check(worker, batch)
            for item in batch.items:
                bench.allocator.note_done(worker, item.item_id)
                note_record(
                    bench.monitor, worker, bench.finish(worker, item, chance.choice([*item.cell.models, "nobody"]))
                )
            bench.allocator.complete(worker)
        assert bench.allocator.remaining == 0
        self.each_answer_is_counted_once()
        again = replay(bench.log)
        assert again.standing() == bench.monitor.standing()
        assert max(Counter(record.item_id for _, record in bench.finished).values()) == 1


TestDrawnItems = DrawnItems.TestCase
TestDrawnItems.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def answer(bench: Bench, worker: str, item: Item) -> None:
    """A worker judges an item, and it is counted."""
    bench.allocator.note_done(worker, item.item_id)
    note_record(bench.monitor, worker, bench.finish(worker, item, item.cell.models[0]))


def test_launch_after_launch_an_answer_counts_once() -> None:
    """Guards units with several judgements of one pair, of which the log does not say which is which."""
    bench = Bench(("a", "b"), 4, 16, per_unit=3)
    batch = bench.allocator.claim("w", "w", "w")
    assert batch is not None
    bench.finish("w", batch.items[0], "a")
    for _ in range(3):
        bench.launch()
        assert (bench.monitor.standing().answered, bench.monitor.standing().in_flight) == (1, 2)


@pytest.mark.parametrize("lost", [1, 2])
def test_who_comes_back_goes_on_with_items_of_their_pairs(lost: int) -> None:
    """Guards going on: items that others have by now are replaced by others of the same two models, and all of it counts."""
    bench = Bench(("a", "b", "c"), 3, 9)
    assert bench.allocator.claim("ahead", "ahead", "ahead") is not None  # nobody is folded in before them
    batch = bench.allocator.claim("leaves", "leaves", "leaves")
    assert batch is not None
    items = batch.items
    answer(bench, "leaves", items[0])
    bench.allocator.abandon("leaves")
    gone = [item for item in items[1:][:lost] if bench.allocator._pool.take(item.item_id)]
    names = [item.item_id for item in items[1:]]
    assert bench.allocator.can_go_on("leaves", names)
    claimed = bench.allocator.claim_again("leaves", "again", "leaves", names)
    assert set(claimed) == set(names)
    assert [item for item in items[1:] if claimed[item.item_id] != item] == gone
    assert len(gone) == lost
    assert all(claimed[item.item_id].cell == item.cell for item in items[1:])
    assert bench.monitor.standing().in_flight == 5
    for item in claimed.values():
        bench.allocator.note_done("again", item.item_id)
        note_record(bench.monitor, "leaves", bench.finish("leaves", item, item.cell.models[0]))
    bench.allocator.complete("again")
    answers = [event for event in bench.log if isinstance(event, Answered)]
    assert [event.late for event in answers] == [False] * 3


def test_who_was_folded_in_meanwhile_cannot_go_on() -> None:
    """Guards the order of arrival: what they would answer could not be evidence any more. The end of a unit can be told."""
    bench = Bench(("a", "b"), 4, 16)
    batch = bench.allocator.claim("w", "w", "w")
    assert batch is not None
    bench.allocator.abandon("w")
    assert not bench.allocator.can_go_on("w", [item.item_id for item in batch.items])
    assert bench.allocator.claim_again("w", "again", "w", [item.item_id for item in batch.items]) == {}
    assert bench.allocator.can_go_on("w", [])
    assert bench.allocator.has_done_all("w")


def test_a_unit_has_as_many_items_as_its_pairs_allow() -> None:
    """Guards items_per_worker_and_group: with one item of each pair a unit is as long as pairs are open."""
    bench = Bench(("a", "b", "c"), 6, 30, per_unit=10, per_pair=1)
    batch = bench.allocator.claim("w", "w", "w")
    assert batch is not None
    assert sorted(item.cell.models for item in batch.items) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert Bench(("a", "b"), 6, 30, per_unit=4).allocator.claim("w", "w", "w").numbers == 4  # type: ignore[union-attr]  # None: fails


def test_the_neediest_dialogues_are_shown_first() -> None:
    """Guards that judgements spread over the dialogues: after three pairings all of three dialogues were shown."""
    bench = Bench(("a", "b"), 3, 9, per_unit=1)
    for worker in ("u", "v", "w"):
        assert bench.allocator.claim(worker, worker, worker) is not None
    assert set(bench.allocator.reuse().values()) == {1}


def test_with_a_judge_items_are_drawn_by_lot_and_its_mean_is_that_of_the_lot() -> None:
    """Guards what the bets rest on: any item that is left is as likely, and what the judge had said of these is averaged,
    turned to the model that was drawn first."""
    first: Counter[str] = Counter()
    for seed in range(400):
        bench = Bench(("a", "b"), 3, 9, per_unit=2, judged=True)
        bench.allocator._pool._ties = np.random.default_rng(seed)
        batch = bench.allocator.claim("w", "w", "w")
        assert batch is not None
        of_a = {
            name: share if model == "a" else 1 - share for name, (model, share) in bench.monitor.predictions.items()
        }
        left = bench.items
        said = iter(event for event in bench.log if isinstance(event, Predicted))
        drawn = {event.dialogue: event for event in bench.log if isinstance(event, Predicted)}
        for place, item in enumerate(batch.items):
            first[item.item_id] += place == 0
            lot = [of_a[one.item_id] for one in left if one.item_id in of_a]
            if item.item_id in of_a:
                event = next(said)
                assert drawn[place] is event
                assert event.share == pytest.approx(of_a[item.item_id])
                assert event.mean == pytest.approx(sum(lot) / len(lot))
            left = [one for one in left if not set(one.dialogues) & set(item.dialogues)]
    assert len(first) == 9
    assert max(first.values()) < 2 * min(first.values())


def test_who_held_the_dialogues_of_a_pair_judges_nothing_as_long_as_it_is_open() -> None:
    """Guards the lot: somebody who could only be given some of the open pairs is given none."""
    bench = Bench(("a", "b", "c"), 3, 9)
    bench.allocator.bar("talker", ["a0", "a1", "a2"])
    assert not bench.allocator.available("talker")
    assert bench.allocator.has_done_all("talker")
    bench.allocator.bar("sometime", ["a0"])
    assert bench.allocator.available("sometime")
    bench.allocator.bar_groups("judge-elsewhere", [frozenset("bc")])
    assert bench.allocator.has_done_all("judge-elsewhere")


def test_while_others_have_the_last_items_nobody_is_let_in() -> None:
    """Guards against workers who come for nothing: slow ones ran out of time, and hold the last items all the same."""
    bench = Bench(("a", "b"), 2, 4, per_unit=1)
    for worker in ("s", "t", "u", "v"):
        assert bench.allocator.claim(worker, worker, worker) is not None
    bench.now = 2 * TIMEOUT
    bench.monitor.look()
    assert bench.monitor.free == 4
    assert not bench.allocator.available("w")
    assert not bench.allocator.has_done_all("w")
    bench.allocator.abandon("s")
    assert bench.allocator.available("w")


def test_fewer_items_than_the_cap_are_refused() -> None:
    with pytest.raises(ValueError, match=r"10 judgements of a vs b .* are needed, but its items allow only 9"):
        Bench(("a", "b"), 3, 10)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("winner", "picks"), [("a", (0, 1)), ("b", (1, 0)), ("nobody", (0, 0))])
def test_a_judgement_counts_for_its_winner_on_whichever_side(
    swapped: bool, winner: str, picks: tuple[int, int]
) -> None:
    """Guards sides and orders: the pair was drawn as b, a; the dialogues stood in either order; a tie is half for each."""
    bench = Bench(("b", "a"), 3, 9, per_unit=1)
    batch = bench.allocator.claim("w", "w", "w")
    assert batch is not None
    record = bench.finish("w", batch.items[0], winner, swapped=swapped)
    note_record(bench.monitor, "w", record)
    (answered,) = [event for event in bench.log if isinstance(event, Answered)]
    assert (answered.outcome.picks, answered.outcome.turns) == (picks, 1)


def test_an_attention_check_is_never_counted() -> None:
    bench = Bench(("a", "b"), 3, 9, per_unit=1)
    batch = bench.allocator.claim("w", "w", "w")
    assert batch is not None
    check = bench.finish("w", batch.items[0], "a").model_copy(update={"expected": {METRIC: "first"}})
    note_record(bench.monitor, "w", check)
    note_missing(bench.monitor, [("w", check)])
    assert not any(isinstance(event, Answered) for event in bench.log)
