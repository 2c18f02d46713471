"""HITs on MTurk: creating them, withdrawing them, and following them while a study runs.

A page cannot say that its worker returned the HIT: MTurk takes the frame away, and the assignment's time runs out at
MTurk only. So MTurk is asked about every HIT somebody works on, and a few others."""

from __future__ import annotations

from mephisto_tasks._util import compat

compat.prepare()

import hashlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any, Literal
from xml.sax.saxutils import escape

from mephisto.data_model.constants.assignment_state import AssignmentState

from mephisto_tasks.crowds.crowd import CrowdError, LaunchControl
from mephisto_tasks.crowds.mturk.client import MTurkError, asking

QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">'
    "<ExternalURL>{url}</ExternalURL><FrameHeight>{height}</FrameHeight></ExternalQuestion>"
)
LONG_AGO = datetime(2015, 1, 1, tzinfo=timezone.utc)
"""MTurk's way to say “now”: a HIT whose time was over then is taken off the market at once."""
AT_ONCE = 8  # HITs that are taken off side by side; MTurk answers in about a tenth of a second
GONE = "AWS.MechanicalTurk.HITDoesNotExist"
MADE_ALREADY = ("AWS.MechanicalTurk.HITAlreadyExists", "AWS.MechanicalTurk.DuplicateRequest")

State = Literal["open", "taken", "submitted", "over"]
"""States of a HIT for one worker: anybody may accept it; a worker has it; it was submitted; nobody can accept it any
more."""


def study_mark(db_root: str, task_name: str) -> str:
    """The annotation of every HIT of a study, by which a later launch recognizes remaining HITs."""
    return f"parlai-humaneval {hashlib.sha256(f'{db_root}|{task_name}'.encode()).hexdigest()[:16]}"


def make_hit(client: Any, hit_type_id: str, url: str, *, height: int, lifetime_s: int, annotation: str) -> str:
    """Offer one HIT for one worker, once for each ``annotation`` however often it is asked; its id. Raises MTurkError."""
    try:
        with asking("make a HIT"):
            made = client.create_hit_with_hit_type(
                HITTypeId=hit_type_id,
                MaxAssignments=1,
                LifetimeInSeconds=lifetime_s,
                Question=QUESTION.format(url=escape(url), height=height),
                RequesterAnnotation=annotation,
                UniqueRequestToken=hashlib.sha256(annotation.encode()).hexdigest()[:64],
            )
        return str(made["HIT"]["HITId"])
    except MTurkError as error:
        if error.code not in MADE_ALREADY:
            raise
        hits = hits_where(client, lambda hit: hit.get("RequesterAnnotation") == annotation)
        if not hits:
            raise
        return str(hits[0]["HITId"])


def hits_where(client: Any, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """The account's HITs that are as ``wanted``. Raises MTurkError."""
    with asking("list the account's HITs"):
        pages = client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
        return [hit for page in pages for hit in page["HITs"] if wanted(hit)]


def hits_left(client: Any, known: Collection[str], mark: str) -> list[dict[str, Any]]:
    """The ``known`` HITs and those of the mark that a worker could still accept, now or later. Raises MTurkError."""
    now = datetime.now(timezone.utc)

    def is_left(hit: dict[str, Any]) -> bool:
        ours = hit["HITId"] in known or str(hit.get("RequesterAnnotation", "")).startswith(mark)
        return ours and hit["HITStatus"] in ("Assignable", "Unassignable") and hit["Expiration"] > now

    return hits_where(client, is_left)


def group_of(client: Any, hit_id: str) -> str:
    """The group that MTurk lists as one entry: HITs of one type. Raises MTurkError."""
    with asking("look at a HIT"):
        return str(client.get_hit(HITId=hit_id)["HIT"]["HITGroupId"])


def state_of(client: Any, hit_id: str) -> State:
    """How a HIT stands. Raises MTurkError, but not for one that was deleted: that is over."""
    try:
        with asking("look at a HIT"):
            hit = client.get_hit(HITId=hit_id)["HIT"]
    except MTurkError as error:
        if error.code == GONE:
            return "over"
        raise
    match hit["HITStatus"]:
        case "Assignable":
            return "open" if hit["Expiration"] > datetime.now(timezone.utc) else "over"
        case "Unassignable":
            return "taken"
        case "Reviewable" | "Reviewing":
            return "submitted" if hit["NumberOfAssignmentsAvailable"] == 0 else "over"
        case _:
            return "over"


def expire(client: Any, hit_ids: Sequence[str]) -> list[str]:
    """Take HITs off the market, several at once; workers who have one may finish it. Returns what went wrong."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="expire-hits") as pool:
        return list(filter(None, pool.map(partial(_expire, client), hit_ids)))


def _expire(client: Any, hit_id: str) -> str:
    try:
        with asking(f"withdraw the HIT {hit_id}"):
            client.update_expiration_for_hit(HITId=hit_id, ExpireAt=LONG_AGO)
    except MTurkError as error:
        return "" if error.code == GONE else str(error)
    return ""


logger = logging.getLogger(__name__)

POLL_S = 10.0  # as often as Mephisto asks
OTHERS_A_ROUND = 5
"""HITs without a worker that are looked at in each round; a round must not take MTurk's whole patience."""
SURE_AFTER = 2  # rounds in a row in which MTurk must say the same: what it answers may be some seconds old
ENDED_OUTSIDE = (
    "%d HIT(s) are no longer offered, although this launch did not end them: somebody ended them by hand, or their "
    "lifetime (task_lifetime_in_seconds) has expired. To offer the work again, stop this launch and start a new one."
)


@dataclass(frozen=True)
class _AtWork:
    """Somebody with a HIT: an agent in a unit, or (``unit`` None) one who practises."""

    agent: Any
    hit_id: str
    unit: Any = None


class HitFollower:
    """Asks MTurk every :data:`POLL_S` how the HITs stand, in a thread of its own, until it is stopped."""

    def __init__(self, control: LaunchControl) -> None:
        self._control, self._run = control, control.live_run
        self._store = self._run.provider.datastore
        self.stopped = threading.Event()
        self._said: dict[tuple[str, State], int] = {}
        """How many rounds in a row MTurk has said this of a HIT somebody works on."""
        self._others: deque[str] = deque()
        self.thread = threading.Thread(target=self._follow, name="hit-follower", daemon=True)

    def _follow(self) -> None:
        while not self.stopped.wait(POLL_S):
            try:
                self.look()
            except CrowdError as error:
                logger.warning("%s; asked again in %g s", error, POLL_S)
            except Exception:  # one odd answer must not end the watch over all the others
                logger.exception("the state of the HITs could not be read")

    def look(self) -> None:
        requester = self._run.task_run.get_requester()
        client = self._run.provider._get_client(requester._requester_name)
        running = sorted(self._run.task_runner.running_units.values(), key=lambda each: int(each.agent.db_id))
        at_work = []
        for each in running:
            kept = self._store.assignment_of(each.agent.db_id)
            if kept is not None and each.agent.get_status() == "in task" and not each.agent.state.awaits_submit:
                at_work.append(_AtWork(each.agent, kept[0], each.unit))
        pool = self._run.worker_pool
        for agent_id, info in list(pool.onboarding_infos.items()):
            agent = pool.onboarding_agents.get(agent_id)
            if agent is not None and agent.get_status() == "onboarding":
                at_work.append(_AtWork(agent, info.crowd_data["hit_id"]))
        newest = {one.hit_id: one.agent.db_id for one in at_work if one.unit is not None}
        said: dict[tuple[str, State], int] = {}
        for one in at_work:
            if one.unit is not None and newest[one.hit_id] != one.agent.db_id:
                self._give_out_again(one, over=False)  # somebody else came with this HIT: it had been returned
                continue
            state = state_of(client, one.hit_id)
            if state == "taken":
                continue
            said[one.hit_id, state] = rounds = self._said.get((one.hit_id, state), 0) + 1
            if rounds >= SURE_AFTER:
                self._give_out_again(one, over=state != "open")
        self._said = said
        if not self._others:
            self._others.extend(self._store.get_unassigned_hit_ids(self._run.task_run.db_id))
        ended, taken = 0, {one.hit_id for one in at_work}
        for _ in range(min(OTHERS_A_ROUND, len(self._others))):
            hit_id = self._others.popleft()
            state = "taken" if hit_id in taken else state_of(client, hit_id)
            if state in ("over", "submitted") and self._take_off(hit_id):
                ended += state == "over"
                if state == "submitted":  # without our page: it is paid unless it is rejected, and still to be done
                    self._control.live_run.task_launcher.paid_in_vain += 1
                    if not self._control.paused:
                        self._control.keep_open()
        if ended:
            logger.warning(ENDED_OUTSIDE, ended)

    def _give_out_again(self, one: _AtWork, *, over: bool) -> None:
        """End an agent whose worker has the HIT no more. ``over``: nobody can have that HIT, so another is made."""
        logger.info("the worker of agent %s no longer has the HIT %s", one.agent.db_id, one.hit_id)
        if one.unit is None:
            one.agent.update_status("disconnect")
            return
        if over:
            one.unit.set_db_status(AssignmentState.EXPIRED)
        one.agent.update_status("returned")
        if over and not self._control.paused:
            # Their dialogue still counts as running until its thread has seen that they left.
            self._control.keep_open(besides=one.unit.db_id)

    def _take_off(self, hit_id: str) -> bool:
        """One unit less is open, as nobody can come for it; False where none was."""
        run = self._run.task_run
        if hit_id not in self._store.get_unassigned_hit_ids(run.db_id):
            return False
        for unit in self._run.task_launcher.units:
            if unit.db_status == AssignmentState.LAUNCHED and run.reserve_unit(unit) is not None:
                unit.set_db_status(AssignmentState.EXPIRED)
                self._store.register_assignment_to_hit(hit_id, unit.db_id)
                run.clear_reservation(unit)
                return True
        return False


@contextmanager
def following(control: LaunchControl) -> Iterator[HitFollower]:
    follower = HitFollower(control)
    follower.thread.start()
    try:
        yield follower
    finally:
        follower.stopped.set()
        follower.thread.join(timeout=5)
