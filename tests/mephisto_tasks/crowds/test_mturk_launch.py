"""A study on MTurk from the first request to the last, over real HTTP, with Mephisto's providers and real boto3."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import scripted_models
from live import TASK, eventually, records, rows
from mturk_hands import Turker, mturk_at_home, not_expired, on_mturk, on_mturk_beside, open_hits
from servers.mturk import CUT_AFTER, NO_ASSIGNMENT, THROTTLED, StandIn

from mephisto_tasks.adapter import task_launcher as launcher
from mephisto_tasks.adapter.task_runner import one_unit
from mephisto_tasks.control.orders import More, give
from mephisto_tasks.crowds.mturk import hits as following
from mephisto_tasks.crowds.mturk.client import MTurkError
from mephisto_tasks.crowds.mturk.provider import HitStore
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.payments.policy import Quote
from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.schema.steps import EndStep


@pytest.fixture
def mturk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    monkeypatch.setattr(following, "POLL_S", 0.1)
    with mturk_at_home(monkeypatch, tmp_path, sandbox=False) as mturk:
        yield mturk


@pytest.mark.parametrize("place", ["mturk_sandbox", "mturk"])
async def test_a_worker_does_a_hit_and_is_paid(mturk: StandIn, data_dir: Path, place: str) -> None:
    """The same study on both of MTurk's sites: one word is different."""
    told: list[Quote] = []
    reward = "mephisto.task.task_reward=0.13"  # the fee of each is rounded, and not that of all together
    async with on_mturk_beside(data_dir, reward, place=place, dialogues=2, agree=told.append) as run:
        await eventually(lambda: len(open_hits(mturk)) == 2)
        assert [total.total for total in told] == [mturk.account.held(mturk.clock.now())] == [Decimal("0.32")]
        hit = open_hits(mturk)[0]
        assert hit.question.count(f"<ExternalURL>{run.url}</ExternalURL>") == 1
        assert (hit.max_assignments, float(hit.type.reward)) == (1, 0.13)
        assert "for 2 turns" in hit.type.params["Description"], "as on the page, whatever the settings are"
        assert run.raters_link == f"{mturk.url}/mturk/preview?groupId={hit.type.id}"
        async with Turker(run, mturk) as worker:
            assert worker.client.refused is None
            await worker.do_all()
        await eventually(lambda: run.study.remaining == 1)
        agent = next(iter(run.live_run.worker_pool.agents.values()))
        await eventually(lambda: agent.get_status() == "completed")
        agent.approve_work()
        assert agent.get_status() == "approved"
    assert [one.status for one in mturk.crowd.assignments()] == ["Approved"]
    assert (mturk.account.rewards, mturk.account.fees) == (Decimal("0.13"), Decimal("0.03"))
    assert open_hits(mturk) == []
    assert [record.status for record in records(run)] == ["complete"]
    assert [status for (status,) in rows(data_dir, "SELECT status FROM units ORDER BY unit_id")].count("expired") == 1


async def test_what_is_returned_or_takes_too_long_is_given_out_again(mturk: StandIn, data_dir: Path) -> None:
    async with on_mturk_beside(data_dir, dialogues=1) as run:
        await eventually(lambda: len(open_hits(mturk)) == 1)
        async with Turker(run, mturk, "A1RETURNS") as first:
            await first.choose()
            mturk.crowd.give_back(first.assignment.id)
            await eventually(lambda: not run.live_run.task_runner.running_units)
        async with Turker(run, mturk, "A2SLOW") as slow:
            assert slow.client.refused is None
            await slow.choose()
            mturk.clock.move(3601)
            await eventually(lambda: not run.live_run.task_runner.running_units)
        async with Turker(run, mturk, "A3QUICK") as third:
            await third.do_all()
        await eventually(lambda: run.study.remaining == 0)
    statuses = [status for (status,) in rows(data_dir, "SELECT status FROM agents ORDER BY agent_id")]
    assert statuses == ["returned", "returned", "completed"]
    assert len(mturk.crowd.hits()) == 1, "the same HIT served all three"


async def test_a_hit_returned_in_the_practice(mturk: StandIn, data_dir: Path) -> None:
    """Who comes back with another HIT does not hear that a page of theirs is open."""
    async with on_mturk_beside(data_dir, "mephisto.blueprint.onboarding_qualification=practised", dialogues=1) as run:
        await eventually(lambda: len(open_hits(mturk)) == 1)
        async with Turker(run, mturk) as worker:
            assert (await worker.state()).phase == "practice"
            mturk.crowd.give_back(worker.assignment.id)
            await eventually(lambda: not run.live_run.task_runner.running_onboardings)
        await eventually(lambda: not run.live_run.worker_pool.onboarding_agents)
        async with Turker(run, mturk) as again:
            assert again.client.refused is None
            assert (await again.state()).phase == "practice"


async def test_a_page_that_is_loaded_again_goes_on(mturk: StandIn, data_dir: Path) -> None:
    async with on_mturk_beside(data_dir, dialogues=1) as run:
        await eventually(lambda: len(open_hits(mturk)) == 1)
        async with Turker(run, mturk) as worker:
            await worker.choose()
            agent = worker.client.agent_id
            await worker.client.register()
            assert worker.client.agent_id == agent
            await worker.do_all()
        await eventually(lambda: run.study.remaining == 0)


@pytest.mark.parametrize("made_up", [{"hit_id": "3MADEUP"}, {"assignment_id": NO_ASSIGNMENT}, {"hit_id": 7}])
async def test_who_has_accepted_no_hit_of_ours(mturk: StandIn, data_dir: Path, made_up: dict[str, Any]) -> None:
    """Somebody who makes up an address does not work for nothing, nor keeps a unit from others."""
    async with on_mturk_beside(data_dir, dialogues=1) as run:
        await eventually(lambda: len(open_hits(mturk)) == 1)
        forger = Turker(run, mturk)
        forger.client._registration |= made_up
        async with forger:
            assert forger.client.refused is not None
            assert "does not belong to a HIT of this study" in forger.client.refused
    assert rows(data_dir, "SELECT * FROM agents") == []


async def test_who_accepts_a_hit_the_moment_it_is_offered(
    mturk: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards workers who have a program accept HITs for them: MTurk offers it before our own store knows of it."""
    new_hit, stored = HitStore.new_hit, threading.Event()

    def late(store: HitStore, *values: Any) -> None:
        assert stored.wait(30)
        new_hit(store, *values)

    async with on_mturk_beside(data_dir, "mephisto.task.max_num_concurrent_units=1", dialogues=2) as run:
        await eventually(lambda: len(open_hits(mturk)) == 1)
        monkeypatch.setattr(HitStore, "new_hit", late)
        async with Turker(run, mturk, "A1FIRST") as first:
            await first.do_all()
        await eventually(lambda: len(open_hits(mturk)) == 1)
        worker = Turker(run, mturk, "A2QUICK")
        coming = asyncio.create_task(worker.__aenter__())
        await asyncio.wait([coming], timeout=1)
        assert not coming.done(), "their page asks again"
        stored.set()
        await coming
        assert worker.client.refused is None
        await worker.do_all()
        await worker.__aexit__(None, None, None)
    assert [record.status for record in records(run)] == ["complete"] * 2


async def test_as_many_hits_are_open_as_were_asked_for(mturk: StandIn, data_dir: Path) -> None:
    async with on_mturk_beside(data_dir, "mephisto.task.max_num_concurrent_units=2", dialogues=4) as run:
        await eventually(lambda: len(open_hits(mturk)) == 2)
        async with Turker(run, mturk) as worker:
            await worker.do_all()
        await eventually(lambda: len(open_hits(mturk)) == 2 and len(mturk.crowd.hits()) == 3)
        await asyncio.sleep(0.7)
        assert len(open_hits(mturk)) == 2


async def test_no_more_is_spent_than_was_agreed_to(
    mturk: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that was stopped on our side is paid, and lacks: to do it again costs more, which nobody has agreed to yet."""

    def fails(dialogue: Sequence[Line]) -> str:
        raise RuntimeError("out of memory")

    told: list[Quote] = []
    async with on_mturk_beside(data_dir, place="mturk", dialogues=2, agree=told.append) as run:
        with monkeypatch.context() as broken:
            broken.setitem(scripted_models.SCRIPTS, "alpha", fails)
            async with Turker(run, mturk, "A1UNLUCKY") as unlucky:
                state = await unlucky.state()
                while not isinstance(state.step, EndStep):
                    state = await unlucky.client.next_state()
                await unlucky.client.submit_task()
                mturk.crowd.submit(unlucky.assignment.id, {"workerId": "A1UNLUCKY"})
        await eventually(lambda: not run.live_run.task_runner.running_units)
        assert not run.is_done()
        give(data_dir, TASK, More(number=1))
        await eventually(lambda: len(mturk.crowd.hits()) == 3)
        for worker in ("A2LUCKY", "A3LUCKY"):
            await eventually(lambda: open_hits(mturk) != [])
            async with Turker(run, mturk, worker) as lucky:
                await lucky.do_all()
        await eventually(run.is_done)
        assert (run.study.remaining, len(mturk.crowd.hits())) == (1, 3)
        assert "all HITs that you agreed to are used up" in str(run.unfinished())
    assert mturk.account.held(mturk.clock.now()) == told[0].total + Decimal("0.60"), "and what was ordered"


def test_a_launch_that_is_stopped_while_its_models_load(mturk: StandIn, data_dir: Path) -> None:
    """Nobody accepts a HIT that is taken off the market a second later."""
    stop = threading.Event()
    stop.set()
    with pytest.raises(launching.StoppedBefore), on_mturk(data_dir, stop=stop):
        pass
    assert mturk.journal.names() == ["GetAccountBalance"]
    assert not (data_dir / "database.db").exists()


def test_a_terminal_that_is_closed(mturk: StandIn, data_dir: Path) -> None:
    """Where nothing can be said any more the HITs are taken off the market all the same."""

    def gone(what: str) -> Any:
        if what.startswith("Ending"):
            raise OSError("the terminal is closed")
        return nullcontext()

    with pytest.raises(OSError, match="closed"), on_mturk(data_dir, waiting_for=gone):
        asyncio.run(eventually(lambda: len(open_hits(mturk)) == 2))
    assert not_expired(mturk) == []


async def test_fewer_and_more_hits_by_order(mturk: StandIn, data_dir: Path) -> None:
    """Those that are not offered yet are the first that never will be."""
    async with on_mturk_beside(data_dir, "mephisto.task.max_num_concurrent_units=2", dialogues=5) as run:
        await eventually(lambda: len(open_hits(mturk)) == 2)
        opener = run.live_run.task_launcher
        await asyncio.to_thread(opener.fit, 2, one_unit)
        await asyncio.sleep(0.7)
        assert len(open_hits(mturk)) == len(mturk.crowd.hits()) == 2
        await asyncio.to_thread(opener.fit, 1, one_unit)
        assert len(open_hits(mturk)) == 1
        await asyncio.to_thread(opener.fit, 3, one_unit)
        await eventually(lambda: len(open_hits(mturk)) == 2)
        async with Turker(run, mturk) as worker:
            await worker.do_all()
        await eventually(lambda: len(mturk.crowd.hits()) == 4)
        assert len(open_hits(mturk)) == 2


async def test_hits_that_were_ended_by_hand(mturk: StandIn, data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Deleted and expired ones: whoever launched is told, once; the others go on."""
    async with on_mturk_beside(data_dir, dialogues=3) as run:
        await eventually(lambda: len(open_hits(mturk)) == 3)
        deleted, expired, _ = open_hits(mturk)
        with caplog.at_level(logging.WARNING):
            mturk.crowd.forget_hit(deleted.id)
            expired.expires = 0
            await eventually(lambda: "somebody ended them by hand" in caplog.text)
        async with Turker(run, mturk) as worker:
            await worker.do_all()
        await eventually(lambda: run.study.remaining == 2)


def test_throttling_and_lost_answers_are_waited_out(mturk: StandIn, data_dir: Path) -> None:
    """A HIT whose making was not answered is not made twice."""
    mturk.faults.next("CreateHITWithHITType", THROTTLED, CUT_AFTER, THROTTLED)
    mturk.faults.next("UpdateExpirationForHIT", THROTTLED)
    mturk.faults.next("CreateHITType", THROTTLED)
    with on_mturk(data_dir, dialogues=2) as run:
        asyncio.run(eventually(lambda: len(run.live_run.provider.datastore.hits_of_runs([run.task_run_id])) == 2))
        assert len(mturk.crowd.hits()) == 2
    assert not_expired(mturk) == []


def test_a_launch_that_mturk_takes_no_hit_of(mturk: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The money goes between the look at the balance and the first HIT: nothing is left running."""
    monkeypatch.setattr(launcher, "AGAIN_S", 0.05)
    from servers.mturk.errors import insufficient_funds

    mturk.faults.next("CreateHITWithHITType", insufficient_funds())
    with pytest.raises(MTurkError, match="not have enough money"), on_mturk(data_dir, dialogues=2):
        pass
    assert mturk.crowd.hits() == []
    mturk.faults.next("CreateHITWithHITType", None, insufficient_funds())
    with on_mturk(data_dir, dialogues=2):  # a later one is tried again
        asyncio.run(eventually(lambda: len(open_hits(mturk)) == 2))
    assert not_expired(mturk) == []


async def test_approvals_that_mturk_does_not_confirm(mturk: StandIn, data_dir: Path) -> None:
    """Mephisto marks work as approved whatever AWS answers; nobody would ever learn that it was not paid."""
    async with on_mturk_beside(data_dir, dialogues=1) as run:
        await eventually(lambda: len(open_hits(mturk)) == 1)
        async with Turker(run, mturk, "A1LEAVES") as first:
            await first.choose()
            left = next(iter(run.live_run.worker_pool.agents.values()))
            mturk.crowd.give_back(first.assignment.id)
            await eventually(lambda: not run.live_run.task_runner.running_units)
        async with Turker(run, mturk, "A2STAYS") as second:
            await second.finish()
            agent = run.live_run.worker_pool.agents[second.client.agent_id]
            await eventually(lambda: agent.get_status() == "completed")
            with pytest.raises(MTurkError, match=r"approve|look at"):
                agent.approve_work()  # MTurk's form is not sent yet
            assert agent.get_status() == "completed"
            mturk.crowd.submit(second.assignment.id, {"workerId": "A2STAYS"})
        mturk.faults.next("ApproveAssignment", CUT_AFTER)
        agent.approve_work()
        assert agent.get_status() == "approved"
        with pytest.raises(MTurkError, match="belongs to another worker now"):
            left.approve_work()
        assert left.get_status() == "returned"
    assert float(mturk.account.rewards) == 0.5


def test_qualifications_are_made_required_and_made_anew(mturk: StandIn, data_dir: Path) -> None:
    """A block by the study, and one that somebody deleted on MTurk between two launches."""
    more = "mephisto.blueprint.block_qualification=no_more"
    with on_mturk(data_dir, more, dialogues=1):
        types = list(mturk.crowd.qualification_types.values())
    assert [one.params["Name"] for one in types] == ["no_more_sandbox"]
    required = next(iter(mturk.account.types.values())).requirements
    assert [(one["QualificationTypeId"], one["Comparator"]) for one in required] == [(types[0].id, "DoesNotExist")]
    mturk.crowd.qualification_types.clear()
    with on_mturk(data_dir, more, dialogues=1):
        anew = list(mturk.crowd.qualification_types.values())
    assert [one.params["Name"] for one in anew] == ["no_more_sandbox"]
    assert anew[0].id != types[0].id
