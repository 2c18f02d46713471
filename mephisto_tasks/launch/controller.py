"""Controls a running launch: follows the orders that are given to it, and says how it stands."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mephisto_tasks.adapter.task_runner import one_unit
from mephisto_tasks.control.orders import ORDERS
from mephisto_tasks.control.snapshot import PausedNow, Snapshot, write_snapshot
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.retry import passing

logger = logging.getLogger(__name__)

LOOK_S = 0.25
"""How often the launch looks for orders."""
SAY_S = 1.0
"""How often it says how it stands; at once when an order was followed."""


class Units(Protocol):
    """Units of the crowd that raters can take."""

    def pay_for(self, units: int) -> None:
        """So many more than before may be offered."""

    def fit(self, wanted: int, data: Callable[[], object]) -> bool:
        """As many open or under way as are ``wanted``; False: not all of them yet, so that it is to be asked again."""

    def hold(self, free: int) -> None:
        """A pause: none is offered until :meth:`fit`, and ``free`` at most of those that nobody has begun stay open."""


@dataclass(kw_only=True)
class LaunchController:
    """A thread of its own, from the launch to its end.

    Args:
        study: the launch.
        units: of the launch.
        pseudonym: of a worker's name.
        data_dir: where the study's folder is.
        task_name: whose.
        task_run_id: of this launch.
        url: where raters go.
        costs_money: more units than there are at the beginning must be agreed to.
    """

    study: Study
    units: Units
    pseudonym: Callable[[str], str]
    data_dir: Path
    task_name: str
    task_run_id: str
    url: str
    costs_money: bool

    def __post_init__(self) -> None:
        self._began = time.time()
        self._read: tuple[int, int] | None = None
        self._fits = True
        self._closed = False
        """No unit is offered any more, as the study has its answer."""
        self._said_at = 0.0
        self._told = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="controller", daemon=True)

    def start(self) -> None:
        """Whoever launched can be sure that the first snapshot is there."""
        if self.study.course is not None:
            self.study.course.opens()
            self._fits = self.study.awaited == 0
        self._follow()  # what was ordered since the study was built
        self._say()
        self._thread.start()

    def stop(self) -> None:
        """The launch has ended; the last snapshot says so."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        try:
            self._say(ended=time.time())
        except OSError:
            logger.exception("the last snapshot of %s could not be written", self.task_name)

    def _run(self) -> None:
        with ExitStack() as trouble:
            noted = False
            while not self._over.wait(LOOK_S):
                try:
                    followed = self._follow()
                    if self._has_answer and not self._closed:
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
                            "the orders of %s could not be followed, or its snapshot not be written", self.task_name
                        )
                    noted = noted or kind is not None

    def _state(self) -> tuple[int, int] | None:
        try:
            file = os.stat(ORDERS.path(self.data_dir, self.task_name))
        except FileNotFoundError:
            return None
        return file.st_mtime_ns, file.st_size

    def _follow(self) -> bool:
        state = self._state()
        if self.study.closing.is_set():
            return False
        if state == self._read:
            return False
        given = ORDERS.read(self.data_dir, self.task_name)
        before = self.study.remaining
        self.study.steer(given)
        self._read = state
        for result in self.study.steered.results[self._told :]:
            logger.info("%s (by %s): %s", result.kind, result.by, result.text)
            if result.kind == "more" and result.done and self.costs_money:
                # Whoever ordered it agreed to what it costs.
                self.units.pay_for(max(0, self.study.remaining - before))
                before = self.study.remaining
        self._told = len(self.study.steered.results)
        self._fit()
        return True

    @property
    def _has_answer(self) -> bool:
        return self.study.course is not None and self.study.course.is_over

    def _fit(self) -> None:
        study = self.study
        self._fits = False  # until it does: units may not be written down now
        if study.steered.paused is not None:
            self.units.hold(len(study.practising))
        elif study.broken is None and not study.closing.is_set():
            # Each rater who comes back needs a unit, however little is left of theirs. What costs money was agreed to.
            wanted = study.remaining if self.costs_money else max(study.remaining, study.awaited)
            self._fits = self.units.fit(wanted, one_unit)
            return
        self._fits = True

    def _say(self, ended: float | None = None) -> None:
        self._said_at = time.monotonic()
        if self.study.course is not None and ended is None:
            self.study.course.look()
        write_snapshot(self.data_dir, self.task_name, self._snapshot(ended))

    def _snapshot(self, ended: float | None) -> Snapshot:
        study = self.study
        paused = study.steered.paused
        return Snapshot(
            at=time.time(),
            task_name=self.task_name,
            task_run_id=self.task_run_id,
            pid=os.getpid(),
            began=self._began,
            url=self.url,
            technique=study.config.technique,
            metric=study.config.metric,
            counted=study.unit_words.counted,
            remaining=study.remaining,
            paused=None if paused is None else PausedNow(by=paused.by, since=paused.at),
            closing=study.closing.is_set(),
            broken=study.broken,
            trouble=study.saving.words(self.data_dir),
            groups=study.progress(),
            deciding=study.deciding_now(),
            inside=study.presence.inside(self.pseudonym),
            door=study.presence.door(),
            models=study.models_now(),
            orders=list(study.steered.results),
            remarks=list(study.remarks),
            ended=ended,
        )
