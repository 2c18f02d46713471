"""A study that stops once it reaches a decision goes on without raters whom a launch cut off, and who do not come back."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from judging_hands import Judge, judgements, study_beside
from live import TASK, Launch, Rater, eventually, records
from test_live_judging_decides import check_log
from test_live_judging_decides import study as pairs

from mephisto_tasks.admission import identity as waiting_room
from mephisto_tasks.admission.admission import PHRASES
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.payments.policy import Terms
from mephisto_tasks.payments.statement import due
from mephisto_tasks.session import stopping as absent
from mephisto_tasks.session.stopping import Absent, StoppingMonitor, monitor_of
from mephisto_tasks.session.study import UnitWords, filled
from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.storage.sqlite import Saving
from mephisto_tasks.storage.work import completed_work
from parlai_humaneval.stopping.events import Arrived, Event, Folded, Left, Outcome, Returned
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import replay

SILENCE_S = 900.0
CAP = 8
DECIDED: dict[str, Any] = {"stop": "decided", "margin": 0.1, "max_dialogues": CAP}


def until(last_seen: float, opened: float | None) -> float:
    """The first second from which somebody who was last seen then is not waited for, in a launch that opened then."""
    away = Absent({"w": last_seen}, SILENCE_S)
    if opened is not None:
        away.opens(opened)
    return next(now for now in map(float, range(20_000)) if away.gone(now))


def test_how_long_a_launch_waits_for_whom_an_earlier_one_cut_off() -> None:
    """Guards all limits: a minute or two at most, time enough for an open page, and silence that counts over launches."""
    assert until(last_seen=1000, opened=1010) == 1010 + absent.PATIENCE_S
    assert absent.PATIENCE_S <= 120
    assert until(last_seen=1000, opened=1000 + SILENCE_S - 60) == 1000 + SILENCE_S
    assert until(last_seen=1000, opened=1000 + SILENCE_S + 5) == 1000 + SILENCE_S + 5 + absent.RETURN_S
    assert until(last_seen=1000, opened=9000) == 1000 + SILENCE_S + absent.PATIENCE_S, "however often it is launched"
    assert until(last_seen=1000, opened=None) == 1000 + SILENCE_S + absent.PATIENCE_S


class Kept:
    """A study by its log alone, and its launches; the clock is the test's."""

    def __init__(self, cap: int = 8) -> None:
        self.log: list[Event] = []
        self.now = 1000.0
        self._rule = StoppingRule(models=("a", "b"), margin=0.1, max_dialogues=cap)

    def launch(self, seen: Sequence[str] = ()) -> StoppingMonitor:
        """``seen``: workers of whom anything is on record."""
        self.closing = threading.Event()
        monitor = monitor_of(
            list(self.log),
            self._rule,
            self.log.extend,
            Saving(self.closing),
            lambda worker: f"of {worker}",
            self.closing,
            seed=3,
            technique="pw_turn",
            setting="",
            metric="preference",
            clock=lambda: self.now,
        )
        monitor.expect(dict.fromkeys(seen, self.now), SILENCE_S)
        monitor.look()
        monitor.opens()
        return monitor

    def rated(self, monitor: StoppingMonitor, *workers: str) -> None:
        for worker in workers:
            assert monitor.draw(worker, 1) == [("a", "b")]
            monitor.note(worker, ("a", "b"), lambda models: Outcome(picks=(1, 1), turns=2))
            monitor.leave(worker)


def test_evidence_waits_for_an_absent_rater_for_a_minute_or_two_only() -> None:
    """Guards everybody who came later: 39 of 40 dialogues waited for an hour behind one rater whose launch was killed."""
    study = Kept()
    study.launch().draw("ghost", 1)
    study.now += 30
    monitor = study.launch(seen=["ghost"])
    study.rated(monitor, *(f"w{number}" for number in range(7)))
    assert (monitor.standing().workers, monitor.free, monitor.keeps_places()) == (0, 0, True)
    study.now += absent.PATIENCE_S
    monitor.look()
    assert (monitor.standing().workers, monitor.free, monitor.keeps_places()) == (8, 1, False)
    study.rated(monitor, "last")
    assert monitor.is_over
    assert [event.worker for event in study.log if isinstance(event, Folded)] == [
        event.worker for event in study.log if isinstance(event, Arrived)
    ], "in the order of arrival"
    replay(study.log)


def test_several_absent_raters_of_several_launches_are_passed_over() -> None:
    study = Kept(cap=20)
    study.launch().draw("first", 1)
    monitor = study.launch(seen=["first"])
    monitor.draw("second", 1)
    study.now += 10
    monitor = study.launch(seen=["first", "second"])
    study.rated(monitor, "w1", "w2")
    monitor.draw("third", 1)
    study.now += 10
    monitor = study.launch(seen=["first", "second", "third", "w1", "w2"])
    study.now += absent.PATIENCE_S
    monitor.look()
    assert (monitor.standing().workers, monitor.standing().in_flight) == (5, 0)
    replay(study.log)


def test_who_comes_back_in_time_is_not_passed_over() -> None:
    study = Kept()
    study.launch().draw("returns", 1)
    monitor = study.launch(seen=["returns"])
    assert monitor.come_back("returns")
    study.now += SILENCE_S
    monitor.look()
    assert monitor.standing().in_flight == 1, "a rater inside is the page's to watch"
    assert not any(isinstance(event, Left) for event in study.log)


def test_who_is_passed_over_may_come_back_until_they_are_folded_in() -> None:
    """Guards the order of arrival: somebody before them is still at work, so that their answers can count."""
    study = Kept()
    monitor = study.launch()
    monitor.draw("ahead", 1)
    monitor.draw("away", 1)
    monitor = study.launch(seen=["ahead", "away"])
    assert monitor.come_back("ahead")
    study.now += absent.PATIENCE_S
    monitor.look()
    assert (monitor.can_go_on("away"), monitor.went_on_without("away")) == (True, False)
    monitor.leave("ahead")
    assert (monitor.can_go_on("away"), monitor.went_on_without("away")) == (False, True)


def test_the_end_of_a_launch_passes_nobody_over() -> None:
    """Guards raters of a launch that ends just then: they may come back to the next one."""
    study = Kept()
    study.launch().draw("ghost", 1)
    monitor = study.launch(seen=["ghost"])
    study.now += absent.PATIENCE_S
    study.closing.set()
    monitor.look()
    assert monitor.standing().in_flight == 1


def test_who_was_cut_off_before_anything_was_shown_is_given_what_was_drawn() -> None:
    """Guards a launch that was killed between the draw and the first page: its rater has not taken part already."""
    study = Kept(cap=4)
    study.launch().draw("unlucky", 1)
    monitor = study.launch()
    study.rated(monitor, "w1", "w2", "w3")
    assert (monitor.free, monitor.came("unlucky"), monitor.can_go_on("unlucky")) == (0, False, True)
    assert monitor.draw("unlucky", 1) == [("a", "b")]
    assert monitor.came("unlucky")
    assert monitor.draw("unlucky", 1) == []
    assert sum(isinstance(event, Arrived) for event in study.log) == 4
    study.now += absent.PATIENCE_S
    monitor.look()
    assert monitor.standing().in_flight == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes in seconds: how long a launch waits for raters, and how soon a page that waits outside asks again."""
    monkeypatch.setattr(absent, "RETURN_S", 1.5)
    monkeypatch.setattr(absent, "PATIENCE_S", 1.5)
    monkeypatch.setattr(waiting_room, "SOONEST_AGAIN_S", 0.3)


@contextlib.asynccontextmanager
async def cut_off(run: RunningStudy, *workers: str) -> AsyncIterator[None]:
    """Raters who have chosen once when their launch ends, and whose pages are closed then."""
    pages = [Rater(run, worker) for worker in workers]
    for page in pages:
        await page.__aenter__()
        await page.talk_until("message", turn=2)
    yield
    for page in pages:
        await page.__aexit__(None, None, None)


async def rated(run: RunningStudy, worker: str) -> None:
    """From arrival to submit, waiting outside where that is asked; turned away is a failure."""
    async with Rater(run, worker) as rater:
        await rater.client.enter()
        assert rater.client.refused is None, rater.client.refused
        await rater.finish()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how_many", [1, 3])
async def test_a_study_ends_though_raters_who_were_cut_off_stay_away(start: Launch, how_many: int) -> None:
    """Guards the end: newcomers wait for a moment and are let in, all their dialogues count, and the launch is done."""
    async with start(**DECIDED) as run:
        manager = cut_off(run, *(f"ghost-{number}" for number in range(how_many)))
        await manager.__aenter__()
    await manager.__aexit__(None, None, None)
    async with start(**DECIDED) as run:
        await asyncio.gather(*(rated(run, f"w{number}") for number in range(CAP)))
        await eventually(run.is_done)
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.ended, now.standing.answered, now.standing.workers) == ("cap", CAP, CAP + how_many)
    complete = [record for record in records(run) if record.status == "complete"]
    assert len(complete) == CAP
    replay(DECISIONS.read(run.data_dir, TASK))


@pytest.mark.usefixtures("impatient")
async def test_who_comes_back_too_late_is_told_so_and_paid(start: Launch) -> None:
    """Guards raters and evidence: what they did is on record, the whole is paid, and the decisions stay as they were."""
    async with start(**DECIDED) as run, cut_off(run, "late"):
        pass
    async with start(**DECIDED) as run:
        await eventually(lambda: any(isinstance(event, Folded) for event in DECISIONS.read(run.data_dir, TASK)))
        async with Rater(run, "late") as late:
            assert late.client.refused == only_closing(filled(PHRASES["went_on"], UnitWords()))
        before = DECISIONS.read(run.data_dir, TASK)
        await rated(run, "w1")
        assert run.study.presence.door().turned_away == {"went_on": 1}
    log = DECISIONS.read(run.data_dir, TASK)
    assert log[: len(before)] == before
    assert not any(isinstance(event, Returned) for event in log)
    replay(log)
    (partial,) = [record for record in records(run) if record.status == "partial"]
    assert len(partial.complete_turns) == 1
    (work,) = [one for one in completed_work(run.data_dir, TASK) if one.outcome == "stopped"]
    assert due(work, Terms(), {}).amount == work.reward > Decimal(0)


async def test_who_comes_back_in_time_goes_on_before_newcomers(start: Launch) -> None:
    """Guards places that are kept: somebody new waits outside while the rater who was cut off is let in."""
    settings = {**DECIDED, "max_dialogues": 4}
    async with start(**settings) as run:
        manager = cut_off(run, *(f"back-{number}" for number in range(4)))
        await manager.__aenter__()
    await manager.__aexit__(None, None, None)
    async with start(**settings) as run:
        async with Rater(run, "newcomer") as newcomer:
            assert newcomer.client.details.get("screen") == "full"
        async with Rater(run, "back-0") as back:
            progress = (await back.state()).progress
            assert progress is not None
            assert progress.current == 2
            await back.finish()


async def test_a_page_whose_launch_died_before_it_saw_anything_begins(start: Launch) -> None:
    """Guards the moment between the draw and the first page: the log has an arrival of which there is no record."""
    async with start(**DECIDED) as run:
        async with Rater(run, "unlucky") as rater:
            await rater.state()
        data_dir = run.data_dir
    (state,) = data_dir.glob("data/runs/**/state.json")
    state.unlink()
    assert DECISIONS.path(data_dir, TASK).is_file()
    async with start(**DECIDED) as run:
        await rated(run, "unlucky")
    log = DECISIONS.read(data_dir, TASK)
    assert sum(isinstance(event, Arrived) for event in log) == 1
    assert [record.status for record in records(run)] == ["complete"]


@pytest.mark.usefixtures("impatient")
async def test_judging_goes_on_without_who_was_cut_off(tmp_path: Path) -> None:
    """Guards the other engine: of a unit of three pairs one is judged, and the rest is free for others."""
    settings = {"data_dir": tmp_path / "data", **pairs(tmp_path, max_dialogues=10)}
    async with study_beside(**settings) as run:
        ghost = Judge(run, "ghost")
        await ghost.__aenter__()
        await ghost.state()
        await ghost.answer_somehow()
    await ghost.__aexit__(None, None, None)
    async with study_beside(**settings) as run:
        for number in range(4):
            async with Judge(run, f"w{number}") as judge:
                await judge.client.enter()
                if judge.client.refused is None:
                    await judge.whole_unit()
        await eventually(run.is_done)
        now = run.study.deciding_now()
        assert now is not None
        assert now.standing.ended is not None
        found = judgements(run)
    check_log(run.data_dir, found)


async def test_everybody_who_comes_back_finds_their_unit(tmp_path: Path) -> None:
    """Guards units of several: two raters lack one pair each, which is less than a unit, and both are let in at once."""
    settings = {"data_dir": tmp_path / "data", **pairs(tmp_path, max_dialogues=6)}
    workers = [f"back-{number}" for number in range(2)]
    async with study_beside(**settings) as run:
        pages = [Judge(run, worker) for worker in workers]
        for page in pages:
            await page.__aenter__()
            for _ in range(2):
                await page.state()
                await page.answer_somehow()
            await page.state()
    for page in pages:
        await page.__aexit__(None, None, None)
    async with study_beside(**settings) as run:
        assert (run.study.remaining, run.study.awaited) == (1, 2)
        assert any("interrupted 2 raters" in remark for remark in run.study.remarks)
        await eventually(lambda: len(run.live_run.task_launcher._under_way()) == 2)
        async with Judge(run, workers[0]) as first, Judge(run, workers[1]) as second:
            await first.state()
            await second.whole_unit()
            await first.whole_unit()
        await eventually(run.is_done)
        found = judgements(run)
    check_log(run.data_dir, found)
    assert [record.status for record in found] == ["complete"] * 6
