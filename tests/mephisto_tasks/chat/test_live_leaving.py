"""Raters who leave, come back, reload, fall silent or open a second window: nothing is lost, work is given out again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from live import Launch, Rater, eventually, launch, records, rows, whole_dialogue

from mephisto_tasks.admission.admission import DONE_ALL, PHRASES
from mephisto_tasks.admission.identity import BUSY
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.launch import running
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.server.router import OTHER_WINDOW
from mephisto_tasks.session.study import AWAY, THANKS, UnitWords, filled
from mephisto_tasks.simulation.page_client import PageError
from mephisto_tasks.storage.work import completed_work
from parlai_humaneval.schema.steps import EndStep, MessageStep


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    with launch(tmp_path_factory.mktemp("leaving"), dialogues_per_group=30, turns=3) as run:
        yield run


def idle(run: RunningStudy) -> bool:
    return not run.live_run.task_runner.running_units


async def test_a_reload_in_mid_dialogue_finds_its_place(run: RunningStudy) -> None:
    """At the message and at the choice: the same step, transcript, persona and cards; nothing is asked twice."""
    async with Rater(run, "reloads") as rater:
        before = await rater.talk_until("choose", turn=2)
    async with Rater(run, "reloads") as rater:
        assert await rater.state() == before
        before = await rater.talk_until("message", turn=3)
    async with Rater(run, "reloads") as rater:
        assert await rater.state() == before
        await rater.finish()
    record = next(r for r in records(run) if r.dialogue_id.endswith(f"-{rater.client.agent_id}"))
    assert record.status == "complete"
    assert [turn.human_text for turn in record.turns] == ["Hi!", "reloads in turn 2", "reloads in turn 3"]


async def test_a_reload_after_the_end_shows_the_end(run: RunningStudy) -> None:
    """The world is gone by then; a page that finds nothing would load for ever."""
    async with Rater(run, "comes-back") as rater:
        end = await rater.finish()
    await eventually(lambda: idle(run))
    async with Rater(run, "comes-back") as rater:
        assert await rater.state() == end
        assert isinstance(end.step, EndStep)
        assert end.step.title == THANKS[0]


async def test_a_page_may_be_gone_while_the_models_answer(run: RunningStudy) -> None:
    """The tab is closed right after a message; the candidates are there for whoever opens it again."""
    async with Rater(run, "impatient") as rater:
        await rater.talk_until("message", turn=2)
        await rater.send(kind="message", step_id="message-2", text="closing now")
    async with Rater(run, "impatient") as rater:
        state = await rater.state()
        assert state.step.kind == "choose"
        assert state.transcript[-1].text == "closing now"
        await rater.finish()


async def test_a_second_window_takes_over_and_the_first_is_told(run: RunningStudy) -> None:
    async with Rater(run, "windows") as first:
        before = await first.talk_until("message", turn=2)
        async with Rater(run, "windows") as second:
            assert await second.state() == before
            with pytest.raises(PageError, match=OTHER_WINDOW[:30]):
                await first.client.next_state(after_version=before.version, timeout=5)
            await second.finish()


async def test_a_worker_with_a_conversation_open_is_sent_back_to_it(run: RunningStudy) -> None:
    async with Rater(run, "greedy", "one") as first:
        await first.state()
        async with Rater(run, "greedy", "two") as second:
            assert second.client.refused == BUSY
        await first.finish()
    await eventually(lambda: idle(run))
    async with Rater(run, "greedy", "three") as third:
        assert third.client.refused == only_closing(DONE_ALL)


async def test_two_pages_of_a_worker_at_the_same_moment_get_one_dialogue(run: RunningStudy) -> None:
    pages = [Rater(run, "twice-at-once", f"page-{number}") for number in range(4)]
    await asyncio.gather(*(page.__aenter__() for page in pages))
    admitted = [page for page in pages if page.client.refused is None]
    assert len(admitted) == 1
    assert {page.client.refused for page in pages if page.client.refused} == {BUSY}
    await admitted[0].finish()
    for page in pages:
        await page.__aexit__(None, None, None)


async def test_who_leaves_keeps_complete_turns_and_the_work_is_given_out_again(start: Launch) -> None:
    """One dialogue is wanted: left in turn 2, it goes to another rater, as nothing else is open. While that one is at it,
    the first is told so, on the same page and on another. Nothing is collected twice."""
    async with start(turns=3, disconnect_after_s=1) as run:
        async with Rater(run, "leaver") as rater:
            await rater.talk_until("choose", turn=2)
        await eventually(lambda: idle(run), timeout=25)
        (left,) = records(run)
        assert (left.status, len(left.complete_turns), len(left.turns)) == ("partial", 1, 2)
        assert left.turns[1].human_text == "leaver in turn 2"
        async with Rater(run, "other") as other:
            await other.talk_until("choose", turn=1)
            for assignment in (None, "another"):
                async with Rater(run, "leaver", assignment) as rater:
                    assert rater.client.refused == only_closing(filled(PHRASES["given_on"], UnitWords()))
            await other.finish()
        await eventually(run.is_done)
        assert sorted(record.status for record in records(run)) == ["complete", "partial"]
    assert rows(run.data_dir, "SELECT status FROM agents ORDER BY agent_id") == [("disconnect",), ("completed",)]
    assert rows(run.data_dir, "SELECT status FROM units") == [("completed",)]


async def test_who_leaves_and_comes_back_goes_on_where_they_were(start: Launch) -> None:
    """By loading the same page, or with a new invitation; meanwhile another rater gets what nobody has begun."""
    async with start(turns=3, dialogues_per_group=2, disconnect_after_s=1) as run:
        async with Rater(run, "leaver") as rater:
            before = await rater.talk_until("choose", turn=2)
        await eventually(lambda: idle(run), timeout=25)
        await whole_dialogue(run, "other")
        async with Rater(run, "leaver") as rater:
            state = await rater.state()
            assert (state.step, state.transcript, state.unit) == (before.step, before.transcript, before.unit)
            await rater.finish()
        await eventually(run.is_done)
        found = records(run)
    assert [(record.status, len(record.turns)) for record in found] == [("complete", 3)] * 2
    work = {one.agent_id: (one.outcome, one.done) for one in completed_work(run.data_dir, run.task_name)}
    assert sorted(work.values()) == [("complete", 3), ("complete", 3), ("continued", 1)]


async def test_who_left_before_rating_anything_may_begin_again(start: Launch) -> None:
    """By loading the same page: the same worker and assignment, a new dialogue."""
    async with start(disconnect_after_s=1) as run:
        async with Rater(run, "hesitant") as rater:
            await rater.state()
            first_agent = rater.client.agent_id
        await eventually(lambda: idle(run), timeout=25)
        async with Rater(run, "hesitant") as rater:
            assert rater.client.refused is None
            assert rater.client.agent_id != first_agent
            await rater.finish()
        await eventually(run.is_done)


async def test_silence_ends_a_dialogue(start: Launch) -> None:
    """A page that is there but idle: told in words after answer_timeout_s, how to go on, and the work is given out again."""
    async with start(turns=3, dialogues_per_group=2) as run:
        run.study.config.answer_timeout_s = 1
        async with Rater(run, "idler") as rater:
            state = await rater.talk_until("message", turn=2)
            ended = await rater.client.next_state(after_version=state.version, timeout=10)
            assert isinstance(ended.step, EndStep)
            assert (ended.step.title, ended.step.text, ended.step.next) == (
                AWAY[0],
                only_closing(filled(AWAY[1], UnitWords())),
                "stay",
            )
            await eventually(lambda: rater.client.status == "timeout")
        (record,) = records(run)
        assert (record.status, len(record.complete_turns)) == ("partial", 1)
        run.study.config.answer_timeout_s = 60
        for worker in ("second", "third"):
            await whole_dialogue(run, worker)
        await eventually(run.is_done)


async def test_with_another_pair_to_rate_the_idle_are_invited_back(start: Launch) -> None:
    async with start(models=["alpha", "beta", "gamma"]) as run:
        run.study.config.answer_timeout_s = 1
        async with Rater(run, "idler") as rater:
            state = await rater.talk_until("message", turn=2)
            ended = await rater.client.next_state(after_version=state.version, timeout=10)
            assert isinstance(ended.step, EndStep)
            assert ended.step.text == only_closing(filled(AWAY[1], UnitWords()))
            await eventually(lambda: idle(run))
        run.study.config.answer_timeout_s = 60
        async with Rater(run, "idler") as rater:
            assert isinstance((await rater.talk_until("message", turn=2)).step, MessageStep)
            await rater.finish()


async def test_one_worker_may_rate_every_pair_once(start: Launch) -> None:
    """Three models make three pairs; the fourth visit is refused with thanks."""
    async with start(models=["alpha", "beta", "gamma"], dialogues_per_group=2) as run:
        for visit in range(3):
            async with Rater(run, "regular", f"visit-{visit}") as rater:
                assert rater.client.refused is None
                await rater.finish()
            await eventually(lambda: idle(run))
        async with Rater(run, "regular", "visit-4") as rater:
            assert rater.client.refused == only_closing(DONE_ALL)
        pairs = [tuple(model.name for model in record.models) for record in records(run)]
        assert sorted(pairs) == [("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma")]


async def test_who_vanishes_at_the_comment_box_has_done_the_work(start: Launch) -> None:
    async with start(disconnect_after_s=1) as run:
        async with Rater(run, "vanishes") as rater:
            state = await rater.talk_until("feedback")
            assert state.step.kind == "feedback"
        await eventually(run.is_done, timeout=25)
        (record,) = records(run)
        assert (record.status, record.feedback, len(record.complete_turns)) == ("complete", None, 2)
    assert rows(run.data_dir, "SELECT status FROM agents") == [("completed",)]
    assert rows(run.data_dir, "SELECT status FROM units") == [("completed",)]


async def test_a_pilot_ends_when_all_is_stored_whatever_pages_do(
    start: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards against five minutes for a page that was closed at the comment box; one that is open has a while to comment."""
    async with start(dialogues_per_group=2, disconnect_after_s=300) as run:
        run.ends_when_stored = True
        async with Rater(run, "stays") as stays:
            await stays.talk_until("feedback")
            assert not run.is_done(), "half of it is stored"
            async with Rater(run, "closes") as closes:
                await closes.talk_until("feedback")
            await eventually(lambda: len(run.live_run.task_runner.running_units) == 2)
            assert not run.is_done(), "a rater may be about to comment"
            with monkeypatch.context() as soon:
                soon.setattr(running, "LAST_COMMENT_S", 0.0)
                assert run.is_done(), "nobody is waited for longer than that"
            await stays.finish("a comment")
        await eventually(run.is_done)
        assert not idle(run), "the page that was closed has not run out of time"
    assert {record.feedback for record in records(run)} == {None, "a comment"}
