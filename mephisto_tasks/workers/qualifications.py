"""Mephisto's qualifications, by which its database keeps who failed a practice, and who is a program of this project.

Only a launch marks programs, whose names it announced before they came; nothing that a page sends can do or undo that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mephisto_tasks._util import compat
from mephisto_tasks.storage.logs import NOTES, Note, practice_resets
from mephisto_tasks.storage.provider_names import plain_name
from mephisto_tasks.storage.results import ResultsError, query
from mephisto_tasks.storage.run_settings import blueprint_of_newest
from mephisto_tasks.workers.roster import SIMULATED, KnownWorker, known_workers

if TYPE_CHECKING:
    from mephisto.data_model.worker import Worker

logger = logging.getLogger(__name__)


def grant(worker: Worker, name: str, value: int = 1) -> bool:
    """Give a worker the qualification ``name``. Thread-safe. False: the crowd provider did not take it; here it holds."""
    compat.prepare()
    from mephisto.abstractions.database import EntryAlreadyExistsException
    from mephisto.utils.qualifications import find_or_create_qualification

    for _ in range(2):  # another thread may be first with the qualification, or with the worker: then it is there now
        try:
            find_or_create_qualification(worker.db, name)
            worker.grant_qualification(name, value, skip_crowd=True)
            break
        except EntryAlreadyExistsException:
            continue
    return _ask_crowd(worker.grant_crowd_qualification, name, value)


def revoke(worker: Worker, name: str) -> bool:
    """Take a qualification back. False: the crowd provider did not take it back; here it is gone all the same."""
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
        logger.warning("the crowd provider refused a change to %s (%s)", name, type(error).__name__)
        return False
    return True


def worker_of(db: Any, worker_id: str) -> Any:
    """Mephisto's worker of an id of Mephisto's."""
    compat.prepare()
    from mephisto.data_model.worker import Worker

    return Worker.get(db, worker_id)


def failed_qualification(practice: str) -> str:
    """What workers hold who failed the practice that grants this qualification."""
    compat.prepare()
    from mephisto.abstractions.blueprints.mixins.onboarding_required import OnboardingRequired

    return str(OnboardingRequired.get_failed_qual(practice))


def is_simulated(worker: Any, announced: Callable[[str], bool]) -> bool:
    """Whether a worker is a program; one whose name is ``announced`` is marked by this."""
    if worker.get_granted_qualification(SIMULATED) is not None:
        return True
    if not announced(plain_name(str(worker.worker_name))):
        return False
    grant(worker, SIMULATED)
    return True


_CUT_OFF = """
    SELECT DISTINCT onboarding_agents.worker_id
      FROM onboarding_agents JOIN tasks ON tasks.task_id = onboarding_agents.task_id
     WHERE tasks.task_name = ? AND onboarding_agents.status = 'onboarding'
"""  # who was in the practice when a launch was killed; asked while none runs


class PracticeError(ResultsError):
    """A practice that cannot be reset; the message says why."""


def practice_of_task(data_dir: Path, task_name: str) -> str | None:
    """The qualification that a task's practice grants, by its newest launch; None: no practice. Raises ResultsError."""
    name = blueprint_of_newest(data_dir, task_name).get("onboarding_qualification")
    return str(name) if name else None


def fail_practice(worker: Any, qualification: str) -> None:
    """The worker has failed the practice that grants this qualification, and takes no further part."""
    grant(worker, qualification, 0)
    grant(worker, failed_qualification(qualification), 0)


def fail_who_was_cut_off(db: Any, task_name: str, qualification: str | None, failed: Collection[str]) -> None:
    """Write down the verdict of practices that were ``failed`` just when a launch was killed, unless it was lifted
    since."""
    if qualification is None or not failed:
        return
    for (worker_id,) in query(Path(db.db_root), _CUT_OFF, [task_name]):
        worker = worker_of(db, str(worker_id))
        if str(worker_id) in failed and worker.get_granted_qualification(qualification) is None:
            logger.info("a practice was failed just when an earlier launch was killed; its verdict holds now")
            fail_practice(worker, qualification)


def resets_by_id(data_dir: Path, qualification: str | None) -> dict[str, float]:
    """Mephisto's worker id → when they were last allowed to begin the practice of this qualification anew."""
    resets = practice_resets(data_dir, qualification) if qualification else {}
    workers = known_workers(data_dir) if resets else {}
    return {workers[name].worker_id: at for name, at in resets.items() if name in workers}


def reset_practice(db: Any, task_name: str, workers: Collection[KnownWorker], why: str = "") -> list[str]:
    """Let workers who failed the practice of a task try again; returns those whom the crowd provider still holds
    disqualified. Raises PracticeError: there is no practice, or somebody has not failed it; ResultsError; then nothing was
    changed."""
    data_dir = Path(db.db_root)
    qualification = practice_of_task(data_dir, task_name)
    if qualification is None:
        raise PracticeError(f"task {task_name!r} has no practice")
    failed_name = failed_qualification(qualification)
    found = [(known, worker_of(db, known.worker_id)) for known in workers]
    passed = [
        known.pseudonym
        for known, worker in found
        if not worker.is_disqualified(qualification) and worker.get_granted_qualification(failed_name) is None
    ]
    if passed:
        raise PracticeError(f"did not fail the practice of task {task_name!r}", where=f"{', '.join(passed)}")
    left = []
    for known, worker in found:
        # Written first: what comes before it does not count, even if this ends here.
        text = why or task_name
        note = Note(event="practice_reset", worker=known.pseudonym, text=text, qualification=qualification)
        NOTES.append(data_dir, note)
        agreed = [revoke(worker, name) for name in (qualification, failed_name)]
        left += [] if all(agreed) else [known.pseudonym]
    return left
