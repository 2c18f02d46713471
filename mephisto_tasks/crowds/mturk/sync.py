"""What happens on MTurk while a study runs: HITs that are returned, taken too long, or ended from outside.

A page cannot say that its worker returned the HIT: MTurk takes the frame away, which looks like a closed page, and the
assignment's time runs out at MTurk only. So MTurk is asked, about every HIT somebody works on, and a few of the others.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.constants.assignment_state import AssignmentState

from mephisto_tasks.crowds.base import CrowdError, LaunchControl
from mephisto_tasks.crowds.mturk.hits import State, state_of

logger = logging.getLogger(__name__)

POLL_S = 10.0
"""As often as Mephisto asks."""
OTHERS_A_ROUND = 5
"""HITs without a worker that are looked at in each round; a round must not take MTurk's whole patience."""
SURE_AFTER = 2
"""Rounds in a row in which MTurk must say the same: what it answers may be some seconds old."""
ENDED_OUTSIDE = (
    "%d HIT(s) are no longer on the market, though this launch did not take them off: they were ended by hand, or their "
    "time (task_lifetime_in_seconds) is up. To offer that work again, stop the launch and launch again."
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
        self._run = control.live_run
        self._control = control
        self._store = self._run.provider.datastore
        self._stopped = threading.Event()
        self._said: dict[tuple[str, State], int] = {}
        """How many rounds in a row MTurk has said this of a HIT somebody works on."""
        self._others: deque[str] = deque()
        self._thread = threading.Thread(target=self._follow, name="hit-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask nothing any more."""
        self._stopped.set()
        self._thread.join(timeout=5)

    def _follow(self) -> None:
        while not self._stopped.wait(POLL_S):
            try:
                self.look()
            except CrowdError as error:
                logger.warning("%s; asked again in %g s", error, POLL_S)
            except Exception:  # one odd answer must not end the watch over all the others
                logger.exception("the state of the HITs could not be read")

    def look(self) -> None:
        """One round."""
        requester = self._run.task_run.get_requester()
        client = self._run.provider._get_client(requester._requester_name)
        at_work = self._at_work()
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
        self._look_at_others(client, {one.hit_id for one in at_work})

    def _at_work(self) -> list[_AtWork]:
        running = sorted(self._run.task_runner.running_units.values(), key=lambda each: int(each.agent.db_id))
        people = []
        for each in running:
            kept = self._store.assignment_of(each.agent.db_id)
            if kept is not None and each.agent.get_status() == "in task" and not each.agent.state.awaits_submit:
                people.append(_AtWork(each.agent, kept[0], each.unit))
        pool = self._run.worker_pool
        for agent_id, info in list(pool.onboarding_infos.items()):
            agent = pool.onboarding_agents.get(agent_id)
            if agent is not None and agent.get_status() == "onboarding":
                people.append(_AtWork(agent, info.crowd_data["hit_id"]))
        return people

    def _give_out_again(self, one: _AtWork, *, over: bool) -> None:
        """End an agent whose worker has the HIT no more. ``over``: nobody can have that HIT, so another is made."""
        logger.info("the worker of agent %s has the HIT %s no more", one.agent.db_id, one.hit_id)
        if one.unit is None:
            one.agent.update_status("disconnect")
            return
        if over:
            one.unit.set_db_status(AssignmentState.EXPIRED)
        one.agent.update_status("returned")
        if over and not self._control.paused:
            # Their dialogue still counts as running until its thread has seen that they left.
            self._control.keep_open(besides=one.unit.db_id)

    def _look_at_others(self, client: Any, at_work: set[str]) -> None:
        if not self._others:
            self._others.extend(self._store.get_unassigned_hit_ids(self._run.task_run.db_id))
        ended = 0
        for _ in range(min(OTHERS_A_ROUND, len(self._others))):
            hit_id = self._others.popleft()
            state = "taken" if hit_id in at_work else state_of(client, hit_id)
            if state in ("over", "submitted") and self._take_off(hit_id):
                ended += state == "over"
                if state == "submitted":  # without our page: it is paid unless it is rejected, and still to be done
                    self._control.note_paid_in_vain()
                    if not self._control.paused:
                        self._control.keep_open()
        if ended:
            logger.warning(ENDED_OUTSIDE, ended)

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
    """Follow the HITs of a run in the block."""
    follower = HitFollower(control)
    follower.start()
    try:
        yield follower
    finally:
        follower.stop()
