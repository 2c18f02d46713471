"""Mephisto's pool of workers, where it must let raters in by other rules, and without anybody waiting for it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack
from typing import Any, TypeVar

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.unit import Unit
from mephisto.operations.datatypes import LiveTaskRun, LoopWrapper
from mephisto.operations.worker_pool import WorkerPool

from mephisto_tasks.admission.admission import Admission
from mephisto_tasks.admission.identity import KNOWN_BROWSER
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.retry import FIRST_PAUSE_S, LONGEST_PAUSE_S, Saving, passing

logger = logging.getLogger(__name__)

T = TypeVar("T")

COMING_IN_S = 5.0  # so long the end of a launch waits for who is on their way in
BEGINNING_S = 0.02  # how often it is looked whether a task has begun that somebody comes back to


class Closed(Exception):
    """The launch ends, and nobody comes in any more."""


class _KnownToTheCrowd:
    """A worker of whose verdict the crowd's site was told already."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worker, name)

    def grant_qualification(self, name: str, value: int = 1) -> None:
        self._worker.grant_qualification(name, value, skip_crowd=True)


class _AtOnce(LoopWrapper):
    """In place of the operator's loop, for a registration in a thread: nobody else waits for what it waits for."""

    def __init__(self, loop_wrap: LoopWrapper) -> None:
        self._loop_wrap = loop_wrap
        self.loop = self

    def execute_coro(self, coroutine: Any) -> None:
        self._loop_wrap.execute_coro(coroutine)

    async def run_in_executor(self, executor: None, work: Callable[..., T], *arguments: Any) -> T:
        return work(*arguments)


class StudyWorkerPool(WorkerPool):
    """Mephisto's pool, which asks :class:`.Admission` as a worker registers, and lets raters in by threads: in the
    operator's loop, everybody's answers would wait for the disk."""

    def __init__(self, db: Any, study: Study, admission: Admission) -> None:
        super().__init__(db)
        self._study = study
        self._admission = admission
        self._saving: Saving = db.saving
        self._here = threading.local()
        self._entrance = threading.Condition()
        self._coming_in = 0
        self._run_at_once: LiveTaskRun | None = None

    def register_run(self, live_run: LiveTaskRun) -> None:
        super().register_run(live_run)
        self._run_at_once = dataclasses.replace(live_run, loop_wrap=_AtOnce(live_run.loop_wrap))

    def get_live_run(self) -> LiveTaskRun:
        """The run; for a thread that lets somebody in, one that has it wait for nobody else."""
        at_once = self._run_at_once if getattr(self._here, "lets_in", False) else None
        return super().get_live_run() if at_once is None else at_once

    async def register_worker(self, crowd_data: Any, request_id: str) -> None:
        let_in = super().register_worker
        await self._until_it_can(lambda: self._in_thread(let_in(crowd_data, request_id)), request_id)

    async def reconnect_agent(self, agent_id: str, request_id: str) -> None:
        # Mephisto answers a page, and knows its agent a moment later: a reload may come between, as a thread does both.
        while self.get_agent_for_id(agent_id) is None and self.get_live_run().client_io.somebody_begins:
            await asyncio.sleep(BEGINNING_S)
        let_in = super().reconnect_agent
        await self._until_it_can(lambda: self._in_thread(let_in(agent_id, request_id)), request_id)

    async def _in_thread(self, letting_in: Coroutine[Any, Any, None]) -> None:
        await self.get_live_run().loop_wrap.loop.run_in_executor(None, self._let_in, letting_in)

    def _let_in(self, letting_in: Coroutine[Any, Any, None]) -> None:
        """Run what waits for nothing but its own thread. Raises Closed once the launch ends."""
        with self._entrance:
            if self.is_shutdown:
                letting_in.close()
                raise Closed
            self._coming_in += 1
        self._here.lets_in = True
        try:
            letting_in.send(None)
        except StopIteration:
            return
        finally:
            self._here.lets_in = False
            letting_in.close()
            with self._entrance:
                self._coming_in -= 1
                self._entrance.notify_all()
        raise RuntimeError("a registration waits for what is not its own")

    def shutdown(self) -> None:
        """Nobody comes in any more, and whoever was about to is in; longer than a moment it waits for none."""
        with self._entrance:
            super().shutdown()
            self._entrance.wait_for(lambda: self._coming_in == 0, timeout=COMING_IN_S)

    async def _until_it_can(self, attempt: Callable[[], Awaitable[None]], request_id: str) -> None:
        """A registration waits, off the loop, while the database or disk does not let it; one that fails begins
        anew."""
        pause = FIRST_PAUSE_S
        with ExitStack() as waiting:
            while True:
                try:
                    await attempt()
                    self.get_live_run().client_io.over(request_id)
                    return
                except Closed:
                    self.get_live_run().client_io.try_again(request_id)
                    return
                except Exception as error:
                    kind = passing(error)
                    if kind is None or self.is_shutdown:
                        logger.exception("somebody could not be registered")
                        self.get_live_run().client_io.broke(request_id, error)
                        return
                if pause == FIRST_PAUSE_S:
                    waiting.enter_context(self._saving.noted(kind))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _assign_unit_to_agent(self, crowd_data: Any, worker: Any, request_id: str, units: list[Any]) -> None:
        offered = list(units)
        strangers = self._study.strangers
        # What a worker left is shown to a browser of theirs alone.
        (strangers.discard if crowd_data.get(KNOWN_BROWSER, True) else strangers.add)(worker.db_id)
        try:
            await super()._assign_unit_to_agent(crowd_data, worker, request_id, units)
        except Exception:
            # The last one that Mephisto took from the list is reserved, for somebody who may not have become its agent, or
            # became one that nobody knows: its worker would find it taken, by themselves.
            for unit in offered[: len(offered) - len(units)][-1:]:
                now = Unit.get(self.db, unit.db_id)
                if now.db_status == AssignmentState.LAUNCHED:
                    self.get_live_run().task_run.clear_reservation(unit)
                elif now.agent_id is not None and now.agent_id not in self.agents:
                    now.clear_assigned_agent()
                    now.worker_id = None  # Mephisto would keep it from this worker
            raise

    async def register_agent(self, crowd_data: Any, worker: Any, request_id: str) -> None:
        run = self.get_live_run()
        visitor = run.client_io.visitor_of(worker, "registers", crowd_data)
        refusal = await run.loop_wrap.loop.run_in_executor(None, self._admission.decide, visitor)
        if refusal is None:
            await super().register_agent(crowd_data, worker, request_id)
        else:
            run.client_io.turn_away(request_id, refusal, worker)

    async def register_agent_from_onboarding(self, onboarding_agent: Any) -> None:
        worker = _KnownToTheCrowd(onboarding_agent.get_worker())
        onboarding_agent.get_worker = lambda: worker
        info = self.onboarding_infos.get(onboarding_agent.get_agent_id())
        let_in = super().register_agent_from_onboarding
        await self._until_it_can(
            lambda: self._in_thread(let_in(onboarding_agent)), "" if info is None else info.request_id
        )
