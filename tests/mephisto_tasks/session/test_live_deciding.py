"""Launches that end when their answer is reached, with raters who like one model better; over real pages."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deciding_raters import rated
from live import TASK, Launch, Rater, eventually, launch, records, whole_dialogue

from mephisto_tasks.admission.admission import DONE_ALL
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.control.orders import More, Pause, RetireModel, StopGroup, give
from mephisto_tasks.session.build import NothingToDo
from mephisto_tasks.storage.logs import DECISIONS
from parlai_humaneval.stopping.events import Answered, Arrived, Began, Chose, Ended, Extended, Left, Returned
from parlai_humaneval.stopping.study import replay

DECIDED: dict[str, Any] = {"stop": "decided", "margin": 0.3, "max_dialogues": 60}
MANY = {"models": ["alpha", "beta", "gamma"]}


async def test_a_study_ends_when_its_answer_is_reached(start: Launch) -> None:
    """Guards the whole way: pages, picks, evidence, the end; and that the log on the disk leads to the same decisions."""
    async with start(**DECIDED) as run:
        await rated(run, "alpha")
        assert run.is_done()
        now = run.study.deciding_now()
        assert now is not None
        standing = now.standing
        assert (standing.ended, standing.answer) == ("decided", "alpha > beta")
        assert run.study.progress()[0].stopped == "decided: alpha > beta"
        assert run.study.so_far() == (standing.answered, standing.answered)
        async with Rater(run, "late") as late:
            assert late.client.refused is not None
    assert len(records(run)) == standing.answered < 20
    log = DECISIONS.read(run.data_dir, TASK)
    again = replay(log)
    assert again.standing() == standing
    assert sum(isinstance(event, Ended) for event in log) == 1
    arrived = [event for event in log if isinstance(event, Arrived)]
    assert {event.propensities for event in arrived} == {(1.0,)}


async def test_raters_go_where_the_answer_is_open(start: Launch) -> None:
    """Guards the draw: of three models, a pair that is decided is drawn for nobody who comes later."""
    async with start(**DECIDED, **MANY) as run:
        await rated(run, "alpha", at_once=3)
    log = DECISIONS.read(run.data_dir, TASK)
    arrived = [event for event in log if isinstance(event, Arrived)]
    assert all(set(event.dialogues) <= set(event.open) for event in arrived)
    assert {len(event.open) for event in arrived} > {3}, "some came when a pair was decided"
    assert {frozenset(model.name for model in record.models) for record in records(run)} == {
        frozenset(pair) for event in arrived for pair in event.dialogues
    }


async def test_a_unit_of_several_holds_different_pairs_and_counts_once(start: Launch) -> None:
    """Guards that all of a worker's dialogues are drawn at once, and that a worker has one unit."""
    async with start(**DECIDED, **MANY, conversations_per_unit=2) as run:
        await whole_dialogue(run, "w1")
        async with Rater(run, "w1", "another-assignment") as again:
            assert again.client.refused == only_closing(DONE_ALL)
        standing = run.study.deciding_now()
        assert standing is not None
        assert (standing.standing.workers, standing.standing.dialogues) == (1, 2)
    (arrived,) = [event for event in DECISIONS.read(run.data_dir, TASK) if isinstance(event, Arrived)]
    assert len(set(arrived.dialogues)) == 2


async def test_who_leaves_makes_room_and_who_comes_back_in_time_counts(start: Launch) -> None:
    """Guards the order of arrival: the first leaves and comes back while nobody after them could be folded in."""
    async with start(**DECIDED, disconnect_after_s=1) as run:
        ahead = Rater(run, "ahead")
        await ahead.__aenter__()
        await ahead.talk_until("choose", turn=1)
        async with Rater(run, "leaver") as leaver:
            seen = await leaver.talk_until("choose", turn=2)
        await eventually(lambda: any(isinstance(event, Left) for event in DECISIONS.read(run.data_dir, TASK)))
        await eventually(
            lambda: len(run.live_run.task_runner.running_units) == 1
        )  # their unit is over, and can be gone on with
        async with Rater(run, "leaver") as leaver:
            assert (await leaver.state()).step == seen.step
            await leaver.finish()
        await ahead.finish()
        await ahead.__aexit__(None, None, None)
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.workers, now.standing.dialogues, now.standing.in_flight) == (2, 2, 0)
    log = DECISIONS.read(run.data_dir, TASK)
    assert [type(event) for event in log if isinstance(event, (Left, Returned))] == [Left, Returned]
    assert not any(event.late for event in log if isinstance(event, Answered))


async def test_what_a_rater_chose_before_they_left_counts(start: Launch, data_dir: Path) -> None:
    """Guards leaving by taste: two turns of a dialogue that is never finished are evidence, turn by turn in the log; who
    comes back to it counts with all of it, and nothing is noted twice."""
    async with start(**DECIDED, turns=4, disconnect_after_s=1) as run:
        ahead = Rater(run, "ahead")
        await ahead.__aenter__()
        for name in ("leaver", "comes-back"):
            async with Rater(run, name) as rater:
                await rater.talk_until("choose", turn=3)
        await eventually(lambda: len(run.live_run.task_runner.running_units) == 1)
        async with Rater(run, "comes-back") as rater:
            await rater.finish()
        await ahead.finish()
        await ahead.__aexit__(None, None, None)
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.workers, now.standing.dialogues, now.standing.cut_off) == (3, 2, 1)
        (pair,) = now.standing.pairs
        assert (pair.workers, pair.dialogues) == (3, 3)
    log = DECISIONS.read(data_dir, TASK)
    chosen = Counter((event.worker, event.outcome.turns, event.whole) for event in log if isinstance(event, Chose))
    assert set(chosen.values()) == {1}
    assert sorted(Counter(worker for worker, _, _ in chosen).values())[0] == 2
    assert replay(log).standing() == now.standing


async def test_a_later_launch_goes_on_with_the_evidence(start: Launch) -> None:
    """Guards the log over launches: who was cut off goes on, what was decided stays so, and a higher cap is taken."""
    async with start(**DECIDED) as run:
        await rated(run, "alpha", at_once=2, most=4)
        async with Rater(run, "cut-off") as rater:
            await rater.talk_until("choose", turn=2)
            before = run.study.deciding_now()
    async with start(**{**DECIDED, "max_dialogues": 80}) as run:
        now = run.study.deciding_now()
        assert before is not None
        assert now is not None
        assert (now.standing.pairs, now.standing.in_flight, now.standing.cap) == (before.standing.pairs, 1, 80)
        async with Rater(run, "cut-off") as rater:
            await rater.finish()
        await rated(run, "alpha", name="later")
        assert run.is_done()
    log = DECISIONS.read(run.data_dir, TASK)
    assert sum(isinstance(event, Extended) for event in log) == 1
    assert sum(isinstance(event, Answered) for event in log) == len(records(run))
    replay(log)
    with pytest.raises(NothingToDo, match="answer reached: alpha > beta"):
        await _launched(run.data_dir, **{**DECIDED, "max_dialogues": 80})


async def test_what_was_answered_and_not_counted_is_counted_by_the_next_launch(start: Launch, data_dir: Path) -> None:
    """Guards a launch that was killed between an answer and its line in the log: the line is gone, the record is there."""
    async with start(**DECIDED) as run:
        await whole_dialogue(run, "w1")
    (log,) = data_dir.glob("studies/*/deciding.jsonl")
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if '"arrived"' in line or '"began"' in line) + '{"event":"ans')
    async with start(**DECIDED) as run:
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.workers, now.standing.answered, now.standing.in_flight) == (1, 1, 0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alpha": 0.01}, "alpha was 0.05 and is now 0.01"),
        ({"margin": 0.2}, "margin was 0.3 and is now 0.2"),
        ({"max_dialogues": 50}, "max_dialogues is 50, and was 60 in an earlier launch: it can only be raised"),
        ({"models": ["alpha", "gamma"]}, "models was alpha, beta and is now alpha, gamma"),
        (
            {"stop": "collected", "margin": None, "max_dialogues": None},
            "began with stop=decided, which drew every dialogue",
        ),
    ],
)
async def test_the_rule_cannot_change_once_it_is_used(start: Launch, changed: dict[str, Any], said: str) -> None:
    """Guards the error rates: they hold for the rule with which the study began."""
    async with start(**DECIDED) as run:
        await whole_dialogue(run, "w1")
    with pytest.raises(ConfigError, match=said):
        await _launched(run.data_dir, **{**DECIDED, **changed})


async def test_a_launch_that_nobody_came_to_leaves_the_rule_free(start: Launch) -> None:
    """Guards task names: who mistypes a setting, or stops before the first rater, launches again as they meant to."""
    async with start(**DECIDED) as run:
        data_dir = run.data_dir
    assert DECISIONS.read(data_dir, TASK) == []
    async with start(**{**DECIDED, "alpha": 0.1}) as run:
        await whole_dialogue(run, "w1")
    began = DECISIONS.read(data_dir, TASK)[0]
    assert isinstance(began, Began)
    assert began.rule.alpha == 0.1


async def test_a_log_that_was_cut_is_not_gone_on_with(start: Launch) -> None:
    """Guards the evidence: a log without its end replays, and the answers of all who came then would be left out."""
    async with start(**DECIDED) as run:
        await whole_dialogue(run, "w1")
        await whole_dialogue(run, "w2")
    log = DECISIONS.path(run.data_dir, TASK)
    lines = log.read_text().splitlines(keepends=True)
    second = [place for place, line in enumerate(lines) if '"arrived"' in line][1]
    log.write_text("".join(lines[:second]))
    with pytest.raises(ConfigError, match="does not mention 1 rater whose dialogues are finished"):
        await _launched(run.data_dir, **DECIDED)


async def test_a_task_that_began_otherwise_cannot_become_one_that_is_decided(start: Launch) -> None:
    """Guards against looking first and saying afterwards that it was planned."""
    async with start(dialogues_per_group=2) as run:
        await whole_dialogue(run, "w1")
    with pytest.raises(ConfigError, match="without stop=decided"):
        await _launched(run.data_dir, **DECIDED)


async def test_orders_cannot_change_what_is_drawn(start: Launch) -> None:
    """Guards the propensities: only a pause is followed."""
    async with start(**DECIDED, **MANY) as run:
        for order in (
            More(number=3, by="terminal"),
            StopGroup(models=["alpha", "beta"], by="terminal"),
            RetireModel(model="alpha", by="terminal"),
            Pause(by="terminal"),
        ):
            give(run.data_dir, TASK, order)
        await eventually(lambda: len(run.study.steered.results) == 4)
        assert [result.done for result in run.study.steered.results] == [False, False, False, True]
        assert "stops once it reaches a decision" in run.study.steered.results[0].text
        assert len(run.study.progress()) == 3
        assert not any(group.stopped for group in run.study.progress())


async def test_panels_drop_a_model_when_all_of_its_pairs_are_decided(start: Launch) -> None:
    """Guards the allocation of N-way techniques: the loser of all is shown no more, and the cap ends what stays open."""
    async with start(
        task="sata", setting="soba", group_size=3, stop="decided", margin=0.4, max_dialogues=40, **MANY
    ) as run:
        await rated(run, "alpha", most=40)
        assert run.study.remaining == 0
    sizes = [len(event.dialogues[0]) for event in DECISIONS.read(run.data_dir, TASK) if isinstance(event, Arrived)]
    assert sizes == sorted(sizes, reverse=True)
    assert {3, 2} == set(sizes)


async def _launched(data_dir: Path, **settings: Any) -> None:
    def whole() -> None:
        with launch(data_dir, **settings):
            pass

    await asyncio.to_thread(whole)
