"""Who comes from Prolific: ids of an address are compared with what it says of the submission. Nobody is let in blind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mephisto_tasks.admission.visits import Arrival, OnlyLooks, Outcome, Parameters, TurnedAway, instead_of_returning
from mephisto_tasks.crowds.base import NotYetKnown
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.link.reception import DECLINED, RETURNED_ALREADY, Reception
from mephisto_tasks.crowds.panels.panel import PanelDoor
from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.client import Prolific
from mephisto_tasks.crowds.prolific.drafts import COMPLETE, NO_CONSENT, SCREENED_OUT, TURNED_AWAY
from mephisto_tasks.crowds.prolific.endings import Endings
from mephisto_tasks.crowds.prolific.errors import ProlificError
from mephisto_tasks.crowds.prolific.signed import SIGNATURE, SignedLinks
from mephisto_tasks.crowds.prolific.store import PROVIDER
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.schema.steps import Redirect

FRESH_S = 5.0
"""How long an answer of Prolific's counts."""
MOST_KEPT = 5000
ROOM_S = 20.0
"""How long who comes for a place that was just given back waits for its unit."""
PREVIEW = phrase(
    "This is a preview for researchers: the link works, and nobody can start here. If you take part in the study, please "
    "open it again from its page on Prolific."
)
RETURN_THERE = phrase("return your submission on {site}")
PLEASE_RETURN = phrase("Please return your submission on {site}.")
DECLINED_THERE = (
    DECLINED[0],
    phrase(
        "That is all right: nothing about you was stored here. Please return your submission on Prolific. Thank you for "
        "your time!"
    ),
)
NOT_YOURS = phrase(
    "This link does not belong to your participation on Prolific. Please open the study from its page on Prolific."
)
OVER = phrase(
    "Your participation has ended on Prolific: you have returned it, or its time ran out. If you believe that this is a "
    "mistake, please write to the researchers from Prolific."
)


@dataclass
class Arrivals:
    """Asks Prolific about each arrival. Thread-safe.

    Args:
        client: that does not wait for long.
        studies: ids of the task's studies.
        visits: of the provider. Who was let in once goes on while Prolific is out of reach.
        task_name: whose.
        signed: checks the signature of links; None: they have none.
        has_room: whether newcomers can be told what there is for them; else they wait for a little while.
    """

    client: Prolific
    studies: Callable[[], Sequence[str]]
    visits: LinkDatastore
    task_name: str
    signed: SignedLinks | None = None
    has_room: Callable[[], bool] = lambda: True
    _came: dict[str, float] = field(default_factory=dict)
    _said: dict[str, tuple[float, Mapping[str, Any] | None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, arrival: Arrival, parameters: Parameters) -> None:
        """Raises TurnedAway: they do not come from the study; NotYetKnown: Prolific cannot be asked now."""
        known = self.visits.of_session(self.task_name, arrival.door, arrival.session)
        was_here = known is not None and known.worker_name == arrival.worker_name
        if self.signed is not None and not was_here:
            self.signed.check(str(parameters.get(SIGNATURE, "")), arrival.session)
        try:
            said = self._ask(arrival.session)
        except ProlificError as error:
            if was_here:
                return
            raise NotYetKnown from error
        if said is None:
            raise OnlyLooks(PREVIEW)
        participant = str(said.get("participant") or said.get("participant_id") or "")
        study = str(said.get("study_id") or said.get("study") or "")
        if (
            f"{arrival.door}:{participant}" != arrival.worker_name
            or study != arrival.study
            or study not in self.studies()
        ):
            raise TurnedAway(NOT_YOURS)
        if not was_here and statuses.plain(said.get("status")) not in (statuses.RESERVED, statuses.ACTIVE):
            raise TurnedAway(OVER, RETURNED_ALREADY[0])
        came = self._came.setdefault(arrival.session, time.monotonic())
        if not was_here and time.monotonic() - came < ROOM_S and not self.has_room():
            raise NotYetKnown

    def _ask(self, session: str) -> Mapping[str, Any] | None:
        """What Prolific says of a submission; None: it has none. Raises ProlificError."""
        with self._lock:
            kept = self._said.get(session)
        if kept is not None and time.monotonic() - kept[0] < FRESH_S:
            return kept[1]
        said: Mapping[str, Any] | None = None
        try:
            said = self.client.get(f"submissions/{session}/")
        except ProlificError as error:
            if error.may_pass or error.status not in (400, 404):
                raise
        with self._lock:
            if len(self._said) >= MOST_KEPT:
                self._said.clear()
            self._said[session] = (time.monotonic(), said)
        return said


@dataclass(frozen=True)
class ProlificDoor(PanelDoor):
    """The panel's door, whose arrivals Prolific confirms, and whose endings our server says there.

    ``arrivals`` and ``endings``: of a launch; without them nobody is asked.
    """

    arrivals: Arrivals | None = None
    endings: Endings | None = None
    practised: Callable[[str], bool] = lambda worker_name: False
    """Whether a worker did the practice in this visit, and nothing else."""

    def arrival(self, parameters: Parameters) -> Arrival | None:
        arrival = super().arrival(parameters)
        if arrival is not None and self.arrivals is not None:
            self.arrivals.check(arrival, parameters)
        return arrival

    @property
    def may_decline(self) -> bool:
        return True

    def exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        """Back to Prolific. Who was away, or gave the task back, is there already, and may come again."""
        match outcome:
            case "complete":
                kind = COMPLETE
            case "no_consent":
                kind = NO_CONSENT
            case "screened_out":
                kind = SCREENED_OUT if self.practised(arrival.worker_name) else TURNED_AWAY
            case _:
                return None
        if self.endings is None or not arrival.session:
            return None
        return Redirect(site=self.panel.title, url=self.endings.end(arrival.session, arrival.study, kind))


class ProlificReception(Reception):
    """Receives visitors, and notes at once what was done: a finished dialogue must not time out on Prolific."""

    declined = DECLINED_THERE

    def __init__(self, store: LinkDatastore, door: ProlificDoor, task_name: str) -> None:
        super().__init__(store, [door], task_name, PROVIDER)
        self._ends = door.endings

    def work_done(self, agent_id: str) -> None:
        super().work_done(agent_id)
        visit = self._store.of_agent(agent_id)
        if visit is not None and visit.session and self._ends is not None:
            self._ends.promise(visit.session, visit.study)

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """Whom Prolific asks to return their submission, we ask as well: else it waits until its time is over."""
        visit = self._store.newest_of(self._task_name, worker_name)
        if redirect is None or visit is None or self._ends is None or not self._ends.asks_to_return(visit.session):
            return super().for_them(worker_name, text, redirect)
        said = instead_of_returning(text, t(RETURN_THERE, site=redirect.site))
        return said if said != text else f"{text} {t(PLEASE_RETURN, site=redirect.site)}"

    def screened_out(self, worker_name: str) -> Redirect | None:
        """Who was away and finds nothing any more is sent back as well: no unit is kept for them."""
        return self.exit(worker_name, "screened_out")
