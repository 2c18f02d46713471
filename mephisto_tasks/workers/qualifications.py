"""Mephisto's qualifications, which are what its database can keep about a worker: who holds one, and granting one."""

from __future__ import annotations

from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions.database import EntryAlreadyExistsException
from mephisto.data_model.worker import Worker
from mephisto.utils.qualifications import find_or_create_qualification


def grant(worker: Worker, name: str) -> bool:
    """Give a worker the qualification ``name``, which is made if need be. Threads may call this at once.

    Returns:
        False where the crowd provider did not take it; here it holds all the same.
    """
    for _ in range(2):  # another thread may be first with the qualification, or with the worker: then it is there now
        try:
            find_or_create_qualification(worker.db, name)
            return bool(worker.grant_qualification(name))
        except EntryAlreadyExistsException:
            continue
    return True


def holders(db: Any, name: str) -> list[Worker]:
    """The workers who hold it, whatever its value: Mephisto's own rules go by whether one holds it at all."""
    return [
        Worker.get(db, granted.worker_id)
        for qualification in db.find_qualifications(name)
        for granted in db.check_granted_qualifications(qualification_id=qualification.db_id)
    ]
