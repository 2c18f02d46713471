"""``pytest --processes 2``: tests are imported and collected by one process, which forks those that run them.

Each takes one file after the other, the slow and the large ones first: what the tests of a file share is made once. As
under pytest-xdist a process has temporary folders and a ``worker_id`` of its own; unlike there, imports and collection are
paid for once, and a test's report costs half as much. A process that dies fails the test that it ran, and another goes on.
"""

from __future__ import annotations

import atexit
import os
import sys
import traceback
import weakref
from collections import deque
from itertools import count, groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

import pytest


class Running:
    """A process that runs tests, as the one that collected them sees it: what it was given and is at."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.connection, self.its_end = Pipe()
        self.pid = 0
        self.given: deque[int] = deque()
        self.at: int | None = None


class Processes:
    """A plug-in that runs the session's tests in so many processes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._names = (f"gw{number}" for number in count())
        self._running: dict[Connection, Running] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        failed_early = session.testsfailed and not session.config.option.continue_on_collection_errors
        if failed_early or session.config.option.collectonly or not session.items:
            return None  # pytest knows what to do
        places = {item: place for place, item in enumerate(session.items)}
        files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
        waiting = deque([places[item] for item in items] for items in sorted(files, key=_length, reverse=True))
        session.config._tmp_path_factory.getbasetemp()
        try:
            for _ in range(min(self._most, len(waiting))):
                self._start(session, [])
            while self._running:
                for connection in wait(list(self._running)):
                    self._hear(session, self._running[connection], waiting)
                    if session.shouldfail:
                        raise session.Failed(session.shouldfail)
                    if session.shouldstop:
                        raise session.Interrupted(session.shouldstop)
        finally:
            for running in self._running.values():
                os.kill(running.pid, 15)
                os.waitpid(running.pid, 0)
        return True

    def _start(self, session: pytest.Session, given: list[int]) -> None:
        running = Running(next(self._names))
        running.given.extend(given)
        sys.stdout.flush()
        sys.stderr.flush()
        running.pid = os.fork()
        if running.pid == 0:
            for other in self._running:
                other.close()
            running.connection.close()
            run(session, running.its_end, running.name, given)
        running.its_end.close()
        self._running[running.connection] = running

    def _hear(self, session: pytest.Session, running: Running, waiting: deque[list[int]]) -> None:
        hooks = session.config.hook
        try:
            what, said = running.connection.recv()
        except (EOFError, ConnectionError):
            del self._running[running.connection]
            _, status = os.waitpid(running.pid, 0)
            if running.at is not None or running.given:
                self._replace(session, running, os.waitstatus_to_exitcode(status))
            return
        if what == "more":
            places = waiting.popleft() if waiting else []
            running.given.extend(places)
            running.connection.send(places)
        elif what == "at":
            running.at = running.given.popleft()
        elif what == "over":
            item = session.items[running.at]
            hooks.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            running.at = None
        elif what == "report":
            report = hooks.pytest_report_from_serializable(config=session.config, data=said)
            hooks.pytest_runtest_logreport(report=report)
        elif what == "warning":
            hooks.pytest_warning_recorded.call_historic(kwargs=said)

    def _replace(self, session: pytest.Session, running: Running, status: int) -> None:
        """Another process goes on with what one left that has died."""
        if running.at is not None:
            item = session.items[running.at]
            why = f"{item.nodeid}: the process that ran it ended with status {status}"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
            session.config.hook.pytest_runtest_logreport(report=report)
        self._start(session, list(running.given))


def _length(items: list[pytest.Item]) -> tuple[bool, int]:
    """How long a file takes, for its place among others: last come those that are quick, so that all end together."""
    return any(item.get_closest_marker("slow") for item in items), len(items)


class Told:
    """A plug-in of a process that runs tests: it says what comes of them."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection
        self._tells_all = any(config.getoption(name, None) for name in ("durations", "xmlpath"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed and not self._tells_all:
            return  # two of three reports, which nobody reads
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("report", data))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        said = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
        self._connection.send(("warning", said))


def run(session: pytest.Session, connection: Connection, name: str, given: list[int]) -> NoReturn:
    """Run the tests at the places that are ``given``, and then those that are asked for, to the end of this process."""
    status = 1
    try:
        _become(session.config, connection, name)
        left, asks = deque(given), True
        while True:
            if asks and len(left) <= 1:  # what a test leaves to the next is known before it runs
                connection.send(("more", None))
                more = connection.recv()
                left.extend(more)
                asks = bool(more)
            if not left:
                break
            item = session.items[left.popleft()]
            connection.send(("at", None))
            following = session.items[left[0]] if left else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            connection.send(("over", None))
        session.config.hook.pytest_sessionfinish(session=session, exitstatus=0)
        status = 0
    except BaseException:  # noqa: BLE001 - it must not go on as the process that collected
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _become(config: pytest.Config, connection: Connection, name: str) -> None:
    """Share nothing with the other processes that ends when this one does, or that both write to."""
    for each in list(weakref.finalize._registry):
        each.atexit = False
    atexit._clear()
    atexit.register(weakref.finalize._exitfunc)
    capturing = config.pluginmanager.getplugin("capturemanager")
    capturing.stop_global_capturing()
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    config.workerinput = {"workerid": name}  # where other plug-ins look
    folders = config._tmp_path_factory
    folders._basetemp = folders.getbasetemp() / f"popen-{name}"
    folders._basetemp.mkdir(mode=0o700)
    config.pluginmanager.register(Told(config, connection))
