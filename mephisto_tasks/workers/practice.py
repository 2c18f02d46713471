"""Practices that were failed: what is noted of them, and letting workers try again."""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.blueprints.mixins.onboarding_required import OnboardingRequired
from mephisto.data_model.worker import Worker

from mephisto_tasks.crowds.database import opened
from mephisto_tasks.storage.logs import NOTES, Note, practice_resets
from mephisto_tasks.storage.results import ResultsError, blueprint_of_newest, database_file, query
from mephisto_tasks.workers.qualifications import grant, revoke
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


def fail_practice(worker: Worker, qualification: str) -> None:
    """The worker has failed the practice that grants this qualification, and takes no further part."""
    grant(worker, qualification, 0)
    grant(worker, OnboardingRequired.get_failed_qual(qualification), 0)


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
        worker = Worker.get(db, str(worker_id))
        if str(worker_id) in failed and worker.get_granted_qualification(qualification) is None:
            logger.info("a practice was failed just when an earlier launch was killed; its verdict holds now")
            fail_practice(worker, qualification)


def resets_by_id(data_dir: Path, qualification: str | None) -> dict[str, float]:
    """Mephisto's worker id → when they were last allowed to begin the practice of this qualification anew."""
    resets = practice_resets(data_dir, qualification) if qualification else {}
    workers = known_workers(data_dir) if resets else {}
    return {workers[name].worker_id: at for name, at in resets.items() if name in workers}


def reset_practice(data_dir: Path, task_name: str, workers: Collection[KnownWorker], why: str = "") -> list[str]:
    """Let workers who failed the practice of a task try again, with all tries; a launch that runs lets them in at once.

    Returns:
        The pseudonyms of those whom the crowd provider still holds disqualified.

    Raises:
        PracticeError: the task has no practice, or somebody has not failed it; then nothing was changed.
        ResultsError: there is no database, or no such task.
    """
    qualification = practice_of_task(data_dir, task_name)
    if qualification is None:
        raise PracticeError(f"task {task_name!r} has no practice")
    failed_name = OnboardingRequired.get_failed_qual(qualification)
    with opened(database_file(data_dir)) as db:
        found = [(known, Worker.get(db, known.worker_id)) for known in workers]
        fine = [known.pseudonym for known, worker in found if not _has_failed(worker, qualification, failed_name)]
        if fine:
            raise PracticeError(f"{', '.join(fine)}: did not fail the practice of task {task_name!r}")
        left = []
        for known, worker in found:
            # Written first: what comes before it does not count, even if this ends here.
            NOTES.append(
                data_dir,
                Note(
                    event="practice_reset", worker=known.pseudonym, text=why or task_name, qualification=qualification
                ),
            )
            agreed = [revoke(worker, name) for name in (qualification, failed_name)]
            if not all(agreed):
                left.append(known.pseudonym)
        return left


def _has_failed(worker: Any, qualification: str, failed_name: str) -> bool:
    return bool(worker.is_disqualified(qualification)) or worker.get_granted_qualification(failed_name) is not None
