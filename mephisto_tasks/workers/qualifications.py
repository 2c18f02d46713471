"""Mephisto's qualifications, which are what its database can keep about a worker: who holds one, and granting one.

Workers that are programs of this project: each is marked in Mephisto's database, so that none passes for a person.

The mark is a qualification that only a launch grants, to workers whose names it announced itself before they came;
nothing that a page sends can give it or take it away. A worker who was simulated once stays so in every later launch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mephisto.abstractions.database import EntryAlreadyExistsException
from mephisto.data_model.worker import Worker
from mephisto.utils.qualifications import find_or_create_qualification

from mephisto_tasks._util import compat
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX
from mephisto_tasks.workers.roster import SIMULATED

compat.prepare()


logger = logging.getLogger(__name__)


def grant(worker: Worker, name: str, value: int = 1) -> bool:
    """Give a worker the qualification ``name``, which is made if need be. Threads may call this at once.

    Returns:
        False where the crowd provider did not take it; here it holds all the same.
    """
    for _ in range(2):  # another thread may be first with the qualification, or with the worker: then it is there now
        try:
            find_or_create_qualification(worker.db, name)
            worker.grant_qualification(name, value, skip_crowd=True)
            break
        except EntryAlreadyExistsException:
            continue
    return _told(worker.grant_crowd_qualification, name, value)


def revoke(worker: Worker, name: str) -> bool:
    """Take a qualification back from a worker who holds it.

    Returns:
        False where the crowd provider did not take it back; here it is gone all the same.
    """
    granted = worker.get_granted_qualification(name)
    if granted is None:
        return True
    worker.db.revoke_qualification(granted.qualification_id, worker.db_id)
    return _told(worker.revoke_crowd_qualification, name)


def _told(tell: Callable[..., object], name: str, *value: int) -> bool:
    """Whether the crowd provider did it. Mephisto's own methods print a traceback with the worker's id where not."""
    try:
        tell(name, *value)
    except Exception as error:  # noqa: BLE001 (each provider has errors of its own; the caller says what holds)
        logger.warning("the crowd provider refused what was to be done with %s (%s)", name, type(error).__name__)
        return False
    return True


def holders(db: Any, name: str) -> list[Worker]:
    """The workers who hold it, whatever its value: Mephisto's own rules go by whether one holds it at all."""
    return [
        Worker.get(db, granted.worker_id)
        for qualification in db.find_qualifications(name)
        for granted in db.check_granted_qualifications(qualification_id=qualification.db_id)
    ]


def is_simulated(worker: Any, announced: Callable[[str], bool]) -> bool:
    """Whether a worker is a program; one whose name is ``announced`` is marked by this."""
    if worker.get_granted_qualification(SIMULATED) is not None:
        return True
    if not announced(str(worker.worker_name).removesuffix(SANDBOX_SUFFIX)):
        return False
    grant(worker, SIMULATED)
    return True
