"""Why a worker cannot take part, in their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mephisto_tasks.engine.study import Study
from mephisto_tasks.engine.words import filled

PAUSED = "The researchers have paused this study. Please come back later, or return the task."
PRACTICE_FAILED = (
    "Thank you for trying the practice. This task needs a particular way of judging, and some of your practice answers "
    "differed from what we look for, so you cannot take part in this one. There is no penalty: please return the task."
)
DONE_ALL = "You have already taken part in this study as often as one person may. Thank you! Please return the task."
ALL_TAKEN = (
    "All {many} are being done by other people right now. If somebody leaves, one becomes free again: you may try "
    "later, or return the task."
)
INTERRUPTED = "This study has a short technical break. Please try again in a few minutes, or return the task."
ALL_DONE = "All {many} of this study are done. Thank you for your interest! Please return the task."
BLOCKED = "You cannot take part in this study. If you believe that this is a mistake, please write to the requester."
BUSY = (
    "You have another page of this study open. Please go on there; this one can be closed. If you have closed the other one "
    "already, please try again in a few minutes."
)


class StudyDoor:
    """Who may take part, and why not: in one sentence, or None where Mephisto's own reason is as good."""

    busy = BUSY
    for_now = frozenset({BUSY, PAUSED, INTERRUPTED})

    def __init__(self, study: Study, worker_of: Callable[[str], Any]) -> None:
        self._study = study
        self._worker_of = worker_of

    def may_return(self, worker_id: str) -> bool:
        """Whether a worker who left can be given another dialogue now."""
        return not self._study.paused and self._study.may_begin(worker_id)

    def why_not(self, worker_id: str) -> str | None:
        study, worker = self._study, self._worker_of(worker_id)
        practice, blocking = study.config.onboarding_qualification, study.config.block_qualification
        if study.remaining == 0:
            return filled(ALL_DONE, study.unit_words)
        if study.paused:
            return PAUSED
        if practice and worker.is_disqualified(practice):
            return PRACTICE_FAILED
        if blocking and worker.is_qualified(blocking):
            return BLOCKED
        match study.standing(worker_id):
            case "busy":
                return BUSY
            case "done_all":
                return DONE_ALL
            case "all_taken":
                return filled(ALL_TAKEN, study.unit_words)
            case "interrupted":
                return INTERRUPTED
            case "open":
                return None
