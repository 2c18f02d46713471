"""Why a worker cannot take part: in truth, for the log, and in kind words, for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mephisto_tasks.admission.eligibility import BLOCKED, DONE_ALL, DONE_ALL_ACROSS, Eligibility, Refusal
from mephisto_tasks.admission.wording import filled
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.logs import REFUSALS, RefusalLine
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from mephisto_tasks.storage.work import work_done
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

__all__ = [
    "ALL_DONE",
    "ALL_TAKEN",
    "BLOCKED",
    "BUSY",
    "DONE_ALL",
    "INTERRUPTED",
    "PAUSED",
    "PRACTICE_FAILED",
    "StudyDoor",
]

logger = logging.getLogger(__name__)

PAUSED = phrase("The researchers have paused this study. Please come back later, or return the task.")
PRACTICE_FAILED = phrase(
    "Thank you for trying the practice. This task needs a particular way of judging, and some of your practice answers "
    "differed from what we look for, so you cannot take part in this one. There is no penalty: please return the task."
)
ALL_TAKEN = phrase(
    "All {many} are being done by other people right now. If somebody leaves, one becomes free again: you may try "
    "later, or return the task."
)
INTERRUPTED = phrase("This study has a short technical break. Please try again in a few minutes, or return the task.")
ALL_DONE = phrase("All {many} of this study are done. Thank you for your interest! Please return the task.")
BUSY = phrase(
    "You have another page of this study open. Please go on there; this one can be closed. If you have closed the "
    "other one already, please try again in a few minutes."
)


GIVEN_ON = phrase(
    "While you were away, your {one} was given to somebody else, or it is not needed any more, and there is nothing "
    "else for you right now. What you did is saved, and it counts as your work. If it becomes free again, you can go "
    "on where you were: you may try later, or return the task."
)

WENT_ON = phrase(
    "While you were away, the study went on without you. What you did is saved, and it counts as your work. Thank you! "
    "Please return the task."
)

_PASSING = ("paused", "busy", "all_taken", "interrupted")
"""Kinds of refusals that may be over in a minute."""


class StudyDoor:
    """Who may take part, and why not. Thread-safe.

    Args:
        study: the launch.
        worker_of: Mephisto's worker of an id of Mephisto's.
        eligibility: the study's rules.
        most_units: complete units that Mephisto itself lets a worker do in the study; 0: any number.
    """

    busy = BUSY
    for_now = frozenset({"busy", "paused", "interrupted"})

    def __init__(
        self, study: Study, worker_of: Callable[[str], Any], eligibility: Eligibility, most_units: int = 0
    ) -> None:
        self.most_at_once = study.config.most_inside
        self.languages = study.languages
        self._study = study
        self._worker_of = worker_of
        self._eligibility = eligibility
        self._most_units = most_units
        self._pseudonyms = Pseudonymizer.load_or_create(eligibility.data_dir / PSEUDONYM_KEY)
        self._noted: set[tuple[str, str]] = set()

    def keeps_places(self, ahead: int = 0) -> bool:
        """Whether whoever comes now waits for a moment: all that is left is for raters who were cut off, or those ahead."""
        return self._study.keeps_places(ahead)

    def begins(self, worker_id: str, *, known_browser: bool) -> None:
        """A worker is about to be given a unit; what they left is shown to a browser of theirs alone."""
        (self._study.strangers.discard if known_browser else self._study.strangers.add)(worker_id)

    def goes_on(self, worker_id: str) -> bool:
        """Whether a worker has something that was cut off, and would go on with it now."""
        study = self._study
        going_on = worker_id in study.left and study.goes_on(worker_id)
        return going_on or (study.keeps_places() and study.standing(worker_id) == "open")

    def may_return(self, worker_id: str) -> bool:
        """Whether a worker who left comes in anew: to go on or to begin another one, or to hear who has theirs now."""
        return not self._study.paused and (worker_id in self._study.left or self._study.may_begin(worker_id))

    def against_rules(self, worker_id: str) -> Refusal | None:
        """Why the study's rules keep a worker out; None where they may take part. Asked before any practice."""
        worker = self._worker_of(worker_id)
        if groups := self._eligibility.rated_elsewhere(worker_id):
            self._study.bar_groups(worker_id, groups)
        return self._told(worker, self._by_rules(worker_id, worker))

    def why_not(self, worker_id: str) -> Refusal | None:
        """Why Mephisto turned a worker away; None where its own words are as good."""
        worker = self._worker_of(worker_id)
        return self._told(worker, self._refusal(worker_id, worker))

    def never_more(self, worker_id: str) -> Refusal | None:
        """Why a worker can do nothing more, whatever others do; None where that is not so."""
        worker = self._worker_of(worker_id)
        refusal = self._refusal(worker_id, worker)
        return None if refusal is None or refusal.kind in _PASSING else self._told(worker, refusal)

    def _refusal(self, worker_id: str, worker: Any) -> Refusal | None:
        study = self._study
        practice, blocking = study.config.onboarding_qualification, study.config.block_qualification
        if study.remaining == 0:
            return self._of_study("all_done", "everything is done", ALL_DONE)
        if study.paused:
            return self._of_study("paused", "the launch gives nothing out", PAUSED)
        if practice and worker.is_disqualified(practice):
            why = f"failed the practice {practice} (parlai-humaneval workers reset-practice lets them try again)"
            return self._of_study("practice_failed", why, PRACTICE_FAILED)
        if blocking and worker.is_qualified(blocking):
            why = f"blocked by {blocking} (parlai-humaneval workers show says why)"
            return self._of_study("blocked", why, BLOCKED)
        return self._by_rules(worker_id, worker) or self._by_standing(worker_id)

    def _by_rules(self, worker_id: str, worker: Any) -> Refusal | None:
        new = not (self._study.goes_on(worker_id) or self._study.standing(worker_id) == "busy")
        return self._eligibility.refusal(worker, self._pseudonym(worker), new_unit=new)

    def _by_standing(self, worker_id: str) -> Refusal | None:
        standing = self._study.standing(worker_id)
        if standing in ("done_all", "all_taken") and self._study.went_on_without(worker_id):
            return self._of_study("went_on", "was away for so long that the study went on without them", WENT_ON)
        if standing in ("done_all", "all_taken") and worker_id in self._study.left:
            return self._of_study("all_taken", "others have by now what was cut off", GIVEN_ON)
        match standing:
            case "busy":
                return self._of_study("busy", "has another page of the study open", BUSY)
            case "done_all" if self._eligibility.rated_elsewhere(worker_id):
                why = "has rated all that one worker may rate, here and in across_tasks (pair_once)"
                return self._of_study("done_all", why, DONE_ALL_ACROSS)
            case "done_all":
                return self._of_study("done_all", "has rated all that one worker may rate", DONE_ALL)
            case "all_taken" if self.keeps_places():
                return None  # they ask again until it is clear
            case "all_taken":
                return self._of_study("all_taken", "others do all that is left", ALL_TAKEN)
            case "interrupted":
                return self._of_study("interrupted", "the server of a model is gone", INTERRUPTED)
            case "open" if self._has_had_most(worker_id):
                return self._of_study("most_units", f"has done maximum_units_per_worker={self._most_units}", DONE_ALL)
            case "open":
                return None

    def _has_had_most(self, worker_id: str) -> bool:
        """Mephisto counts so and says nothing of it."""
        rules = self._eligibility
        if not self._most_units:
            return False
        work = work_done(rules.data_dir, rules.task_name, worker_id)
        return sum(one.outcome == "complete" for one in work) >= self._most_units

    def _of_study(self, kind: str, why: str, words: str) -> Refusal:
        return Refusal(kind, why, filled(words, self._study.unit_words))

    def _pseudonym(self, worker: Any) -> str:
        return self._pseudonyms.worker(str(worker.worker_name))

    def _told(self, worker: Any, refusal: Refusal | None) -> Refusal | None:
        """The refusal; the truth is logged, and written down once for each worker and reason."""
        if refusal is None:
            return None
        pseudonym = self._pseudonym(worker)
        logger.info("worker %s is turned away: %s", pseudonym, refusal.why)
        if (pseudonym, refusal.kind) not in self._noted:
            self._noted.add((pseudonym, refusal.kind))
            turned = RefusalLine(worker=pseudonym, kind=refusal.kind, why=refusal.why)
            REFUSALS.append(self._eligibility.data_dir, turned, task=self._eligibility.task_name)
        return refusal
