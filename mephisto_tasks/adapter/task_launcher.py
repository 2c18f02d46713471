"""Mephisto's TaskLauncher, quick with hundreds of units, and able to add one while raters are at work."""

from __future__ import annotations

import itertools
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.assignment import Assignment, InitializationData
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.operations.task_launcher import TaskLauncher

from mephisto_tasks.crowds.crowd import CrowdError, ExpiresRuns, Market
from mephisto_tasks.crowds.registry import crowd_of
from mephisto_tasks.storage.database import one_commit

logger = logging.getLogger(__name__)

FIRST_UNIT_S = 60.0
"""How long a launch waits for its first unit to be open to raters; a crowd provider answers in a second or two."""

AGAIN_S = 30.0  # after how long a unit is offered again that the crowd's site did not take
STOPPING_S = 60.0
"""How long the end of a launch waits for an offer that is under way; what comes later is taken back by itself."""
AT_ONCE = 100
"""Most units that are added in one go: an order can ask for a hundred thousand, and raters and a pause must not wait."""

ROOM_S = 0.5  # how often it is looked whether another unit may be open

_OPEN = (AssignmentState.LAUNCHED, AssignmentState.ASSIGNED)
_ENDED = {"completed", "accepted", "rejected", "soft_rejected", "expired"}


class StudyLauncher(TaskLauncher):
    """Creates the units of a study in one commit, and opens and expires them likewise where no provider is asked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._first_open = threading.Event()
        self._first_error: CrowdError | None = None
        self._stopped = threading.Event()
        self._adding, self._opening, self._fitting = threading.Lock(), threading.Lock(), threading.Lock()
        self._done: set[str] = set()
        self._holding = False
        self._turns = itertools.count()
        self.payable: int | None = None  # how many units somebody agreed to pay for; None: they cost nothing
        self.paid_in_vain = 0  # units that were paid on the crowd's site, and still have to be done
        self.left_on_site = False
        """The end of the launch could not take off everything that it had offered; the log says what to do."""

    @cached_property
    def _market(self) -> Market:
        return crowd_of(self.provider_type).market

    def create_assignments(self) -> None:
        with one_commit(self.db):
            super().create_assignments()

    def _launch_limited_units(self, url: str) -> None:
        try:
            for unit in self.generate_units():
                self._open(unit)
        finally:
            self.finished_generators = True
            self._first_open.set()

    def _open(self, unit: Any) -> None:
        """Offer a unit until the crowd's site takes it; where it does not take the very first, the launch fails."""
        while not self._stopped.is_set():
            try:
                if self._launch_if_room(unit):
                    return
                self._stopped.wait(ROOM_S)
            except CrowdError as error:
                if not self._first_open.is_set():
                    self._first_error, self.keep_launching_units = error, False
                    return
                logger.warning("a unit could not be offered: %s. The launch tries again in %g s", error, AGAIN_S)
                self._stopped.wait(AGAIN_S)

    def _launch_if_room(self, unit: Any) -> bool:
        """False in a pause, and where as many are open already as may be (``max_num_concurrent_units``)."""
        with self._opening:
            if unit.db_status != AssignmentState.CREATED:
                return True  # taken back before its turn came
            if self._holding:
                return False
            if self.max_num_concurrent_units:
                open_now = sum(each.db_status in _OPEN for each in list(self.units))
                if open_now >= self.max_num_concurrent_units:
                    return False
            unit.launch(self.launch_url)
        if self._stopped.is_set() or self._holding:
            unit.expire()  # the end of the launch, or a pause, did not wait for this one
        return True

    def generate_units(self) -> Any:
        """Mephisto's, which asks for each unit to be launched; those of ours are launched all at once here."""
        if self._market.opens_at_once and self.max_num_concurrent_units == 0:
            with one_commit(self.db):
                for unit in list(self.unlaunched_units.values()):
                    unit.launch(self.launch_url)
            self._first_open.set()
        for unit in super().generate_units():
            if not self.keep_launching_units:
                return  # the study was stopped while a slow provider was still being told of its units
            yield unit
            self._first_open.set()

    def wait_for_first(self) -> None:
        """Until a rater who comes finds a unit, :data:`FIRST_UNIT_S` at most. Raises CrowdError."""
        if self.units:
            self._first_open.wait(FIRST_UNIT_S)
        if self._first_error is not None:
            raise self._first_error

    def add(self, units: Sequence[InitializationData]) -> None:
        """Create and open more assignments of one unit each, from any thread; none beyond what is paid for. The list of
        units to be launched is not theirs: another thread may be reading it."""
        if isinstance(self.task_run.get_provider(), ExpiresRuns):
            with self._adding, self._all_or_none(), one_commit(self.db):
                new = [self._new_unit(data) for data in units[: self._still_payable()]]
            # The caller may be a rater's thread, which must not wait for the crowd's site.
            threading.Thread(target=lambda: list(map(self._open, new)), name="unit-opener", daemon=True).start()
            return
        datastore = self.db.get_datastore_for_provider(self.provider_type)
        with self._adding, self._all_or_none(), one_commit(self.db), one_commit(datastore):
            for data in units[: self._still_payable()]:
                self._new_unit(data).launch(self.launch_url)

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """What the block adds is forgotten where it could not be written."""
        assignments, units = len(self.assignments), len(self.units)
        try:
            yield
        except sqlite3.Error:
            self.db.forget([*self.assignments[assignments:], *self.units[units:]])
            del self.assignments[assignments:], self.units[units:]
            raise

    def _new_unit(self, data: InitializationData) -> Any:
        run = self.task_run
        assignment_id = self.db.new_assignment(
            run.task_id, run.db_id, run.requester_id, run.task_type, run.provider_type, run.sandbox
        )
        assignment = Assignment.get(self.db, assignment_id)
        assignment.write_assignment_data(data)
        self.assignments.append(assignment)
        unit = self.UnitClass.new(self.db, assignment, 0, run.get_task_args().task_reward)
        self.units.append(unit)
        return unit

    def pay_for(self, units: int) -> None:
        """Somebody agreed to pay for so many units more. What was stopped on our side is paid, and offered again."""
        with self._adding:
            self.payable = units + (self.payable or 0)

    def _still_payable(self) -> int | None:
        """Units that may still be added, as somebody agreed to pay for them; None: any number."""
        if self.payable is None:
            return None
        costing = len([unit for unit in list(self.units) if unit.db_status != AssignmentState.EXPIRED])
        return max(0, self.payable - costing - self.paid_in_vain)

    @property
    def is_paid_out(self) -> bool:
        """Nobody can do any more: nothing is open or under way, and nothing more was agreed to."""
        return self._still_payable() == 0 and not self._under_way()

    def keep_open(self, wanted: int, *, besides: str, data: Callable[[], InitializationData]) -> bool:
        """Add units, :data:`AT_ONCE` at most, until ``wanted`` are open, ``besides`` apart; False: more lack."""
        with self._fitting:
            lacking = wanted - len([unit for unit in self._under_way() if unit.db_id != besides])
            if lacking > 0:
                self.add([data() for _ in range(min(lacking, AT_ONCE))])
        return lacking <= AT_ONCE or self._still_payable() == 0

    def note_done(self, unit_id: str) -> None:
        """The work of a unit is done; its rater may still be at the comment box, and it counts no more as under way."""
        self._done.add(unit_id)

    def units_for(self, worker: Any) -> list[Any]:
        """As ``TaskRun.get_valid_units_for_worker``, which reads each unit from the database in the loop."""
        args = self.task_run.get_task_args()
        theirs = [unit for unit in list(self.units) if unit.worker_id == worker.db_id]
        active = sum(unit.db_status == AssignmentState.ASSIGNED for unit in theirs)
        if args.allowed_concurrent and active >= args.allowed_concurrent:
            return []
        if args.maximum_units_per_worker:
            ever = self.db.find_units(task_id=self.task_run.task_id, worker_id=worker.db_id)
            done = sum(unit.db_status in AssignmentState.completed() for unit in ever)
            if active + done >= args.maximum_units_per_worker:
                return []
        free = [
            unit
            for unit in list(self.units)
            if unit.db_status == AssignmentState.LAUNCHED and unit.unit_index >= 0 and unit.worker_id != worker.db_id
        ]
        if not free or not self.task_run.get_blueprint().shared_state.worker_can_do_unit(worker, free[0]):
            return []
        # Concurrent callers begin at different units: of those that reach for the same one, all but one keep searching.
        first = next(self._turns) % len(free)
        return free[first:] + free[:first]

    def _under_way(self) -> list[Any]:
        return [unit for unit in list(self.units) if unit.db_id not in self._done and unit.db_status not in _ENDED]

    def shutdown(self) -> None:
        """Offer nothing more. Mephisto waits here for as long as a crowd's site takes to answer."""
        self.keep_launching_units, self.finished_generators = False, True
        self._stopped.set()

    def fit(self, wanted: int, data: Callable[[], InitializationData]) -> bool:
        """As many units open or under way as are ``wanted``; others are taken off a crowd's site. False: ask again."""
        self._holding = False
        fits = self.keep_open(wanted, besides="", data=data)
        there = self._under_way()
        if len(there) <= wanted:
            return fits
        # One look at each unit: others are being opened at this very moment, and those not opened yet go first.
        states = [(unit, unit.db_status) for unit in there]
        free = [
            unit
            for state in (AssignmentState.LAUNCHED, AssignmentState.CREATED)
            for unit, its in states
            if its == state
        ]
        self._take_off(free[max(0, len(free) - (len(there) - wanted)) :])
        return True

    def hold(self, free: int) -> None:
        """A pause: nothing is offered until :meth:`fit`; a crowd's site shows no more than ``free`` units."""
        self._holding = self._market.lists_units
        self._take_off([unit for unit in self._under_way() if unit.db_status == AssignmentState.LAUNCHED][free:])

    def _take_off(self, units: Sequence[Any]) -> None:
        if not self._market.lists_units:
            return
        for unit in units:
            try:
                if unit.db_status == AssignmentState.CREATED:
                    unit.set_db_status(AssignmentState.EXPIRED)
                else:
                    unit.expire()
            except Exception:
                logger.exception("unit %s could not be taken off the crowd's site", unit.db_id)

    def expire_open_units(self) -> None:
        """Take every unit that nobody completed off the market; one that fails does not keep the others."""
        self.shutdown()
        if self.units_thread is not None:
            self.units_thread.join(timeout=STOPPING_S)
        provider = self.task_run.get_provider()
        if isinstance(provider, ExpiresRuns):
            try:
                provider.expire_run(self.task_run)
            except CrowdError as error:
                self.left_on_site = True
                logger.error("%s", error)
            with one_commit(self.db):
                for unit in self.units:
                    if unit.db_status not in _ENDED:
                        unit.set_db_status("expired")
            return
        with ExitStack() as stack:
            if self._market.opens_at_once:
                stack.enter_context(one_commit(self.db))
                stack.enter_context(one_commit(self.db.get_datastore_for_provider(self.provider_type)))
            for unit in self.units:
                try:
                    if unit.db_status not in _ENDED:
                        unit.expire()
                except Exception:
                    logger.exception("unit %s could not be expired", unit.db_id)
