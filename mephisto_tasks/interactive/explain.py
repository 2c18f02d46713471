"""Why a worker cannot take part, in their words."""

from __future__ import annotations

from typing import Any

from mephisto_tasks.interactive.study import Study

PAUSED = "The researchers have paused this study. Please come back later, or return the task."
PRACTICE_FAILED = (
    "Thank you for trying the practice. This task needs a particular eye for replies, and some of your practice answers "
    "differed from what we look for, so you cannot take part in this one. There is no penalty: please return the task."
)
DONE_ALL = (
    "You have already done every conversation that one person may do in this study. Thank you! Please return the task."
)
ALL_TAKEN = (
    "All conversations are being done by other people right now. If somebody leaves, one becomes free again: you may try "
    "later, or return the task."
)
ALL_DONE = "All conversations of this study are done. Thank you for your interest! Please return the task."
BLOCKED = "You cannot take part in this study. If you believe that this is a mistake, please write to the requester."
BUSY = "You have another conversation of this study open. Please finish it first; this page can be closed."


class Explainer:
    """Turns what the study knows of a worker into one sentence (None: no better reason than Mephisto's)."""

    def __init__(self, study: Study, onboarding_qualification: str | None) -> None:
        self._study = study
        self._qualification = onboarding_qualification

    def __call__(self, worker: Any) -> str | None:
        study = self._study
        if study.closing.is_set():
            return PAUSED
        if self._qualification and worker.is_disqualified(self._qualification):
            return PRACTICE_FAILED
        blocking = study.config.block_qualification
        if blocking and worker.is_qualified(blocking):
            return BLOCKED
        if study.allocator.has_done_all(worker.db_id):
            return BUSY if study.allocator.is_busy(worker.db_id) else DONE_ALL
        if study.allocator.remaining == 0:
            return ALL_DONE
        if not study.allocator.available(worker.db_id):
            return ALL_TAKEN
        return BUSY if study.allocator.is_busy(worker.db_id) else None
