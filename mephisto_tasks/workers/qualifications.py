"""Mephisto's qualifications, which are what its database can keep about a worker.

One of them marks workers that are programs of this project. Only a launch grants it, to workers whose names it announced
before they came; nothing that a page sends can give it or take it away, and it holds in every later launch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.blueprints.mixins.onboarding_required import OnboardingRequired
from mephisto.abstractions.database import EntryAlreadyExistsException
from mephisto.data_model.worker import Worker
from mephisto.utils.qualifications import find_or_create_qualification

from mephisto_tasks.storage.provider_names import plain_name
from mephisto_tasks.workers.roster import SIMULATED

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
    return _ask_crowd(worker.grant_crowd_qualification, name, value)


def revoke(worker: Worker, name: str) -> bool:
    """Take a qualification back from a worker who holds it.

    Returns:
        False where the crowd provider did not take it back; here it is gone all the same.
    """
    granted = worker.get_granted_qualification(name)
    if granted is None:
        return True
    worker.db.revoke_qualification(granted.qualification_id, worker.db_id)
    return _ask_crowd(worker.revoke_crowd_qualification, name)


def _ask_crowd(ask: Callable[..., object], name: str, *value: int) -> bool:
    """Whether the crowd provider did it. Mephisto's own methods print a traceback with the worker's id where not."""
    try:
        ask(name, *value)
    except Exception as error:  # noqa: BLE001 (each provider has errors of its own; the caller says what holds)
        logger.warning("the crowd provider refused what was to be done with %s (%s)", name, type(error).__name__)
        return False
    return True


def worker_of(db: Any, worker_id: str) -> Any:
    """Mephisto's worker of an id of Mephisto's."""
    return Worker.get(db, worker_id)


def failed_qualification(practice: str) -> str:
    """What workers hold who failed the practice that grants this qualification."""
    return str(OnboardingRequired.get_failed_qual(practice))


def is_simulated(worker: Any, announced: Callable[[str], bool]) -> bool:
    """Whether a worker is a program; one whose name is ``announced`` is marked by this."""
    if worker.get_granted_qualification(SIMULATED) is not None:
        return True
    if not announced(plain_name(str(worker.worker_name))):
        return False
    grant(worker, SIMULATED)
    return True
