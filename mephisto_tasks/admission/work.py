"""What the study itself has to say to a worker for whom there is nothing: practice failed, paused, all done, all taken."""

from __future__ import annotations

from typing import Any, ClassVar

from mephisto_tasks.admission.capacity import BUSY
from mephisto_tasks.admission.eligibility import DONE_ALL, DONE_ALL_ACROSS, Eligibility
from mephisto_tasks.admission.refusal import Refusal, Rule, Stage, StudyState, Visitor
from mephisto_tasks.admission.wording import filled
from mephisto_tasks.storage.work import work_done
from parlai_humaneval.i18n.translate import phrase

PAUSED = phrase("The researchers have paused this study. Please come back later, or return the task.")
PRACTICE_FAILED = phrase(
    "Thank you for trying the practice. This task needs a particular way of judging, and some of your practice answers "
    "differed from what we look for, so you cannot take part in this one. There is no penalty: please return the task."
)
PRACTICE_FAILED_PAID = phrase(
    "Thank you for trying the practice. This task needs a particular way of judging, and some of your practice answers "
    "differed from what we look for, so you cannot take part in this one. There is no penalty, and you are paid for the "
    "practice: please return the task."
)
ALL_TAKEN = phrase(
    "All {many} are being done by other people right now. If somebody leaves, one becomes free again: you may try "
    "later, or return the task."
)
INTERRUPTED = phrase("This study has a short technical break. Please try again in a few minutes, or return the task.")
ALL_DONE = phrase("All {many} of this study are done. Thank you for your interest! Please return the task.")
GIVEN_ON = phrase(
    "While you were away, your {one} was given to somebody else, or it is not needed any more, and there is nothing "
    "else for you right now. What you did is saved, and it counts as your work. If it becomes free again, you can go "
    "on where you were: you may try later, or return the task."
)

WENT_ON = phrase(
    "While you were away, the study went on without you. What you did is saved, and it counts as your work. Thank you! "
    "Please return the task."
)


class PracticeRule(Rule):
    """Turns away workers who have failed the practice."""

    def __init__(self, study: StudyState) -> None:
        self._study = study

    def refusal(self, visitor: Visitor) -> Refusal | None:
        practice = self._study.config.onboarding_qualification
        if not practice or not visitor.worker.is_disqualified(practice):
            return None
        why = f"failed the practice {practice} (parlai-humaneval workers reset-practice lets them try again)"
        is_paid = self._study.config.payment.practice > 0
        return Refusal("practice_failed", why, PRACTICE_FAILED_PAID if is_paid else PRACTICE_FAILED)


class WorkRule(Rule):
    """Says why there is nothing to do for a worker now, where there is a better reason than Mephisto's.

    Args:
        study: the launch.
        eligibility: the study's rules.
        most_units: complete units that Mephisto itself lets a worker do in the study; 0: any number.
    """

    stages: ClassVar[tuple[Stage, ...]] = ("looks", "unserved")

    def __init__(self, study: StudyState, eligibility: Eligibility, most_units: int = 0) -> None:
        self._study, self._eligibility, self._most_units = study, eligibility, most_units

    def refusal(self, visitor: Visitor) -> Refusal | None:
        study, worker = self._study, str(visitor.worker.db_id)
        if study.remaining == 0:
            return self._refusal("all_done", "everything is done", ALL_DONE)
        if study.paused:
            return self._refusal("paused", "the launch gives nothing out", PAUSED, passes=True, outcome=None)
        standing = study.availability(worker)
        if standing in ("done_all", "all_taken") and study.went_on_without(worker):
            return self._refusal("went_on", "was away for so long that the study went on without them", WENT_ON)
        if standing in ("done_all", "all_taken") and worker in study.left:
            return self._refusal("all_taken", "others have by now what was cut off", GIVEN_ON, passes=True)
        match standing:
            case "busy":
                return self._refusal("busy", "has another page of the study open", BUSY, passes=True, outcome=None)
            case "done_all" if self._eligibility.rated_elsewhere(worker):
                why = "has rated all that one worker may rate, here and in across_tasks (pair_once)"
                return self._refusal("done_all", why, DONE_ALL_ACROSS)
            case "done_all":
                return self._refusal("done_all", "has rated all that one worker may rate", DONE_ALL)
            case "all_taken" if not study.keeps_places():  # if it does, they ask again until it is clear
                return self._refusal("all_taken", "others do all that is left", ALL_TAKEN, passes=True)
            case "interrupted":
                why = "the server of a model is gone"
                return self._refusal("interrupted", why, INTERRUPTED, passes=True, outcome=None)
            case "open" if self._has_had_most(worker):
                return self._refusal("most_units", f"has done maximum_units_per_worker={self._most_units}", DONE_ALL)
        return None

    def _has_had_most(self, worker_id: str) -> bool:
        """Mephisto counts so and says nothing of it."""
        if not self._most_units:
            return False
        work = work_done(self._eligibility.data_dir, self._eligibility.task_name, worker_id)
        return sum(unit.outcome == "complete" for unit in work) >= self._most_units

    def _refusal(self, kind: str, why: str, words: str, **how: Any) -> Refusal:
        return Refusal(kind, why, filled(words, self._study.unit_words), **how)
