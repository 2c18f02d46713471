"""Mephisto's database as a launch uses it: a database that is held, or a disk that is full, loses nothing and stops nobody.

Mephisto's own waits five seconds inside a lock that all threads share, the operator's loop among them, and then gives up.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions.database import MephistoDB
from mephisto.abstractions.databases.local_singleton_database import MephistoSingletonDB
from mephisto.data_model.agent import Agent, OnboardingAgent
from mephisto.data_model.unit import Unit

from mephisto_tasks.stored.group_commit import SharedConnectionDB
from mephisto_tasks.stored.saving import AT_ONCE_S, Saving, passing
from mephisto_tasks.stored.stores import commits_at_the_end

logger = logging.getLogger(__name__)

_ASKING = ("new_", "get_", "find_", "update_", "make_", "delete_", "grant_", "check_", "revoke_", "clear_")
_NO_QUERY = {"get_db_path_for_provider", "get_datastore_for_provider"}


class StudyDB(SharedConnectionDB):
    """What a thread asks of the database is tried until it can be done; the operator's loop, which must not wait, is told.

    Statuses are what a launch knows, whatever the file says yet: one that cannot be written now is written as soon as it
    can be, in order, by a thread of its own, and whoever set it goes on.
    """

    BUSY_S = AT_ONCE_S

    def __init__(self, path: str, saving: Saving) -> None:
        self.saving = saving
        self._later: deque[tuple[str, Callable[[], None]]] = deque()
        self._later_lock = threading.Lock()
        self._writer: threading.Thread | None = None
        super().__init__(path)

    def init_tables(self) -> None:
        self.saving.until_done(super().init_tables)

    # -- statuses

    def update_agent(self, agent_id: str, status: str | None = None) -> None:
        self._set(f"agent {agent_id}", lambda: self._update_agent(agent_id=agent_id, status=status))

    def update_onboarding_agent(self, onboarding_agent_id: str, status: str | None = None) -> None:
        self._set(
            f"practice {onboarding_agent_id}",
            lambda: self._update_onboarding_agent(onboarding_agent_id=onboarding_agent_id, status=status),
        )

    def update_unit(self, unit_id: str, agent_id: str | None = None, status: str | None = None) -> None:
        self._set(f"unit {unit_id}", lambda: self._update_unit(unit_id=unit_id, status=status))

    def clear_unit_agent_assignment(self, unit_id: str) -> None:
        self._set(f"unit {unit_id}", lambda: self._clear_unit_agent_assignment(unit_id=unit_id))

    def get_agent(self, agent_id: str) -> Mapping[str, Any]:
        return self._as_known(Agent, agent_id) or self._patiently(lambda: self._get_agent(agent_id=agent_id))

    def get_onboarding_agent(self, onboarding_agent_id: str) -> Mapping[str, Any]:
        return self._as_known(OnboardingAgent, onboarding_agent_id) or self._patiently(
            lambda: self._get_onboarding_agent(onboarding_agent_id=onboarding_agent_id)
        )

    def get_unit(self, unit_id: str) -> Mapping[str, Any]:
        return self._as_known(Unit, unit_id) or self._patiently(lambda: self._get_unit(unit_id=unit_id))

    def _as_known(self, kind: type, key: str) -> Mapping[str, Any] | None:
        """What somebody asks for who has it already, and wants to know its status now: nobody else sets that meanwhile."""
        known = self._singleton_cache[kind].get(key)
        return None if known is None else {"status": known.db_status}

    def _set(self, whose: str, write: Callable[[], None]) -> None:
        """Write a status, now or later."""
        with self._later_lock:
            waits = bool(self._later)
        if not waits:
            try:
                write()
                return
            except Exception as error:
                if passing(error) is None or commits_at_the_end(self):
                    raise
        with self._later_lock:
            self._later.append((whose, write))
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_later, name="status-writer", daemon=True)
                self._writer.start()

    def _write_later(self) -> None:
        while True:
            with self._later_lock:
                if not self._later:
                    self._writer = None
                    return
                whose, write = self._later[0]
            try:
                self.saving.until_done(write)
            except Exception as error:
                logger.exception(
                    "the status of %s could not be written (%s); the next launch, or `parlai-humaneval doctor --repair`, "
                    "sets it by the record",
                    whose,
                    error,
                    exc_info=passing(error) is None,
                )
            with self._later_lock:
                self._later.popleft()

    def forget(self, made: Iterable[Any]) -> None:
        """Rows that were to be made, and were not: their ids are given out again."""
        for value in made:
            for kind, known in self._singleton_cache.items():
                if isinstance(value, kind):
                    known.pop(value.db_id, None)

    def finish(self) -> None:
        """What waits to be written is, unless it cannot be even now. At the end of a launch."""
        writer = self._writer
        if writer is not None:
            writer.join(timeout=10)

    # -- everything else

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        # Inside of a block that is committed as a whole, everybody else waits for this thread.
        return ask() if commits_at_the_end(self) else self.saving.until_done(ask)


def _patient(name: str) -> Callable[..., Any]:
    original = getattr(MephistoSingletonDB, name)

    @functools.wraps(original)
    def ask(self: StudyDB, *args: Any, **kwargs: Any) -> Any:
        return self._patiently(lambda: original(self, *args, **kwargs))

    return ask


for _name in dir(MephistoDB):
    if _name.startswith(_ASKING) and _name not in vars(StudyDB) and _name not in _NO_QUERY:
        setattr(StudyDB, _name, _patient(_name))
