"""Mephisto's Operator with its loop in a thread, so that the caller keeps the main one, and with our parts where raters
meet them. It shuts down in seconds: raters get a message, units expire, the router ends; Mephisto takes minutes."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.unit import Unit
from mephisto.operations import operator as mephisto_operator
from mephisto.operations.datatypes import LiveTaskRun, LoopWrapper
from mephisto.operations.operator import Operator
from mephisto.operations.worker_pool import WorkerPool

from mephisto_tasks.adapter.client_io import StudyIOHandler
from mephisto_tasks.adapter.task_launcher import StudyLauncher
from mephisto_tasks.admission.admission import Admission
from mephisto_tasks.admission.identity import KNOWN_BROWSER, Reception
from mephisto_tasks.admission.visits import Visitor
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.database import close_connections
from mephisto_tasks.storage.sqlite import FIRST_PAUSE_S, LONGEST_PAUSE_S, Saving, hurry, passing

logger = logging.getLogger(__name__)

T = TypeVar("T")

COMING_IN_S = 5.0  # the end of a launch waits this long for raters on their way in
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
        while self.get_agent_for_id(agent_id) is None and self.get_live_run().client_io.beginning:
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
        raise RuntimeError("a registration is waiting for something other than itself")

    def shutdown(self) -> None:
        """Nobody comes in any more, and whoever was about to is in; longer than a moment it waits for none."""
        with self._entrance:
            super().shutdown()
            self._entrance.wait_for(lambda: self._coming_in == 0, timeout=COMING_IN_S)

    async def _until_it_can(self, attempt: Callable[[], Awaitable[None]], request_id: str) -> None:
        """A registration waits, off the loop, until the database or disk is available; if it fails, it begins again."""
        pause = FIRST_PAUSE_S
        with ExitStack() as waiting:
            while True:
                try:
                    await attempt()
                    self.get_live_run().client_io.beginning.pop(request_id, None)
                    return
                except Closed:
                    self.get_live_run().client_io.try_again(request_id)
                    return
                except Exception as error:
                    kind = passing(error)
                    if kind is None or self.is_shutdown:
                        logger.exception("a rater could not be registered")
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
        visitor = Visitor(run.client_io, crowd_data, stage="registers", worker=worker)
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


REGISTERING_AT_ONCE = 32
"""Raters for whom the database is asked and written at the same time; what they write reaches the disk together."""

GOODBYE_S = 1.0  # how long the router stays after raters were told that the study is paused, so that the words arrive

END_S = 10.0  # how long the worlds of raters may take to end; they look every quarter of a second whether they should


class StudyOperator(Operator):
    """Runs one study. ``launch``, then anything else, then ``close``; closed once, it is not used again."""

    def __init__(self, db: Any, study: Study, admission: Admission, reception: Reception | None = None) -> None:
        super().__init__(db)
        self._study = study
        self._admission = admission
        self._reception = reception
        self._run_tracker_task.cancel()  # it would poll every 10 s, and delay the end by as much
        self._thread = threading.Thread(target=self._run_loop, name="operator-loop", daemon=True)
        self._live_run: LiveTaskRun | None = None
        self._closed = False

    def _run_loop(self) -> None:
        loop = self._event_loop
        asyncio.set_event_loop(loop)
        # Everybody waits for this thread, and who registers or comes back for those that it hands work to.
        hurry()
        # Python's own has six threads on two processors, and what waits here waits for the disk, and not for a processor.
        loop.set_default_executor(ThreadPoolExecutor(REGISTERING_AT_ONCE, "registering", initializer=hurry))
        self._loop_wrapper.set_active_thread()
        try:
            loop.run_forever()
        finally:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    def _create_live_task_run(self, *args: Any, **kwargs: Any) -> LiveTaskRun:
        # The classes are looked up in the module when the run is made: the seam that needs no copy of the method.
        module: Any = mephisto_operator
        original = module.ClientIOHandler, module.TaskLauncher, module.WorkerPool
        module.ClientIOHandler = lambda db: StudyIOHandler(db, self._study, self._admission, self._reception)
        module.TaskLauncher = StudyLauncher
        module.WorkerPool = lambda db: StudyWorkerPool(db, self._study, self._admission)
        try:
            self._live_run = super()._create_live_task_run(*args, **kwargs)
        finally:
            module.ClientIOHandler, module.TaskLauncher, module.WorkerPool = original
        # Mephisto asks the run, of which there is one object to a database.
        self._live_run.task_run.get_valid_units_for_worker = self._live_run.task_launcher.units_for
        return self._live_run

    def launch(self, config: Any, shared_state: Any) -> LiveTaskRun:
        """Launch, and return the live run, open to raters. Raises what the launch raised, with nothing left running."""
        self._thread.start()
        try:
            run_id = self.launch_task_run_or_die(config, shared_state)
            run = self._task_runs_tracked[run_id]
            run.task_launcher.wait_for_first()
        except BaseException:
            self.close()
            raise
        return run

    def close(self) -> None:
        """Tell raters, end their worlds, expire units, end the router. Safe to call twice."""
        if self._closed:
            return
        self._closed = self.is_shutdown = True
        run = self._live_run
        if run is not None:
            run.task_launcher.shutdown()
            for step in (
                lambda: _end_raters(run),
                run.task_launcher.expire_open_units,
                run.worker_pool.shutdown,
                lambda: _end_raters(run),  # raters who came in during the first round
                lambda: _end_practices(run),
                run.client_io.shutdown,
                run.architect.shutdown,
            ):
                try:
                    step()
                except Exception:  # one failing step must not keep the router alive
                    logger.exception("a step of the shutdown failed")
        self._task_runs_tracked.clear()
        if self._thread.is_alive():
            self._event_loop.call_soon_threadsafe(self._event_loop.stop)
            self._thread.join(timeout=5)
        self.db.finish()
        close_connections(self.db)
        if run is not None:
            close_connections(self.db.get_datastore_for_provider(run.task_run.provider_type))


def _end_practices(run: LiveTaskRun) -> None:
    for agent in list(run.worker_pool.onboarding_agents.values()):
        if agent.get_status() not in AgentState.complete():
            agent.update_status(AgentState.STATUS_DISCONNECT)


def _end_raters(run: LiveTaskRun) -> None:
    runner = run.task_runner
    anybody = False
    until = time.monotonic() + END_S
    while time.monotonic() < until:
        agents = [running.agent for running in list(runner.running_units.values())]
        agents += [running.onboarding_agent for running in list(runner.running_onboardings.values())]
        if not agents:
            break
        anybody = True
        for agent in agents:
            agent.shutdown()
        time.sleep(0.02)
    else:
        logger.error("%d raters' worlds did not end in %g s", len(agents), END_S)
    if anybody:
        time.sleep(GOODBYE_S)
