"""Carries out a storm's plan, each event at its time, whatever else is going on; and makes good what it broke."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from killable_server import KillableServer

from mephisto_tasks.simulation.page_client import PageError
from storm.disk import Disk
from storm.line import Line
from storm.plan import Event
from storm.rater import StormRater, Tab
from storm.study import StormStudy


class Weather:
    """``present``: who is at a page now. ``done``: how often each kind happened; ``missed``: found nobody to happen to.

    ``thefts``: what others were given who came with a worker's public ids, where they were given anything.
    """

    def __init__(
        self,
        studies: Sequence[StormStudy],
        disk: Disk,
        database: Path,
        server: KillableServer,
        present: Callable[[], Sequence[StormRater]],
        kill_browser: Callable[[], bool],
        deciding: StormStudy,
    ) -> None:
        self.done: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.thefts: list[str] = []
        self.lines: list[str] = []
        self._studies = studies
        self._disk = disk
        self._database = database
        self._server = server
        self._present = present
        self._kill_browser = kill_browser
        self._deciding = deciding
        self._began = time.monotonic()
        self._of_all = 0
        self._of_raters: Counter[str] = Counter()

    def touches(self, rater: StormRater) -> bool:
        """Whether something is wrong for this rater just now."""
        return bool(self._of_all or self._of_raters[rater.book.worker] or rater.study.in_trouble)

    async def blow(self, plan: Sequence[Event]) -> None:
        """Returns when the last event is over and everything is whole again."""
        self._began = time.monotonic()
        under_way = set()
        for event in plan:
            await asyncio.sleep(max(0.0, self._began + event.at_s - time.monotonic()))
            under_way.add(asyncio.create_task(self._happen(event)))
        await asyncio.gather(*under_way)

    async def _happen(self, event: Event) -> None:
        rater = self._rater(event.who)
        if event.kind in ("cut", "half_close", "stall", "reload", "second_tab", "thief", "forge", "away", "leave"):
            if rater is None:
                self.missed[event.kind] += 1
                return
            self._note(event, rater.book.worker)
            self._of_raters[rater.book.worker] += 1
            try:
                await self._to_rater(event, rater)
            finally:
                self._of_raters[rater.book.worker] -= 1
            return
        of_deciding = event.kind in ("kill_deciding", "end_deciding")
        study = self._deciding if of_deciding else self._studies[int(event.who * len(self._studies))]
        whole = "launcher" not in event.kind and not of_deciding
        self._note(event, "" if whole else study.task_name)
        self._of_all += whole
        try:
            await self._to_all(event, study)
        finally:
            self._of_all -= whole

    def _note(self, event: Event, whom: str) -> None:
        self.done[event.kind] += 1
        self.lines.append(f"{time.monotonic() - self._began:6.1f} s  (planned {event}) {whom}")

    def _rater(self, who: float) -> StormRater | None:
        present = self._present()
        return present[int(who * len(present))] if present else None

    async def _to_rater(self, event: Event, rater: StormRater) -> None:
        match event.kind:
            case "cut":
                rater.book.note("the line is cut")
                rater.line.cut()
            case "half_close":
                rater.book.note("the line is closed on one side")
                rater.line.half_close()
            case "stall":
                rater.book.note(f"the line stalls for {event.lasts_s:.1f} s")
                await rater.line.stall(event.lasts_s)
            case "reload":
                rater.reload()
            case "second_tab":
                await rater.second_tab()
            case "forge":
                await rater.forge()
            case "away":
                await rater.away(event.lasts_s)
            case "leave":
                rater.leave()
            case "thief":
                await self._rob(rater)

    async def _rob(self, rater: StormRater) -> None:
        """Somebody else's browser comes with the ids that stand in this worker's address, after the worker did."""
        if rater.client.agent_id is None:
            self.missed["thief"] += 1
            return
        async with Line(rater.study.port) as line:
            tab = Tab(line.url, rater.book.worker)
            client = await tab.__aenter__()
            try:
                with suppress(PageError, asyncio.TimeoutError, OSError):
                    details = await asyncio.wait_for(client.register(), 10)
                    if details.get("agent_id") is not None:
                        self.thefts.append(f"{rater.book.worker}: a stranger speaks for agent {details['agent_id']}")
                        rater.book.note("a stranger came in with this worker's ids")
            finally:
                await client.__aexit__(None, None, None)

    async def _to_all(self, event: Event, study: StormStudy) -> None:
        match event.kind:
            case "kill_launcher":
                await study.kill(event.lasts_s)
            case "stop_launcher":
                await study.stop_and_start(event.lasts_s)
            case "kill_deciding":
                await self._cut_off(study, study.kill(event.lasts_s))
            case "end_deciding":
                await self._cut_off(study, study.stop_and_start(event.lasts_s, signal.SIGTERM))
            case "freeze_launcher":
                await study.freeze(event.lasts_s)
            case "kill_server":
                await asyncio.to_thread(self._server.kill)
                await asyncio.sleep(event.lasts_s)
                await asyncio.to_thread(self._server.start)
            case "full_disk":
                await self._fill(event.lasts_s)
            case "locked_database":
                await asyncio.to_thread(_lock, self._database, event.lasts_s)
            case "kill_browser":
                if not self._kill_browser():
                    self.missed[event.kind] += 1

    async def _cut_off(self, study: StormStudy, ending: Coroutine[Any, Any, None]) -> None:
        """A launch ends, and is launched again; of the raters inside, the one who came first never comes back."""
        inside = [rater for rater in self._present() if rater.study is study and rater.book.answers]
        launching = asyncio.create_task(ending)
        if inside:
            inside[0].leave()
        await launching

    async def _fill(self, seconds: float) -> None:
        await asyncio.to_thread(self._disk.fill)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._disk.limit_writers()
            await asyncio.sleep(0.2)
        self._disk.free()


def _lock(database: Path, seconds: float) -> None:
    """Another program holds the database: a backup, or somebody who looks into it."""
    with closing(sqlite3.connect(database, timeout=5, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:  # the disk is full at this very moment, say
            return
        time.sleep(seconds)
        connection.execute("ROLLBACK")
