"""Mephisto's side of the wire, where it must know better than Mephisto who may begin, come back, or hand in."""

from __future__ import annotations

import logging
import time
from typing import Any, Protocol

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.data_model.agent import OnboardingAgent
from mephisto.data_model.packet import PACKET_TYPE_REQUEST_STATUSES, PACKET_TYPE_RETURN_STATUSES, Packet
from mephisto.data_model.worker import Worker
from mephisto.operations.client_io_handler import SYSTEM_CHANNEL_ID, ClientIOHandler
from mephisto.operations.datatypes import WorkerFailureReasons
from mephisto.operations.worker_pool import AgentDetails, WorkerPool

from mephisto_tasks.crowds.contract import ChecksArrivals
from mephisto_tasks.crowds.link.reception import Reception, Welcome
from mephisto_tasks.crowds.mturk.names import SANDBOX_SUFFIX
from mephisto_tasks.engine.answer_reading import EARLY_SUBMIT
from mephisto_tasks.running.floor import Floor
from mephisto_tasks.workers.eligibility import Refusal

logger = logging.getLogger(__name__)

REGISTERING_S = 60.0
"""A registration under way for longer than this was lost (its page got an error from the router long before)."""

KIND = "refusal_kind"

_GONE = {"disconnect", "timeout", "returned"}
_AT_WORK = {"accepted", "onboarding", "waiting", "in task"}
_GENERIC_REASONS = {
    value for name, value in vars(WorkerFailureReasons).items() if not name.startswith("_") and isinstance(value, str)
}


class Doorkeeper(Protocol):
    """What a study says of a worker, by Mephisto's worker id."""

    busy: str
    """The sentence for somebody who has another page open."""
    for_now: frozenset[str]
    """Reasons that pass by themselves: whoever hears one stays, and tries again."""

    def why_not(self, worker_id: str) -> Refusal | None:
        """Why this worker cannot take part now; None when there is no better reason than Mephisto's."""

    def against_rules(self, worker_id: str) -> Refusal | None:
        """Why the study's rules keep a worker out, before any practice; None: they do not."""

    def never_more(self, worker_id: str) -> Refusal | None:
        """Why this worker can do nothing more in this launch, whatever others do; None where that is not so."""

    def may_return(self, worker_id: str) -> bool:
        """Whether a worker who left a dialogue can be given another."""


class _KnownToTheCrowd:
    """A worker of whose verdict the crowd's site was told already."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worker, name)

    def grant_qualification(self, name: str, value: int = 1) -> None:
        """In our database only."""
        self._worker.grant_qualification(name, value, skip_crowd=True)


class StudyWorkerPool(WorkerPool):
    """Mephisto's, which asks the study's rules who may take part as somebody comes, and once.

    It leaves it to the practice to tell the crowd's site who passed: that was done when the verdict fell, in the rater's own
    thread. Mephisto would tell it again when the practice is handed in, and every page would wait for the site's answer.
    """

    def __init__(self, db: Any, door: Doorkeeper) -> None:
        super().__init__(db)
        self._door = door

    async def register_agent(self, crowd_data: Any, worker: Any, request_id: str) -> None:
        run = self.get_live_run()
        refusal = await run.loop_wrap.loop.run_in_executor(None, self._door.against_rules, worker.db_id)
        if refusal is None:
            await super().register_agent(crowd_data, worker, request_id)
        else:
            run.client_io.enqueue_agent_details(request_id, _refused(refusal, worker.db_id))

    async def register_agent_from_onboarding(self, onboarding_agent: Any) -> None:
        worker = _KnownToTheCrowd(onboarding_agent.get_worker())
        onboarding_agent.get_worker = lambda: worker
        await super().register_agent_from_onboarding(onboarding_agent)


class StudyIOHandler(ClientIOHandler):
    """Eight things differ from Mephisto's:

    * a worker who cannot take part reads why (Mephisto has one text for every refusal);
    * who cannot have come from the crowd's site is turned away (Mephisto fails at them, and their page waits);
    * one page of a worker at a time may register or practise: a second would be a second set of tries;
    * a page whose agent is gone for good begins anew when it comes back, instead of waiting for a world that ended;
    * a unit cannot be handed in before its world is done with it;
    * what would be sent after the end of the run is dropped: the database holds it already, and nobody listens;
    * who has left is asked for until the end, whatever went wrong once (Mephisto's task would die of it unseen);
    * who comes by a link is received by :class:`.reception.Reception`, which says who that is, and where they go in the end.
    """

    def __init__(self, db: Any, door: Doorkeeper, floor: Floor, reception: Reception | None = None) -> None:
        super().__init__(db)
        self._door = door
        self._floor = floor
        self._reception = reception
        self._registering: dict[str, tuple[str, float]] = {}

    def _register_agent(self, packet: Any, channel_id: str) -> None:
        if self._reception is not None and not self._receive(self._reception, packet, channel_id):
            return
        request_id, crowd_data = packet.data["request_id"], packet.data["provider_data"]
        registration, name = crowd_data["agent_registration_id"], crowd_data["worker_name"]
        self._forget_ended(registration)
        refusal = self._refusal(crowd_data, registration, name)
        if refusal is not None:
            self.request_id_to_channel_id[request_id] = channel_id
            self.request_id_to_packet[request_id] = packet
            self.enqueue_agent_details(request_id, _refused(refusal))
            return
        if registration not in self.agents_by_registration_id:
            self._floor.came()
        self._registering[request_id] = (name, time.monotonic())
        super()._register_agent(packet, channel_id)

    def _refusal(self, crowd_data: dict[str, Any], registration: str, name: str) -> Refusal | None:
        """Why a page may not register at all, whoever its worker is."""
        provider = self.get_live_run().provider
        if isinstance(provider, ChecksArrivals) and (words := provider.refusal(crowd_data)) is not None:
            return Refusal("not_from_the_crowd", "cannot have come from the crowd's site", words)
        if registration not in self.agents_by_registration_id and self._has_page_open(name):
            self._floor.came()
            return Refusal("busy", "has another page of the study open", self._door.busy)
        return None

    def _receive(self, reception: Reception, packet: Any, channel_id: str) -> bool:
        """True when the visitor comes in: the packet then says who they are. Otherwise they are answered by this."""
        answer = reception.receive(packet.data["provider_data"], self._is_open)
        if isinstance(answer, Welcome):
            packet.data["provider_data"] = answer.provider_data
            return True
        if answer.released is not None:
            self._release(self.agents_by_registration_id.pop(answer.released, None))
        if answer.reason is not None:
            self._floor.came()
            self._floor.turned_away(answer.kind)
        request_id = packet.data["request_id"]
        self.request_id_to_channel_id[request_id] = channel_id
        self.request_id_to_packet[request_id] = packet
        if answer.looks is not None and (refused := self._refused_for_good(answer.looks)) is not None:
            self.enqueue_agent_details(request_id, refused)
        else:
            super().enqueue_agent_details(request_id, {**AgentDetails().to_dict(), **answer.details()})
        return False

    def _refused_for_good(self, name: str) -> dict[str, Any] | None:
        """What a worker who was here before is told who can do nothing more: they need not read first what the task is."""
        for worker in self.db.find_workers(worker_name=name):
            refusal = self._door.never_more(worker.db_id)
            if refusal is not None:
                return _refused(refusal, worker.db_id)
        return None

    def _is_open(self, registration: str) -> bool:
        """Whether a page of this registration has work to go on with."""
        self._forget_ended(registration)
        return registration in self.agents_by_registration_id

    def _release(self, agent_id: str | None) -> None:
        """A worker gave their task back: their world ends, and somebody else can have it."""
        agent = None if agent_id is None else self.get_live_run().worker_pool.get_agent_for_id(agent_id)
        if agent is not None and agent.get_status() in _AT_WORK:
            agent.update_status(AgentState.STATUS_RETURNED)

    def _on_message(self, packet: Any, channel_id: str) -> None:
        super()._on_message(packet, channel_id)
        if self._reception is not None and packet.type == PACKET_TYPE_RETURN_STATUSES:  # every few seconds
            agents = list(self.get_live_run().worker_pool.agents.values())
            at_work = [str(agent.db_id) for agent in agents if agent.db_status in _AT_WORK]
            for agent_id in self._reception.given_back(at_work):
                self._release(agent_id)

    def _forget_ended(self, registration: str) -> None:
        pool = self.get_live_run().worker_pool
        agent_id = self.agents_by_registration_id.get(registration)
        agent = None if agent_id is None else pool.get_agent_for_id(agent_id)
        if agent is None:
            return
        if isinstance(agent, OnboardingAgent):
            ended = agent_id in pool.final_onboardings
        else:
            ended = agent.db_status in _GONE and self._door.may_return(agent.worker_id)
        if ended:
            del self.agents_by_registration_id[registration]

    def _has_page_open(self, name: str) -> bool:
        practising = self.get_live_run().worker_pool.onboarding_agents.values()
        if any(agent.get_worker().worker_name in _stored_names(name) for agent in list(practising)):
            return True
        oldest = time.monotonic() - REGISTERING_S
        return any(other == name and since > oldest for other, since in self._registering.values())

    def enqueue_agent_details(self, request_id: str, additional_data: dict[str, Any]) -> None:
        self._registering.pop(request_id, None)
        refused = additional_data.get("failure_reason")
        if refused is not None:
            worker_id = additional_data.get("worker_id") or self._worker_id(request_id)
            refusal = self._door.why_not(worker_id) if worker_id and refused in _GENERIC_REASONS else None
            kind = additional_data.get(KIND, "other")
            self._floor.turned_away(kind if refusal is None else refusal.kind)
            told = {name: value for name, value in additional_data.items() if name != KIND}
            additional_data = {**told, "failure_reason": refused if refusal is None else refusal.words}
            if worker_id and self._reception is not None:
                additional_data |= self._way_out(self._reception, worker_id, additional_data["failure_reason"])
        super().enqueue_agent_details(request_id, additional_data)

    def _way_out(self, reception: Reception, worker_id: str, reason: str) -> dict[str, Any]:
        """Back to the panel with its code for who may not take part; not where the reason passes by itself."""
        name = str(Worker.get(self.db, worker_id).worker_name)
        redirect = None if reason in self._door.for_now else reception.screened_out(name)
        told = None if redirect is None else redirect.model_dump(mode="json")
        return {"failure_reason": reception.for_them(name, reason, redirect), "redirect": told}

    def _request_status_update(self) -> None:
        # The end of the run takes channels away in another thread.
        for channel in list(self.channels.values()):
            try:
                channel.enqueue_send(Packet(packet_type=PACKET_TYPE_REQUEST_STATUSES, subject_id=SYSTEM_CHANNEL_ID))
            except Exception:
                logger.exception("it could not be asked whose page has gone; it is asked again soon")

    def send_status_update(self, agent_id: str, status: str) -> None:
        # Mephisto queues these on its loop, where the end of the run may overtake them.
        if not self.is_shutdown:
            super().send_status_update(agent_id, status)

    def send_live_update(self, agent_id: str, data: dict[str, Any]) -> None:
        if not self.is_shutdown:
            super().send_live_update(agent_id, data)

    def _worker_id(self, request_id: str) -> str | None:
        packet = self.request_id_to_packet.get(request_id)
        data = {} if packet is None else packet.data
        practising = None if packet is None else self.get_live_run().worker_pool.get_agent_for_id(packet.subject_id)
        if practising is not None:
            return str(practising.worker_id)
        # A registration holds what the provider says in a part of its own, a practice that is handed in does not.
        name = data.get("provider_data", data).get("worker_name")
        if not isinstance(name, str):
            return None
        for stored in _stored_names(name):
            workers = self.db.find_workers(worker_name=stored)
            if workers:
                return str(workers[0].db_id)
        return None

    def _on_submit_unit(self, packet: Any, channel_id: str) -> None:
        agent = self.get_live_run().worker_pool.get_agent_for_id(packet.subject_id)
        if isinstance(agent, OnboardingAgent):
            logger.warning("%s was handed in as if it were a task; ignored", packet.subject_id)
        elif agent is not None and agent.db_status == "in task" and not agent.state.awaits_submit:
            agent.pending_actions.put(EARLY_SUBMIT)
            agent.has_live_update.set()
            self.send_status_update(agent.get_agent_id(), agent.db_status)  # the router hears that it goes on
        else:
            super()._on_submit_unit(packet, channel_id)


def _refused(refusal: Refusal, worker_id: str | None = None) -> dict[str, Any]:
    """As a page is told; the kind is for whoever watches the study alone."""
    return {**AgentDetails(worker_id=worker_id, failure_reason=refusal.words).to_dict(), KIND: refusal.kind}


def _stored_names(name: str) -> tuple[str, str]:
    """A worker's names in the database: Mephisto's sandbox providers add a suffix."""
    return name, name + SANDBOX_SUFFIX
