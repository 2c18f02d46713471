"""One page a worker, and only so many workers at once: whoever is too many waits outside, and is counted once."""

from __future__ import annotations

import random
import time
from collections import OrderedDict

from mephisto_tasks.admission.refusal import PageRule, Refusal, StudyState, Visitor
from mephisto_tasks.control.presence import Presence
from parlai_humaneval.i18n.translate import phrase

SOONEST_AGAIN_S = 5.0
LATEST_AGAIN_S = 20.0
A_SECOND = 10
"""So many pages that wait may ask again in one second, all together."""
MOST_REMEMBERED = 10_000
"""So many of those who wait are known again; of more, some are counted twice."""
KEPT_S = 30.0
"""A place is kept so long for a worker who resumes a unit: their page asks again sooner, if it is still open."""

FULL_TITLE = phrase("The study is full just now")
FULL = phrase(
    "As many people are taking part as can at once. You need not do anything: this page tries again by itself, and goes in "
    "as soon as there is a place. If you have begun before, all that you did is kept."
)
BUSY = phrase(
    "You have another page of this study open. Please go on there; this one can be closed. If you have closed the "
    "other one already, please try again in a few minutes."
)


class OnePageRule(PageRule):
    """One page of a worker at a time may register or practise: a second one would be a second set of tries."""

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if visitor.at_work or not visitor.pages.has_another(visitor.worker_name):
            return None
        return Refusal("busy", "has another page of the study open", BUSY, passes=True, outcome=None)


class CapacityRule(PageRule):
    """Only so many are inside at once; whoever is too many costs next to nothing outside.

    The first free places are for workers who resume what was cut off.
    """

    def __init__(self, study: StudyState, presence: Presence) -> None:
        self.study, self._presence = study, presence
        self._since: OrderedDict[str, float] = OrderedDict()
        """When those who wait last asked."""
        self._resuming: dict[str, float] = {}
        """The same of those among them who resume a unit."""

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if visitor.at_work:
            return None
        inside, ahead = visitor.pages.count_inside()
        most, are_kept = self.study.config.most_inside, self.study.keeps_places(ahead)
        if inside + self._places_kept(visitor.known_as) < most and not are_kept:
            return None
        if self._resumes(visitor):
            if inside < most:
                return None
            self._resuming[visitor.known_as] = time.monotonic()
        self._note_waiting(visitor.known_as)
        return Refusal(
            "full",
            f"{inside} are inside",
            FULL,
            title=FULL_TITLE,
            passes=True,
            try_again_s=self._try_again_s(),
            turns_away=False,
        )

    def enter(self, visitor: Visitor) -> None:
        """The visitor waits no more: no rule has anything against them."""
        self._resuming.pop(visitor.known_as, None)
        has_waited = self._since.pop(visitor.known_as, None) is not None
        if not visitor.at_work and not has_waited:
            self._presence.came()

    def _note_waiting(self, who: str) -> None:
        if who not in self._since:
            self._presence.came()
            self._presence.waits()
        self._since[who] = time.monotonic()
        self._since.move_to_end(who)
        if len(self._since) > MOST_REMEMBERED:
            self._since.popitem(last=False)

    def _places_kept(self, who: str) -> int:
        """For workers who resume a unit and asked not long ago, other than ``who``."""
        oldest = time.monotonic() - KEPT_S
        return sum(other != who and at > oldest for other, at in list(self._resuming.items()))

    def _resumes(self, visitor: Visitor) -> bool:
        study = self.study
        return any(
            (worker.db_id in study.left and study.goes_on(worker.db_id))
            or (study.keeps_places() and study.availability(worker.db_id) == "open")
            for worker in visitor.pages.find_workers(visitor.worker_name)
        )

    def _try_again_s(self) -> float:
        """Not all at once, and the less often the more wait."""
        newest = time.monotonic() - LATEST_AGAIN_S
        waiting = sum(1 for at in list(self._since.values()) if at > newest)
        return round(min(LATEST_AGAIN_S, max(SOONEST_AGAIN_S, waiting / A_SECOND)) * random.uniform(0.8, 1.2), 1)
