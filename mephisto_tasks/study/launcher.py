"""Mephisto's TaskLauncher, quick with hundreds of units, and able to add one while raters are at work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.data_model.assignment import Assignment, InitializationData
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.operations.task_launcher import TaskLauncher

from mephisto_tasks.stored.stores import one_commit

logger = logging.getLogger(__name__)

MOCK_PROVIDER = "mock"
_OURS = (MOCK_PROVIDER, "link")
"""Providers that have nobody to ask: all their units open, and close, at once."""
FIRST_UNIT_S = 60.0
"""How long a launch waits for its first unit to be open to raters; a crowd provider answers in a second or two."""

LISTING_PROVIDERS = ("mturk", "mturk_sandbox")
"""Crowds that show open units to workers, who take one before they see our page."""

_ENDED = {"completed", "accepted", "rejected", "soft_rejected", "expired"}


class StudyLauncher(TaskLauncher):
    """Creates the units of a study in one commit, and opens and expires them likewise where no provider is asked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._first_open = threading.Event()
        self._adding = threading.Lock()
        self._fitting = threading.RLock()
        self._done: set[str] = set()

    def create_assignments(self) -> None:
        """All units; they are not open to raters yet."""
        with one_commit(self.db):
            super().create_assignments()

    def _launch_limited_units(self, url: str) -> None:
        try:
            super()._launch_limited_units(url)
        finally:
            self._first_open.set()

    def generate_units(self) -> Any:
        """Mephisto's, which asks for each unit to be launched; those of ours are launched all at once here."""
        if self.provider_type in _OURS and self.max_num_concurrent_units == 0:
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
        """Until a rater who comes finds a unit, if there is to be one: at most :data:`FIRST_UNIT_S`."""
        if self.units:
            self._first_open.wait(FIRST_UNIT_S)

    def add_one(self, data: InitializationData) -> None:
        """Create and open one more assignment of one unit, now; from any thread.

        It never enters the list of units to be launched: the thread that works on that list may be reading it.
        """
        run = self.task_run
        with self._adding:
            assignment_id = self.db.new_assignment(
                run.task_id, run.db_id, run.requester_id, run.task_type, run.provider_type, run.sandbox
            )
            assignment = Assignment.get(self.db, assignment_id)
            assignment.write_assignment_data(data)
            self.assignments.append(assignment)
            unit = self.UnitClass.new(self.db, assignment, 0, run.get_task_args().task_reward)
            self.units.append(unit)
        unit.launch(self.launch_url)

    def keep_open(self, wanted: int, *, besides: str, data: Callable[[], InitializationData]) -> None:
        """Add units until ``wanted`` of them are open or under way, without the one whose id is ``besides``.

        A unit of several items may be shorter than others, where its rater knows most of what is left: then it takes more
        units than there were at first.
        """
        with self._fitting:
            there = sum(unit.db_id != besides for unit in self._under_way())
            for _ in range(wanted - there):
                self.add_one(data())

    def note_done(self, unit_id: str) -> None:
        """The work of a unit is done; its rater may still be at the comment box, and it counts no more as under way."""
        self._done.add(unit_id)

    def _under_way(self) -> list[Any]:
        """Units that are open, or being done."""
        return [unit for unit in list(self.units) if unit.db_id not in self._done and unit.db_status not in _ENDED]

    def fit(self, wanted: int, data: Callable[[], InitializationData]) -> None:
        """As many units open or under way as are ``wanted``, no fewer and no more, for orders changed the number.

        More than are wanted are taken off a crowd's site, whose workers would take them in vain; here they do no harm.
        """
        self.keep_open(wanted, besides="", data=data)
        there = self._under_way()
        if len(there) > wanted:
            free = sum(unit.db_status == AssignmentState.LAUNCHED for unit in there)
            self.leave_free(free - (len(there) - wanted))

    def leave_free(self, number: int) -> None:
        """Take units that nobody has begun off a crowd's site, but for a ``number`` of them."""
        if self.provider_type not in LISTING_PROVIDERS:
            return
        free = [unit for unit in list(self.units) if unit.db_status == AssignmentState.LAUNCHED]
        for unit in free[max(0, number) :]:
            try:
                unit.expire()
            except Exception:
                logger.exception("unit %s could not be taken off the crowd's site", unit.db_id)

    @property
    def is_opening(self) -> bool:
        """Whether a slow provider is still being told of units."""
        return not self.finished_generators and bool(self.unlaunched_units)

    def expire_open_units(self) -> None:
        """Take every unit that nobody completed off the market; one that fails does not keep the others."""
        self.keep_launching_units = False
        self.finished_generators = True
        if self.units_thread is not None:
            self.units_thread.join(timeout=5)
        with ExitStack() as stack:
            if self.provider_type in _OURS:
                stack.enter_context(one_commit(self.db))
                stack.enter_context(one_commit(self.db.get_datastore_for_provider(self.provider_type)))
            for unit in self.units:
                try:
                    if unit.db_status not in _ENDED:
                        unit.expire()
                except Exception:
                    logger.exception("unit %s could not be expired", unit.db_id)
