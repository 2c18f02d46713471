"""A study on Prolific while it runs: places follow the remaining work, pauses pause it, and returns free units.

Places there can only grow: those alone are open that somebody can take now; none that was given back is asked for twice."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.data_model.constants.assignment_state import AssignmentState

from mephisto_tasks.admission.visits import Visit
from mephisto_tasks.crowds.crowd import CrowdError, LaunchControl
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.arrivals import Endings
from mephisto_tasks.crowds.prolific.client import Prolific, ProlificError, asking
from mephisto_tasks.crowds.prolific.groups import Lists
from mephisto_tasks.crowds.prolific.store import OurStudy, ProlificStore, screen_out_of, with_slots
from parlai_humaneval.statistics.core.formatting import counted

logger = logging.getLogger(__name__)

POLL_S = 10.0
NOTICED_S = 0.5  # how soon a pause or its end is noticed; the site is asked at once then
LINK_AGAIN_S = 60.0  # how often our own link is asked whether it answers
ALL_S = 120.0  # how often submissions are listed though their counts stay the same
PUBLISHED_S, PUBLISHED_POLL_S = 60.0, 1.0
"""How long a study may be in publishing before it can be paused, and how often that is looked at."""
IN_BETWEEN = (statuses.PUBLISHING, "PROCESSING")
SURE_AFTER = 2  # readings in a row that must say that a submission is over, before its unit is somebody else's
AT_WORK = (statuses.RESERVED, statuses.ACTIVE)
GONE = (statuses.RETURNED, statuses.TIMED_OUT)
DONE_WITH = ("complete", "timed_out", "moved")
"""Visits whose place on Prolific needs no unit any more. The place of a rejected participant counts until Prolific has
been told: after a screen-out the place is free, otherwise it stays taken."""
PAUSED_THERE = "The study was paused or stopped on Prolific itself. Start it again there, or launch again"

AGREED_USED_UP = (
    "The study needs more places than the %d that you agreed to. People who were asked to return their submissions "
    "still hold some places. Prolific pays for submissions that are not returned within 21 days. Remind these people on "
    "Prolific, or launch again and agree to more places"
)


@dataclass(frozen=True)
class Places:
    """Places of a study, those taken, and people who could begin now (``wanted``); ``let_in`` at once; ``reward``: cents."""

    status: str
    total: int
    taken: int
    let_in: int | None
    reward: int
    wanted: int = 0

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Places:
        """As Prolific answers, and nobody wanted."""
        total, taken = int(said["total_available_places"]), int(said.get("places_taken") or 0)
        let_in = (said.get("submissions_config") or {}).get("max_concurrent_submissions")
        return cls(statuses.plain(said["status"]), total, taken, let_in, int(said["reward"]))


def study_places(client: Prolific, study_id: str) -> Places:
    """As Prolific has it. Raises ProlificError."""
    with asking("look at the study"):
        return Places.of(client.get(f"studies/{study_id}/"))


def find_places(client: Prolific, study_id: str) -> Places | None:
    """The same; None: the study was deleted there."""
    with asking("look at the study"):
        said = client.find(f"studies/{study_id}/")
        return None if said is None else Places.of(said)


def transition(client: Prolific, study_id: str, action: str, reached: Collection[str]) -> str:
    """Change a study's state; its state afterwards. Raises ProlificError. One that Prolific is publishing is waited for."""
    status, until = study_places(client, study_id).status, time.monotonic() + PUBLISHED_S
    while status in IN_BETWEEN and action != "PUBLISH" and time.monotonic() < until:
        time.sleep(PUBLISHED_POLL_S)
        status = study_places(client, study_id).status
    if status in reached:
        return status
    with asking(f"{action.lower()} the study"):
        try:
            said = client.post(f"studies/{study_id}/transition/", {"action": action}, repeat=True)
            status = statuses.plain(said.get("status") if isinstance(said, dict) else "")
        except ProlificError:
            status = study_places(client, study_id).status
            if status not in reached:
                raise
    return status


@dataclass
class StudyFollower:
    """Looks every :data:`POLL_S` how the study stands, in a thread of its own, and makes it fit."""

    _client: Prolific
    _study: OurStudy
    _control: LaunchControl
    _visits: LinkDatastore
    _endings: Endings
    _lists: Lists | None  # blocked participants; None: nobody is
    no_answer: Callable[[], str] = str  # why our own link does not answer; empty: it does
    most_inside: int = 1  # people at once
    most_open: int = 0  # places that nobody has taken, at most; 0: any number
    was_paused: bool = False  # a launch of ours has paused the study, so that this one may go on

    def __post_init__(self) -> None:
        self._stopped, self._nudged = threading.Event(), threading.Event()
        self.nudge = self._nudged.set
        self._counts: Mapping[str, Any] = {}
        self._listed_at, self._link_asked_at = float("-inf"), time.monotonic()
        self._unanswered = 0  # how many times in a row our own link has not answered
        self._statuses: dict[str, str] = {}
        self._over: Counter[str] = Counter()  # how many readings in a row have said that a submission is over
        self._said_paused = self._said_used_up = False
        self._taken_before: int | None = None  # places that were taken before this launch, and that others agreed to
        self._thread = threading.Thread(target=self._follow, name="study-follower", daemon=True)

    def start(self) -> None:
        """Publishes what is to be published. Raises CrowdError: Prolific refused that."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def _follow(self) -> None:
        looked_at, paused = time.monotonic(), self._control.paused
        while not self._stopped.wait(min(NOTICED_S, POLL_S)):
            changed = paused != self._control.paused or self._nudged.is_set() or self._is_unsure
            if not changed and time.monotonic() - looked_at < POLL_S:
                continue
            paused = self._control.paused
            self._nudged.clear()
            try:
                self.look()
            except CrowdError as error:
                logger.warning("%s; asked again in %g s", error, POLL_S)
            except Exception:  # one odd answer must not end the watch over the study
                logger.exception("the state of the study could not be read")
            looked_at = time.monotonic()

    def look(self) -> None:
        """One round. Raises CrowdError."""
        self._endings.flush()
        if time.monotonic() - self._link_asked_at >= LINK_AGAIN_S:
            # While the page does not answer, raters would come in vain, so the study is paused.
            self._link_asked_at = time.monotonic()
            why = self.no_answer()
            self._unanswered = self._unanswered + 1 if why else 0
            if self._unanswered == SURE_AFTER:
                words = "the page does not answer at %s (%s): the study is paused until it does"
                logger.warning(words, self._control.url, why)
        before = study_places(self._client, self._study.study_id)
        if self._taken_before is None:
            self._taken_before = before.taken
        self._read_submissions()
        visits = {visit.session: visit for visit in self._visits.of_task(self._study.task_name) if visit.session}
        self._note(visits)
        now = study_places(self._client, self._study.study_id)
        # Do not replace participants who came or returned while submissions were listed: places cannot be taken back.
        self._fit(replace(now, taken=min(before.taken, now.taken), wanted=self._wanted(visits)))
        if self._lists is not None:
            self._lists.follow()

    @property
    def _is_unsure(self) -> bool:
        """Whether somebody was said to be gone, and it is to be read once more."""
        return any(0 < rounds < SURE_AFTER for rounds in self._over.values())

    def has_room(self) -> bool:
        """Whether a unit is free for somebody who comes now, perhaps of somebody who has just returned."""
        launcher = self._control.live_run.task_launcher
        free = any(unit.db_status == AssignmentState.LAUNCHED for unit in list(launcher.units))
        if free or self._control.paused or not self._control.remaining:
            return True
        self.nudge()
        return False

    def _read_submissions(self) -> None:
        path = f"studies/{self._study.study_id}/submissions/counts/"
        with asking("count the submissions"):
            counts = self._client.get(path)
        # Check once more whether raters who seem gone really are.
        if counts == self._counts and not self._is_unsure and time.monotonic() - self._listed_at < ALL_S:
            return
        with asking("list the submissions"):
            listed = self._client.pages("submissions/", study=self._study.study_id, ordering="started_at")
            self._statuses = {str(one["id"]): statuses.plain(one.get("status")) for one in listed}
        self._counts, self._listed_at = counts, time.monotonic()
        gone = {session for session, status in self._statuses.items() if status in GONE}
        self._over = Counter({session: self._over[session] + 1 for session in gone})

    def _note(self, visits: Mapping[str, Visit]) -> None:
        """What Prolific says is noted; units of those who are gone become free, and whole work stays."""
        said = {visits[session]: status for session, status in self._statuses.items() if session in visits}
        changed = {visit.visit_id: status for visit, status in said.items() if status != visit.panel_status}
        self._visits.note_panel_status(changed)
        for session, rounds in self._over.items():
            visit = visits.get(session)
            if visit is not None and rounds >= SURE_AFTER and visit.status in ("here", "timed_out"):
                logger.info("a submission is %s on Prolific: its unit is free again", self._statuses[session])
                self._visits.end(visit, "returned")
                for agent in list(self._control.live_run.worker_pool.onboarding_agents.values()):
                    if agent.get_worker().worker_name == visit.worker_name and agent.get_status() == "onboarding":
                        agent.update_status("disconnect")
            elif visit is not None and rounds >= SURE_AFTER and visit.status == "complete":
                # Raters who left after the work, but before they pressed Finish, do not keep the launch waiting.
                running = list(self._control.live_run.task_runner.running_units.values())
                for agent in (each.agent for each in running if str(each.agent.db_id) == visit.agent_id):
                    if agent.get_status() == AgentState.STATUS_IN_TASK:
                        agent.update_status(AgentState.STATUS_RETURNED)

    def _wanted(self, visits: Mapping[str, Visit]) -> int:
        """How many people more could begin a unit now, besides those who are on their way."""
        if self._control.paused or self._unanswered >= SURE_AFTER:
            return 0
        launcher, runner = self._control.live_run.task_launcher, self._control.live_run.task_runner
        working = {str(running.agent.db_id) for running in list(runner.running_units.values())}
        held = {visit.session for visit in visits.values() if visit.status == "here" and visit.agent_id in working}
        coming = {
            session
            for session, status in self._statuses.items()
            if status in AT_WORK and (session not in visits or visits[session].status not in DONE_WITH)
        } - held
        free = sum(unit.db_status == AssignmentState.LAUNCHED for unit in list(launcher.units))
        wanted = min(self._control.remaining - len(held), free) - len(coming)
        return int(max(0, min(wanted, self.most_open or wanted)))

    # -- what Prolific shows ---------------------------------------------------------------------

    def _fit(self, now: Places) -> None:
        payable = self._control.live_run.task_launcher.payable
        if payable is not None and self._taken_before is not None:
            # Open no more places than were agreed to: participants asked to return who have not are paid after 21 days.
            wanted = max(0, min(now.wanted, max(now.total, self._taken_before + payable) - now.taken))
            if wanted < now.wanted and not self._said_used_up:
                logger.warning(AGREED_USED_UP, payable)
            self._said_used_up = wanted < now.wanted
            now = replace(now, wanted=wanted)
        lacking = now.taken + now.wanted - now.total
        match now.status:
            case statuses.UNPUBLISHED:
                if now.wanted:
                    self._open(now.wanted)
                    transition(self._client, self._study.study_id, "PUBLISH", (statuses.ACTIVE, statuses.PUBLISHING))
            case statuses.ACTIVE if not now.wanted:
                self.was_paused = True
                transition(self._client, self._study.study_id, "PAUSE", (statuses.PAUSED, statuses.AWAITING_REVIEW))
            case statuses.PAUSED | statuses.COMPLETED if now.wanted and not self._may_start(now):
                if not self._said_paused:
                    logger.warning(PAUSED_THERE)
                self._said_paused = True
            case statuses.ACTIVE | statuses.PAUSED | statuses.AWAITING_REVIEW | statuses.COMPLETED if now.wanted:
                if lacking > 0:
                    self._open(now.taken + now.wanted)
                # Let no more people in than could begin, where more places are free: places cannot be taken back
                inside = sum(status in AT_WORK for status in self._statuses.values())
                most = self.most_inside if lacking >= 0 else min(self.most_inside, inside + now.wanted)
                if most != now.let_in:
                    with asking("change how many people may be inside at once"):
                        limits = {"max_submissions_per_participant": 1, "max_concurrent_submissions": most}
                        self._client.patch(f"studies/{self._study.study_id}/", {"submissions_config": limits})
                if now.status == statuses.PAUSED:
                    self._start()

    def _start(self) -> None:
        reached = (statuses.ACTIVE, statuses.AWAITING_REVIEW)
        try:
            transition(self._client, self._study.study_id, "START", reached)
        except ProlificError:
            pays = screen_out_of(self._study)
            if pays is None or not self._screen_outs_used_up:
                raise
            # Prolific wants another slot before it goes on. Nobody is paid by it: we count those that were agreed to.
            codes = with_slots(self._study, pays[1] + 1)
            self._client.patch(f"studies/{self._study.study_id}/", {"completion_codes": codes})
            transition(self._client, self._study.study_id, "START", reached)
        self.was_paused = self._said_paused = False

    def _open(self, total: int) -> None:
        with asking(f"open {counted(total, 'place')}"):
            self._client.patch(f"studies/{self._study.study_id}/", {"total_available_places": total})

    def _may_start(self, now: Places) -> bool:
        """Whether a pause was ours, or is that of the last screen-out payment; a person's is theirs to end."""
        if now.status == statuses.COMPLETED:
            return now.total <= now.taken
        return self.was_paused or self._screen_outs_used_up

    @property
    def _screen_outs_used_up(self) -> bool:
        pays = screen_out_of(self._study)
        used = sum(status == statuses.SCREENED_OUT for status in self._statuses.values())
        return pays is not None and used >= pays[1]

    def close(self) -> str:
        """The launch ends: nobody new comes in, and those inside may finish. Its state. Raises CrowdError."""
        places = study_places(self._client, self._study.study_id)
        if places.status == statuses.AWAITING_REVIEW and self._control.remaining:
            return places.status  # full: nobody new can come
        if places.status not in (statuses.ACTIVE, statuses.PAUSED, statuses.AWAITING_REVIEW, *IN_BETWEEN):
            return places.status
        if self._control.remaining:
            return transition(self._client, self._study.study_id, "PAUSE", (statuses.PAUSED,))
        try:
            return transition(self._client, self._study.study_id, "STOP", (statuses.COMPLETED,))
        except ProlificError:
            if places.status != statuses.AWAITING_REVIEW:
                raise
            return places.status  # every place is taken, and Prolific stops none that is full


def pause_left_over(client: Prolific, store: ProlificStore, task_name: str, account: str = "") -> list[str]:
    """Pause what a killed launch left open (of ``account``, or all); sentences on what was done. Raises CrowdError."""
    done = []
    for study in store.studies(task_name):
        if not study.study_id or account not in ("", study.account):
            continue
        try:
            if study_places(client, study.study_id).status not in (statuses.ACTIVE, *IN_BETWEEN):
                continue
            transition(client, study.study_id, "PAUSE", (statuses.PAUSED, statuses.AWAITING_REVIEW))
        except ProlificError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            continue  # it was deleted there, in between perhaps
        left = "A study of an earlier launch, which did not end cleanly, was still open on Prolific"
        done.append(f"{left} ({study.mark}): it was paused.")
        logger.warning(done[-1])
    return done
