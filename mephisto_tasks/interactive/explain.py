"""Why a worker cannot take part, in their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mephisto_tasks.interactive.study import Study

PAUSED = "The researchers have paused this study. Please come back later, or return the task."
PRACTICE_FAILED = (
    "Thank you for trying the practice. This task needs a particular way of judging, and some of your practice answers "
    "differed from what we look for, so you cannot take part in this one. There is no penalty: please return the task."
)
DONE_ALL = "You have already taken part in this study as often as one person may. Thank you! Please return the task."
ALL_TAKEN = (
    "All conversations are being done by other people right now. If somebody leaves, one becomes free again: you may try "
    "later, or return the task."
)
ALL_DONE = "All conversations of this study are done. Thank you for your interest! Please return the task."
BLOCKED = "You cannot take part in this study. If you believe that this is a mistake, please write to the requester."
BUSY = (
    "You have another page of this study open. Please go on there; this one can be closed. If you have closed the other one "
    "already, please try again in a few minutes."
)


class StudyDoor:
    """Who may take part, and why not: in one sentence, or None where Mephisto's own reason is as good."""

    busy = BUSY

    def __init__(self, study: Study, worker_of: Callable[[str], Any]) -> None:
        self._study = study
        self._worker_of = worker_of

    def may_return(self, worker_id: str) -> bool:
        """Whether a worker who left can be given another dialogue now."""
        return not self._study.paused and self._study.may_begin(worker_id)

    def why_not(self, worker_id: str) -> str | None:
        study, worker = self._study, self._worker_of(worker_id)
        practice, blocking = study.config.onboarding_qualification, study.config.block_qualification
        if study.allocator.remaining == 0:
            return ALL_DONE
        if study.paused:
            return PAUSED
        if practice and worker.is_disqualified(practice):
            return PRACTICE_FAILED
        if blocking and worker.is_qualified(blocking):
            return BLOCKED
        if worker_id in study.unfinished and not study.allocator.is_busy(worker_id):
            return None
        if study.allocator.has_done_all(worker_id):
            return BUSY if study.allocator.is_busy(worker_id) else DONE_ALL
        if study.allocator.is_busy(worker_id):
            return BUSY
        return None if study.allocator.available(worker_id) else ALL_TAKEN
