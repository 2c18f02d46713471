"""A running study as its user sees it, and its end on request: Ctrl-C, SIGTERM, or a closed terminal."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

from mephisto_tasks.adapter.operator import StudyOperator
from mephisto_tasks.adapter.task_launcher import StudyLauncher
from mephisto_tasks.adapter.task_runner import one_unit
from mephisto_tasks.chat.wizard import PartnerRoom
from mephisto_tasks.control.orders import BY, ORDERS
from mephisto_tasks.control.snapshot import PausedNow, Snapshot, write_snapshot
from mephisto_tasks.crowds.crowd import CrowdLaunch
from mephisto_tasks.server.hosts import openable
from mephisto_tasks.server.static import SideDoor
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.results import PSEUDONYM_KEY, RunSettings, Settings, note_settings
from mephisto_tasks.storage.sqlite import passing
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import file_stamp
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.models.backends.human import Desk
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.statistics.core.formatting import counted

LAST_COMMENT_S = 60.0  # So long pages stay open when all is stored, where the launch ends then


class StoppedBefore(HumanevalError, RuntimeError):
    """Somebody ended a launch before anything was offered to raters."""


class StudyBroken(HumanevalError, RuntimeError):
    """Dialogues failed one after another; the message says with what."""


def stop_on_signals() -> threading.Event:
    """An event that Ctrl-C, SIGTERM and SIGHUP (a closed terminal, without ``nohup``) set, instead of killing us."""
    stop = threading.Event()

    def handler(signum: int, frame: FrameType | None) -> None:
        if stop.is_set() and signum == signal.SIGINT:
            raise KeyboardInterrupt  # a second Ctrl-C means it
        stop.set()

    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)
    return stop


class RunningStudy:
    """A running study; a crowd's site steers it as a :class:`~mephisto_tasks.crowds.crowd.LaunchControl`."""

    def __init__(
        self,
        study: Study,
        operator: StudyOperator,
        crowd: CrowdLaunch,
        live_run: Any,
        data_dir: Path,
        side_door: SideDoor | None,
        desk: Desk,
    ) -> None:
        self.study, self.operator, self.live_run, self.data_dir = study, operator, live_run, data_dir
        self.task_name, self.task_run_id = crowd.task_name, str(live_run.task_run.db_id)
        self.url = url = openable(str(live_run.task_launcher.launch_url))  # of the page
        self.raters_link, self.link_words = crowd.raters_link(url, live_run), crowd.crowd.words.link
        self.panel_link = crowd.panel_link(url)  # as it is entered at the panel that sends the raters
        self.only_invited = crowd.only_invited  # nobody comes in without an invitation
        self.unit_word = crowd.crowd.words.unit  # what the crowd calls an offered unit
        self.room = None if side_door is None else PartnerRoom(desk, side_door.router, study.languages)
        # Secret, for the people who write replies, where one of the models is a person.
        self.partner_url = None if side_door is None else side_door.url(url)
        self.ends_when_stored = False  # whatever pages are open then; they have a while for a last comment
        self._stored_at: float | None = None
        # Orders that the user already knows: those of earlier launches are in the announcement.
        self.orders_told = len(study.steered.results)

    @property
    def remaining(self) -> int:
        return self.study.remaining

    @property
    def paused(self) -> bool:
        return self.study.paused

    def keep_open(self, *, besides: str = "") -> None:
        self.live_run.task_launcher.keep_open(self.study.remaining, besides=besides, data=one_unit)

    def warning(self) -> str | None:
        if self.room is not None and self.room.newly_unattended():
            return f"A rater is waiting for a reply, but no partner is connected. Link for partners: {self.partner_url}"
        if (news := self.study.saving.news(self.data_dir)) is not None:
            return news
        for result in self.study.steered.results[self.orders_told :]:
            self.orders_told += 1
            return f"{result.text} (Ordered {BY[result.by]}.)"
        return None

    def is_done(self) -> bool:
        """True when every dialogue asked for is complete and no rater is on a page any more, or nothing can go on."""
        if self.study.broken is not None:
            return True
        running = list(self.live_run.task_runner.running_units.values())
        if self.ends_when_stored and self.study.remaining == 0:
            self._stored_at = self._stored_at or time.monotonic()
            if time.monotonic() > self._stored_at + LAST_COMMENT_S:
                return True
            running = [unit for unit in running if self.live_run.architect.is_here(unit.agent.get_agent_id())]
        return not running and (self.study.remaining == 0 or self.live_run.task_launcher.is_paid_out)

    def unfinished(self) -> str | None:
        """Why it ended before everything was collected, where it did by itself."""
        if self.study.remaining == 0 or not self.live_run.task_launcher.is_paid_out:
            return None
        return (
            f"{counted(self.study.remaining, 'assignment')} must still be done, but all {self.unit_word}s that you agreed "
            f"to are used up. Some {self.unit_word}s were interrupted but paid, or contained less work than others. "
            "Launch again to see what the remaining assignments cost."
        )

    def wait(self, stop: threading.Event, *, poll_s: float = 0.2) -> None:
        while not self.is_done() and not stop.wait(poll_s):
            pass

    def raise_if_broken(self) -> None:
        """Raises StudyBroken where the launch ended as units failed in a row."""
        if self.study.broken is not None:
            raise StudyBroken(worded(__file__, "failures", study=self.study))


logger = logging.getLogger(__name__)

LOOK_S = 0.25  # how often the launch looks for orders
SAY_S = 1.0  # how often it says how it stands; at once when an order was followed


class LaunchController:
    """A thread from the launch to its end. ``asked``: the settings as typed, for a second launch; with ``costs_money``,
    more units than at the beginning must be agreed to."""

    def __init__(self, run: RunningStudy, task: str, asked: Settings, *, costs_money: bool) -> None:
        self.run, self.study, self.costs_money = run, run.study, costs_money
        self._units: StudyLauncher = run.live_run.task_launcher
        self._settings = RunSettings(task=task, task_run_id=run.task_run_id, settings=asked)
        self._pseudonym = Pseudonymizer.load_or_create(run.data_dir / PSEUDONYM_KEY).worker
        self._began = time.time()
        self._read: tuple[int, int] | None = None
        self._fits = True
        self._closed = False  # no unit is offered any more, as the study has its answer
        self._said_at = 0.0
        self._told = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="controller", daemon=True)

    def start(self) -> None:
        note_settings(self.run.data_dir, self.run.task_name, self._settings)
        if self.study.monitor is not None:
            self.study.monitor.opens()
            self._fits = self.study.awaited == 0
        self._follow()  # what was ordered since the study was built
        self.run.orders_told = self._told  # it is among what is announced
        self._say()
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        try:
            self._say(ended=time.time())
        except OSError:
            logger.exception("the last snapshot of %s could not be written", self.run.task_name)

    def _run(self) -> None:
        with ExitStack() as trouble:
            noted = False
            while not self._over.wait(LOOK_S):
                try:
                    followed = self._follow()
                    monitor = self.study.monitor
                    if monitor is not None and monitor.is_over and not self._closed:
                        self._fits, self._closed = False, True
                    if not self._fits:
                        self._fit()
                    if followed or time.monotonic() - self._said_at >= SAY_S:
                        self._say()
                    trouble.close()
                    noted = False
                except Exception as error:  # a full disk, say: the raters inside are not to suffer from it
                    kind = passing(error)
                    if kind is not None and not noted:
                        trouble.enter_context(self.study.saving.noted(kind))
                    elif kind is None:
                        logger.exception(
                            "the orders of %s could not be followed, or its snapshot not written", self.run.task_name
                        )
                    noted = noted or kind is not None

    def _follow(self) -> bool:
        state = file_stamp(ORDERS.path(self.run.data_dir, self.run.task_name))
        if self.study.closing.is_set() or state == self._read:
            return False
        given = ORDERS.read(self.run.data_dir, self.run.task_name)
        before = self.study.remaining
        self.study.steer(given)
        self._read = state
        for result in self.study.steered.results[self._told :]:
            logger.info("%s (by %s): %s", result.kind, result.by, result.text)
            if result.kind == "more" and result.done and self.costs_money:
                # The user who ordered it agreed to the cost.
                self._units.pay_for(max(0, self.study.remaining - before))
                before = self.study.remaining
        self._told = len(self.study.steered.results)
        self._fit()
        return True

    def _fit(self) -> None:
        study = self.study
        self._fits = False  # until it does: units may not be written down now
        if study.steered.paused is not None:
            self._units.hold(len(study.practising))
        elif study.broken is None and not study.closing.is_set():
            # Each rater who comes back needs a unit, however little is left of theirs. What costs money was agreed to.
            wanted = study.remaining if self.costs_money else max(study.remaining, study.awaited)
            self._fits = self._units.fit(wanted, one_unit)
            return
        self._fits = True

    def _say(self, ended: float | None = None) -> None:
        self._said_at = time.monotonic()
        if self.study.monitor is not None and ended is None:
            self.study.monitor.look()
        write_snapshot(self.run.data_dir, self.run.task_name, self._snapshot(ended))

    def _snapshot(self, ended: float | None) -> Snapshot:
        study = self.study
        paused = study.steered.paused
        return Snapshot(
            at=time.time(),
            task_name=self.run.task_name,
            task_run_id=self.run.task_run_id,
            pid=os.getpid(),
            began=self._began,
            url=self.run.raters_link,
            technique=study.config.technique,
            metric=study.config.metric,
            counted=study.unit_words.counted,
            remaining=study.remaining,
            paused=None if paused is None else PausedNow(by=paused.by, since=paused.at),
            closing=study.closing.is_set(),
            broken=study.broken,
            trouble=study.saving.words(self.run.data_dir),
            groups=study.progress(),
            deciding=study.deciding_now(),
            inside=study.presence.inside(self._pseudonym),
            door=study.presence.door(),
            models=study.models_now(),
            orders=list(study.steered.results),
            remarks=list(study.remarks),
            ended=ended,
        )
