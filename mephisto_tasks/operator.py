"""Mephisto's Operator, with a loop of its own, true reasons for refusals, and a shutdown that keeps everything.

What differs from Mephisto 1.1.1, and why:

* the event loop runs in a thread, so that the caller keeps the main thread (signals, progress, simulated raters);
* a worker who cannot take part reads why (Mephisto has one text for every refusal);
* shutting down takes seconds: raters are told, answers are stored already, units expire, the router ends. Mephisto
  waits for launched units for minutes at the first Ctrl-C, and for ever soon after a launch.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.data_model.worker import Worker
from mephisto.operations import operator as mephisto_operator
from mephisto.operations.client_io_handler import ClientIOHandler
from mephisto.operations.datatypes import LiveTaskRun, WorkerFailureReasons
from mephisto.operations.operator import Operator

logger = logging.getLogger(__name__)

GOODBYE_S = 1.0
"""How long the router stays after raters were told that the study is paused, so that the words arrive."""

GENERIC_REASONS = {
    value for name, value in vars(WorkerFailureReasons).items() if not name.startswith("_") and isinstance(value, str)
}

Explain = Callable[[str], str | None]
"""Mephisto's worker id → why this worker cannot take part now, or None when there is no better reason."""


class ExplainingIOHandler(ClientIOHandler):
    """Replaces Mephisto's one text for all refusals by the true reason."""

    def __init__(self, db: Any, explain: Explain) -> None:
        super().__init__(db)
        self._explain = explain

    def enqueue_agent_details(self, request_id: str, additional_data: dict[str, Any]) -> None:
        if additional_data.get("failure_reason") in GENERIC_REASONS:
            worker_id = additional_data.get("worker_id") or self._worker_id(request_id)
            reason = self._explain(worker_id) if worker_id else None
            if reason is not None:
                additional_data = {**additional_data, "failure_reason": reason}
        super().enqueue_agent_details(request_id, additional_data)

    def _worker_id(self, request_id: str) -> str | None:
        packet = self.request_id_to_packet.get(request_id)
        name = None if packet is None else packet.data.get("provider_data", {}).get("worker_name")
        if not isinstance(name, str):
            return None
        for stored in (name, f"{name}_sandbox"):  # Mephisto's sandbox providers add the suffix
            workers = self.db.find_workers(worker_name=stored)
            if workers:
                return str(workers[0].db_id)
        return None


class StudyOperator(Operator):
    """Runs one study at a time. Use as: ``launch``, then ``wait`` or anything else, then ``close``."""

    def __init__(self, db: Any, explain: Callable[[Worker], str | None]) -> None:
        super().__init__(db)
        self._explain_worker = explain
        self._run_tracker_task.cancel()  # it would poll every 10 s, and delay the end by as much
        self._thread = threading.Thread(target=self._run_loop, name="operator-loop", daemon=True)
        self._closed = False

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._event_loop)
        self._loop_wrapper.set_active_thread()
        self._event_loop.run_forever()

    def _create_live_task_run(self, *args: Any, **kwargs: Any) -> LiveTaskRun:
        # The class is looked up in the module when the run is made: the seam that needs no copy of the method.
        original = mephisto_operator.ClientIOHandler
        mephisto_operator.ClientIOHandler = lambda db: ExplainingIOHandler(db, self._explain)
        try:
            return super()._create_live_task_run(*args, **kwargs)
        finally:
            mephisto_operator.ClientIOHandler = original

    def _explain(self, worker_id: str) -> str | None:
        return self._explain_worker(Worker.get(self.db, worker_id))

    def launch(self, config: Any, shared_state: Any) -> LiveTaskRun:
        """Launch, and return the live run. Raises what the launch raised, with nothing left running."""
        self._thread.start()
        try:
            run_id = self.launch_task_run_or_die(config, shared_state)
        except BaseException:
            self._stop_loop()
            raise
        return self._task_runs_tracked[run_id]

    def close(self) -> None:
        """Tell raters, end their threads, expire units, end the router. Safe to call twice."""
        if self._closed:
            return
        self._closed = self.is_shutdown = True
        for run in self._task_runs_tracked.values():
            self._close_run(run)
        self._task_runs_tracked.clear()
        self._stop_loop()

    def _close_run(self, run: LiveTaskRun) -> None:
        run.task_launcher.shutdown()
        busy = bool(run.task_runner.running_units or run.task_runner.running_onboardings)
        for step in (
            run.task_runner.shutdown,
            lambda: time.sleep(GOODBYE_S) if busy else None,
            lambda: _expire_units(run),
            run.worker_pool.shutdown,
            run.client_io.shutdown,
            run.architect.shutdown,
        ):
            try:
                step()
            except Exception:  # one failing step must not keep the router alive
                logger.exception("a step of the shutdown failed")

    def _stop_loop(self) -> None:
        self._event_loop.call_soon_threadsafe(self._event_loop.stop)
        self._thread.join(timeout=5)


_ENDED = {"completed", "accepted", "rejected", "soft_rejected", "expired"}


def _expire_units(run: LiveTaskRun) -> None:
    launcher = run.task_launcher
    launcher.keep_launching_units = False
    launcher.finished_generators = True
    if launcher.units_thread is not None:
        launcher.units_thread.join(timeout=5)
    for unit in launcher.units:
        if unit.db_status not in _ENDED:
            unit.expire()
