"""Units of several conversations that are cut off: what was held is not asked for again, and counts as one unit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
import scripted_models
from hands import Hands, texts
from live import Launch, eventually, records

from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.chat.study import GO_ON
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.study import AWAY, PAUSED, STOPPED, WHERE_YOU_WERE, conversations, filled
from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.schema.records import DialogueRecord
from parlai_humaneval.schema.steps import EndStep, PageState

SETTINGS: dict[str, Any] = {
    "task": "direct_assessment",
    "models": ["alpha", "beta"],
    "turns": 1,
    "dialogues_per_group": 1,
    "topic": "none",
    "ask_opinion": False,
}
"""Three conversations: two models and the degraded one."""


def idle(run: RunningStudy) -> bool:
    return not run.live_run.task_runner.running_units


async def conversation(rater: Hands, value: float = 50) -> None:
    await rater.say()
    await rater.do("end")
    await rater.rate(value)


def number_of(state: PageState) -> int:
    assert state.progress is not None
    assert state.progress.total == 3
    return state.progress.current


def complete(found: list[DialogueRecord]) -> list[tuple[int, str]]:
    return sorted((record.conversation, record.session) for record in found if record.status == "complete")


async def test_who_leaves_for_good_and_comes_back_goes_on_behind_what_was_held(start: Launch) -> None:
    """Gone for longer than a lost line in the second of three: all is kept, and goes on where it was; one session, and the
    unit counts whole, so that nobody is asked for it again."""
    async with start(**SETTINGS, disconnect_after_s=1) as run:
        async with Hands(run, "returns") as rater:
            await conversation(rater, 11)
            await rater.say("cut off here")
        await eventually(lambda: idle(run), timeout=25)
        assert run.study.allocator.remaining == 1
        async with Hands(run, "returns") as rater:
            state = await rater.state()
            assert state.notice == WHERE_YOU_WERE
            assert (number_of(state), texts(state)[0]) == (2, "cut off here")
            await rater.do("end")
            await rater.rate(22)
            assert number_of(await rater.state()) == 3
            await conversation(rater, 33)
            await rater.hand_in()
        await eventually(run.is_done)
        found = records(run)
    assert run.study.allocator.remaining == 0, "conversations of the earlier visit count, too"
    assert [number for number, _ in complete(found)] == [1, 2, 3]
    assert len({record.session for record in found}) == 1
    assert Counter(record.status for record in found) == {"complete": 3}
    ratings = {record.conversation: record.final_ratings for record in found if record.status == "complete"}
    assert [ratings[number]["fun"] for number in (1, 2, 3)] == [11, 22, 33]
    assert len({record.models[0].name for record in found}) == 3
    assert len({record.dialogue_id for record in found}) == 3


async def test_three_visits_in_one_launch(start: Launch) -> None:
    """One conversation a visit: each picks up where the last one ended."""
    async with start(**SETTINGS, disconnect_after_s=1) as run:
        for visit in (1, 2, 3):
            async with Hands(run, "visitor") as rater:
                assert number_of(await rater.state()) == visit
                await conversation(rater)
                if visit == 3:
                    await rater.hand_in()
            await eventually(lambda: idle(run), timeout=25)
        await eventually(run.is_done)
        assert [number for number, _ in complete(records(run))] == [1, 2, 3]
        assert set(run.study.allocator.progress().completed.values()) == {1}


async def test_a_silent_rater_is_told_that_they_may_go_on(start: Launch) -> None:
    """Timed out between two conversations: the page says how to come back, and coming back is possible."""
    async with start(**SETTINGS) as run:
        run.study.config.answer_timeout_s = 1
        async with Hands(run, "idler") as rater:
            await conversation(rater)
            state = await rater.state()
            ended = await rater.client.next_state(after_version=state.version, timeout=10)
            assert isinstance(ended.step, EndStep)
            assert (ended.step.title, ended.step.text) == (AWAY[0], only_closing(filled(AWAY[1], conversations(3))))
        await eventually(lambda: idle(run))
        run.study.config.answer_timeout_s = 60
        async with Hands(run, "idler") as rater:
            state = await rater.state()
            assert (number_of(state), state.notice) == (2, GO_ON)


async def test_a_stop_between_conversations(start: Launch) -> None:
    """Two held, then the launch ends; after the next one has begun the rater holds the third, and the unit is whole."""
    async with start(**SETTINGS) as run, Hands(run, "patient") as rater:
        await conversation(rater)
        await conversation(rater)
        assert number_of(await rater.state()) == 3
        first_run = run.task_run_id
    async with start(**SETTINGS) as run:
        assert run.study.allocator.remaining == 1
        async with Hands(run, "patient", "another-assignment") as rater:
            state = await rater.state()
            assert (number_of(state), state.notice) == (3, GO_ON)
            await conversation(rater)
            await rater.hand_in()
        await eventually(run.is_done)
        assert set(run.study.allocator.progress().completed.values()) == {1}
        found = records(run)
    assert [number for number, _ in complete(found)] == [1, 2, 3]
    (session,) = {record.session for record in found}
    assert session.startswith(f"{first_run}-")


async def test_a_stop_in_the_middle_of_a_conversation(start: Launch) -> None:
    """It goes on where it was, message and reply in sight; there is one record of it, and no sign that anybody left."""
    async with AsyncExitStack() as pages:
        async with start(**SETTINGS) as run:
            rater = await pages.enter_async_context(Hands(run, "patient"))
            await conversation(rater)
            await rater.say("cut off by us")
        step = rater.newest.step
    assert isinstance(step, EndStep)
    assert (step.title, step.next) == (PAUSED[0], "stay")
    assert "paid in full" in step.text
    async with start(**SETTINGS) as run:
        async with Hands(run, "patient") as rater:
            state = await rater.state()
            assert (number_of(state), texts(state)[0], state.notice) == (2, "cut off by us", WHERE_YOU_WERE)
            await rater.do("end")
            await rater.rate(50)
            await conversation(rater)
            await rater.hand_in()
        await eventually(run.is_done)
        found = records(run)
    assert [number for number, _ in complete(found)] == [1, 2, 3]
    (cut,) = [record for record in found if record.conversation == 2]
    assert (cut.status, cut.interrupted, cut.turns[0].human_text) == ("complete", False, "cut off by us")
    assert cut.away_s > 0


async def test_a_stop_in_the_first_conversation(start: Launch) -> None:
    """Nothing is held yet: that goes on as well."""
    async with start(**SETTINGS) as run, Hands(run, "patient") as rater:
        await rater.say()
    async with start(**SETTINGS) as run:
        async with Hands(run, "patient") as rater:
            assert number_of(await rater.state()) == 1
            await rater.do("end")
            await rater.rate(50)
            for _ in range(2):
                await conversation(rater)
            await rater.hand_in()
        await eventually(run.is_done)
        found = records(run)
    assert [number for number, _ in complete(found)] == [1, 2, 3]
    assert len({session for _, session in complete(found)}) == 1


async def test_two_raters_at_once_do_not_take_each_others_conversations(start: Launch) -> None:
    """Both leave after the first one and come back in the other order."""
    async with start(**{**SETTINGS, "dialogues_per_group": 2}, disconnect_after_s=1) as run:
        async with Hands(run, "one") as one, Hands(run, "two") as two:
            await asyncio.gather(conversation(one), conversation(two))
        await eventually(lambda: idle(run), timeout=25)
        for worker in ("two", "one"):
            async with Hands(run, worker) as rater:
                assert number_of(await rater.state()) == 2
                await conversation(rater)
                await conversation(rater)
                await rater.hand_in()
        await eventually(run.is_done)
        found = records(run)
    by_session = Counter(session for _, session in complete(found))
    assert sorted(by_session.values()) == [3, 3]
    for session in by_session:
        own = [record for record in found if record.session == session and record.status == "complete"]
        assert len({record.worker for record in own}) == 1
        assert len({record.models[0].name for record in own}) == 3


async def test_a_unit_of_models_that_are_not_rated_any_more_begins_anew(start: Launch) -> None:
    """One held of the old models; a launch with others is refused, as long as nobody says that they begin anew: then the
    rater gets a whole unit of these, and nothing fails."""
    async with start(**SETTINGS) as run, Hands(run, "patient") as rater:
        await conversation(rater)
    others = {**SETTINGS, "models": ["gamma", "delta"]}
    with pytest.raises(ConfigError, match=r"(?s)1 unit of this task was interrupted.*models.*cut_off=anew"):
        async with start(**others):
            pass
    async with start(**others, cut_off="anew") as run:
        async with Hands(run, "patient") as rater:
            assert number_of(await rater.state()) == 1
            for _ in range(3):
                await conversation(rater)
            await rater.hand_in()
        await eventually(run.is_done)
        newest = [record for record in records(run) if record.task_run_id == run.task_run_id]
    assert sorted(record.models[0].name for record in newest) == ["degraded", "delta", "gamma"]
    assert {record.status for record in newest} == {"complete"}


async def test_a_model_that_fails_in_the_middle_of_a_unit(start: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was held stays complete, the one that failed says why, the rater is paid, and another gets the whole unit."""

    def breaks(dialogue: Sequence[Line]) -> str:
        raise RuntimeError("out of memory")

    async with start(**SETTINGS, model_retries=0) as run:
        with monkeypatch.context() as patch:
            patch.setitem(scripted_models.SCRIPTS, "beta", breaks)
            async with Hands(run, "unlucky") as rater:
                before = 0
                while not isinstance((await rater.say()).step, EndStep):
                    await rater.do("end")
                    await rater.rate(7)
                    before += 1
                step = (await rater.state()).step
                assert isinstance(step, EndStep)
                assert (step.title, step.next) == (STOPPED[0], "submit")
                await rater.client.submit_task()
            await eventually(lambda: idle(run))
        statuses = [record.status for record in records(run)]
        assert statuses == ["complete"] * before + ["failed"]
        assert run.study.allocator.remaining == 1
        async with Hands(run, "next") as rater:
            for _ in range(3):
                await conversation(rater)
            await rater.hand_in()
        await eventually(run.is_done)
        newest = [record for record in records(run) if record.session.endswith(f"-{rater.client.agent_id}")]
    assert [number for number, _ in complete(newest)] == [1, 2, 3]
