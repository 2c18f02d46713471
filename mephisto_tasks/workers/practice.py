"""Practices that were failed: what is noted of them, and letting workers try again."""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mephisto_tasks.storage.logs import NOTES, Note, practice_resets
from mephisto_tasks.storage.results import ResultsError, query
from mephisto_tasks.storage.run_settings import blueprint_of_newest
from mephisto_tasks.workers.qualifications import failed_qualification, grant, revoke, worker_of
from mephisto_tasks.workers.roster import KnownWorker, known_workers

logger = logging.getLogger(__name__)

_CUT_OFF = """
    SELECT DISTINCT onboarding_agents.worker_id
      FROM onboarding_agents JOIN tasks ON tasks.task_id = onboarding_agents.task_id
     WHERE tasks.task_name = ? AND onboarding_agents.status = 'onboarding'
"""
"""Who was in the practice when a launch was killed; asked while none runs."""


class PracticeError(ResultsError):
    """A practice that cannot be reset; the message says why."""


def practice_of_task(data_dir: Path, task_name: str) -> str | None:
    """The qualification that the practice of a task grants, by its newest launch; None: it has no practice.

    Raises:
        ResultsError: there is no database, or no such task.
    """
    name = blueprint_of_newest(data_dir, task_name).get("onboarding_qualification")
    return str(name) if name else None


def fail_practice(worker: Any, qualification: str) -> None:
    """The worker has failed the practice that grants this qualification, and takes no further part."""
    grant(worker, qualification, 0)
    grant(worker, failed_qualification(qualification), 0)


def fail_who_was_cut_off(db: Any, task_name: str, qualification: str | None, failed: Collection[str]) -> None:
    """Write down the verdict of practices that were ``failed`` just when a launch was killed, before it could do so.

    Without it their workers would have all tries again. Whose qualifications were taken back since then may try again.

    Args:
        db: Mephisto's database, before a launch.
        task_name: of the launch.
        qualification: which the practice grants.
        failed: Mephisto's ids of the workers who have used up their tries, by what they answered.
    """
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
    """Let workers who failed the practice of a task try again, with all tries; a running launch lets them in at once.

    ``db``: Mephisto's database, with the providers of all crowds.

    Returns:
        The pseudonyms of those whom the crowd provider still holds disqualified.

    Raises:
        PracticeError: the task has no practice, or somebody has not failed it; then nothing was changed.
        ResultsError: there is no such task.
    """
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
        if not all(agreed):
            left.append(known.pseudonym)
    return left
