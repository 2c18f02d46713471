"""Mephisto's Operator with its loop in a thread, so that the caller keeps the main one, and with our parts where raters
meet them. It shuts down in seconds: raters are told, units expire, the router ends; Mephisto would wait for minutes."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.operations import operator as mephisto_operator
from mephisto.operations.datatypes import LiveTaskRun
from mephisto.operations.operator import Operator

from mephisto_tasks.adapter.client_io import StudyIOHandler
from mephisto_tasks.adapter.task_launcher import StudyLauncher
from mephisto_tasks.adapter.worker_pool import StudyWorkerPool
from mephisto_tasks.admission.admission import Admission
from mephisto_tasks.admission.identity import Reception
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.database import close_connections
from mephisto_tasks.storage.retry import hurry

logger = logging.getLogger(__name__)

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
        if self._live_run is not None:
            _close_run(self._live_run)
        self._task_runs_tracked.clear()
        if self._thread.is_alive():
            self._event_loop.call_soon_threadsafe(self._event_loop.stop)
            self._thread.join(timeout=5)
        self.db.finish()
        close_connections(self.db)
        if self._live_run is not None:
            close_connections(self.db.get_datastore_for_provider(self._live_run.task_run.provider_type))


def _close_run(run: LiveTaskRun) -> None:
    run.task_launcher.shutdown()
    for step in (
        lambda: _end_raters(run),
        run.task_launcher.expire_open_units,
        run.worker_pool.shutdown,
        lambda: _end_raters(run),  # who came in while the others were told
        lambda: _end_practices(run),
        run.client_io.shutdown,
        run.architect.shutdown,
    ):
        try:
            step()
        except Exception:  # one failing step must not keep the router alive
            logger.exception("a step of the shutdown failed")


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
