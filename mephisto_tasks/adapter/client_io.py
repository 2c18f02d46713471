"""Mephisto's side of the wire, where it must know better than Mephisto who may begin, come back, or hand in."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.data_model.agent import OnboardingAgent
from mephisto.data_model.packet import (
    PACKET_TYPE_AGENT_DETAILS,
    PACKET_TYPE_REGISTER_AGENT,
    PACKET_TYPE_REQUEST_STATUSES,
    PACKET_TYPE_RETURN_STATUSES,
    PACKET_TYPE_SUBMIT_ONBOARDING,
    Packet,
)
from mephisto.data_model.worker import Worker
from mephisto.operations.client_io_handler import SYSTEM_CHANNEL_ID, ClientIOHandler
from mephisto.operations.datatypes import WorkerFailureReasons
from mephisto.operations.worker_pool import AgentDetails

from mephisto_tasks.admission.browsers import BookUnusable, Shown
from mephisto_tasks.admission.capacity import WaitingRoom
from mephisto_tasks.admission.consent import AGREED, CONSENT, Consents
from mephisto_tasks.admission.eligibility import Refusal
from mephisto_tasks.admission.identity import Claim, Identity
from mephisto_tasks.admission.policy import KIND, SCREEN, TRIES_AGAIN, Doorkeeper, refused
from mephisto_tasks.admission.visits import Arrival, Visit
from mephisto_tasks.control.presence import Floor
from mephisto_tasks.crowds.base import ChecksArrivals, NotYetKnown
from mephisto_tasks.crowds.link.reception import Answer, Reception, Welcome
from mephisto_tasks.server.cookies import SECRETS, usable_secrets
from mephisto_tasks.server.page_errors import PageErrors
from mephisto_tasks.server.router import BUSY
from mephisto_tasks.session.answers import EARLY_SUBMIT
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX
from parlai_humaneval.i18n.translate import Language, phrase, speaking, t

logger = logging.getLogger(__name__)

T = TypeVar("T")

LANGUAGE = "language"
"""In a registration: the tag of the language in which the page speaks."""

REGISTERING_S = 60.0
"""A registration under way for longer than this was lost (its page got an error from the router long before)."""

PASSING_S = 30.0
"""For so long a page asks again, whose worker finds no unit although the study says that there is one for them."""

_GONE = {"disconnect", "timeout", "returned"}
_AT_WORK = {"accepted", "onboarding", "waiting", "in task"}
GENERIC_REASONS = {
    phrase("You are not currently qualified to work on this task..."),
    phrase("There is currently no available work, please try again later..."),
    phrase(
        "You are currently working on too many tasks concurrently to accept another, please finish your current work."
    ),
    phrase("You have already completed the maximum amount of tasks the requester has set for this task."),
    phrase(
        "You appear to have already completed this task, or have disconnected long enough for your session to clear..."
    ),
}
"""Mephisto's WorkerFailureReasons, written out so that the catalogues of languages hold them."""


class StudyIOHandler(ClientIOHandler):
    """Thirteen things differ from Mephisto's:

    * nobody is registered before they agreed to the study's consent text, where it has one;
    * a registration is its browser's that came with it first: another one learns nothing, and disturbs nobody;
    * only so many are inside at once: who is too many waits outside, and costs next to nothing there;
    * a worker who cannot take part reads why (Mephisto has one text for every refusal);
    * who cannot have come from the crowd's site is turned away (Mephisto fails at them, and their page waits);
    * one page of a worker at a time may register or practise: a second would be a second set of tries;
    * a page whose agent is gone for good begins anew when it comes back, instead of waiting for a world that ended;
    * a unit cannot be handed in before its world is done with it;
    * what would be sent after the end of the run is dropped: the database holds it already, and nobody listens;
    * who has left is asked for until the end, whatever went wrong once (Mephisto's task would die of it unseen);
    * what a page reports of its own errors is cut, and written elsewhere than in the loop of everybody's answers;
    * whose registration fails is told to try again (Mephisto leaves their page without an answer);
    * so is who asks while a unit passes from one hand to another (Mephisto says that there is nothing to do);
    * who comes by a link is received by :class:`.reception.Reception`, which says who that is, and where they go in the end.
    """

    def __init__(
        self,
        db: Any,
        door: Doorkeeper,
        floor: Floor,
        identity: Identity,
        consents: Consents,
        reception: Reception | None = None,
    ) -> None:
        super().__init__(db)
        self._consents = consents
        self._door = door
        self._floor = floor
        self._identity = identity
        self._reception = reception
        self._registering: dict[str, tuple[str, float]] = {}
        self._beginning: dict[str, str] = {}
        """Requests that were answered with a task which has not begun yet → workers."""
        self._just_missed: dict[str, float] = {}
        """Workers who asked in a moment in which a unit passed from one hand to another, and when they first did."""
        self._page_errors = PageErrors()
        self._outside = WaitingRoom(floor)

    def _register_agent(self, packet: Any, channel_id: str) -> None:
        request_id = packet.data["request_id"]
        self.request_id_to_channel_id[request_id] = channel_id
        self.request_id_to_packet[request_id] = packet
        # The secrets themselves go no further: what Mephisto gets here, it logs and keeps.
        shown = Shown.of(usable_secrets(packet.data["provider_data"].pop(SECRETS, None)))
        agrees_to = packet.data["provider_data"].pop(CONSENT, None)
        packet.data[LANGUAGE] = packet.data["provider_data"].pop(LANGUAGE, None)
        with speaking(self._language_of(request_id)):
            self._register(packet, channel_id, shown, agrees_to)

    def _language_of(self, request_id: str) -> Language:
        """In which the page of a request speaks."""
        packet = self.request_id_to_packet.get(request_id)
        return self._door.languages.named(None if packet is None else packet.data.get(LANGUAGE))

    def _register(self, packet: Any, channel_id: str, shown: Shown, agrees_to: object) -> None:
        request_id = packet.data["request_id"]
        try:
            refusal = self._refusal(packet, channel_id, shown, agrees_to)
        except BookUnusable as error:  # whoever cannot be bound to their browser does not come in by halves
            logger.error("a rater is told to try again: %s", error)
            self.try_again(request_id)
            return
        except NotYetKnown:
            self.try_again(request_id)
            return
        if refusal is not None:
            self._turn_away(request_id, refusal)
        elif request_id in self.request_id_to_packet:  # it was not answered meanwhile
            packet.data["provider_data"][AGREED] = self._consents.says_yes(agrees_to)
            self._let_in(packet, channel_id)

    def _let_in(self, packet: Any, channel_id: str) -> None:
        crowd_data = packet.data["provider_data"]
        registration, name = crowd_data["agent_registration_id"], crowd_data["worker_name"]
        was_outside = self._outside.leave(_waits_as(crowd_data))
        if registration not in self.agents_by_registration_id and not was_outside:
            self._floor.came()
        self._registering[packet.data["request_id"]] = (name, time.monotonic())
        for stored in _stored_names(name):
            self._door.languages.note(stored, packet.data[LANGUAGE])
        super()._register_agent(packet, channel_id)

    def _refusal(self, packet: Any, channel_id: str, shown: Shown, agrees_to: object) -> Refusal | None:
        """Why a page may not register at all, whoever its worker is. A visitor by link may also be answered by this."""
        run = self.get_live_run()
        if self._reception is not None:
            welcome = self._receive(self._reception, packet, _Doorman(self, shown, agrees_to))
            if not isinstance(welcome, Welcome):
                return welcome
            crowd_data = packet.data["provider_data"] = welcome.provider_data
            claim = self._identity.claim_of_visits(crowd_data["worker_name"], [welcome.visit], vouched=welcome.vouched)
        else:
            crowd_data = packet.data["provider_data"]
            claim = self._identity.claim(run.provider.PROVIDER_TYPE, crowd_data)
        return self._not_theirs(claim, crowd_data, shown) or (
            self._not_now(crowd_data)
            or self._without_consent(crowd_data, agrees_to)
            or self._identity.hold(claim, crowd_data, shown)
        )

    def _without_consent(self, crowd_data: dict[str, Any], agrees_to: object) -> Refusal | None:
        """Comes before anything is kept of somebody. Whose page is loaded again has agreed."""
        if crowd_data["agent_registration_id"] in self.agents_by_registration_id:
            return None
        return self._consents.asks(_stored_names(crowd_data["worker_name"]), agrees_to)

    def _not_theirs(self, claim: Claim, crowd_data: dict[str, Any], shown: Shown) -> Refusal | None:
        """Comes first: nobody else may learn how this worker fares, or change that."""
        return self._identity.stranger(claim, shown) or self._identity.damaged(claim, crowd_data, shown)

    def _not_now(self, crowd_data: dict[str, Any]) -> Refusal | None:
        provider = self.get_live_run().provider
        if isinstance(provider, ChecksArrivals) and (words := provider.refusal(crowd_data)) is not None:
            return Refusal("not_from_the_crowd", "cannot have come from the crowd's site", words)
        registration = crowd_data["agent_registration_id"]
        self._forget_ended(registration)
        if registration in self.agents_by_registration_id:
            return None
        if self._has_page_open(crowd_data["worker_name"]):
            self._floor.came()
            return Refusal("busy", "has another page of the study open", self._door.busy)
        return None if self._reception is not None else self._full(_waits_as(crowd_data), crowd_data["worker_name"])

    def _full(self, who: str, name: str) -> Refusal | None:
        at_work = {running.agent.worker_id for running in list(self.get_live_run().task_runner.running_units.values())}
        on_their_way, begin = self._on_their_way()
        inside, ahead = on_their_way + len(begin | at_work), on_their_way + len(begin - at_work)
        kept, most = self._door.keeps_places(ahead), self._door.most_at_once
        return self._outside.full(who, inside, most, lambda: self._goes_on(name), kept=kept)

    def _goes_on(self, name: str) -> bool:
        """Whether a worker comes back to what was cut off."""
        workers = [worker for stored in _stored_names(name) for worker in self.db.find_workers(worker_name=stored)]
        return any(self._door.goes_on(worker.db_id) for worker in workers)

    def _on_their_way(self) -> tuple[int, set[str]]:
        """How many register, and the workers who practise or are about to begin; each is a thread, as whoever is at work."""
        oldest = time.monotonic() - REGISTERING_S
        registering = sum(since > oldest for _, since in list(self._registering.values()))
        practising = {agent.worker_id for agent in list(self.get_live_run().worker_pool.onboarding_agents.values())}
        return registering, practising | set(self._beginning.values())

    def _turn_away(self, request_id: str, refusal: Refusal) -> None:
        """Answers at once where nothing has to be looked up; else as any refusal of Mephisto's."""
        details = refused(refusal)
        if refusal.title is None:
            self.enqueue_agent_details(request_id, details)
            return
        if refusal.kind not in ("full", CONSENT):  # who is counted once, however often they ask; and who is turned away
            self._floor.came()
            self._floor.turned_away(refusal.kind)
        del details[KIND]
        if refusal.tries_again:
            details[TRIES_AGAIN] = round(self._outside.try_again_s(), 1)
        super().enqueue_agent_details(
            request_id, {**details, **refusal.more, "title": t(refusal.title), SCREEN: refusal.kind}
        )

    def _receive(self, reception: Reception, packet: Any, doorman: _Doorman) -> Welcome | Refusal | None:
        """Who comes in, or why not; None: they were answered by this."""
        answer = reception.receive(packet.data["provider_data"], doorman)
        if not isinstance(answer, Answer):
            return answer
        if answer.released is not None:
            self._release(self.agents_by_registration_id.pop(answer.released, None))
        if answer.reason is not None:
            self._floor.came()
            self._floor.turned_away(answer.kind)
        request_id = packet.data["request_id"]
        if answer.looks is not None and (no_more := self._refused_for_good(answer.looks)) is not None:
            self.enqueue_agent_details(request_id, no_more)
        else:
            super().enqueue_agent_details(request_id, {**AgentDetails().to_dict(), **answer.details()})
        return None

    def _refused_for_good(self, name: str) -> dict[str, Any] | None:
        """What a worker who was here before is told who can do nothing more: they need not read first what the task is."""
        for worker in self.db.find_workers(worker_name=name):
            refusal = self._door.never_more(worker.db_id)
            if refusal is not None:
                return refused(refusal, worker.db_id)
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

    def try_again(self, request_id: str, channel_id: str | None = None) -> None:
        """What a page asked for could not be done now, and is forgotten: it asks again."""
        self._registering.pop(request_id, None)
        self.over(request_id)
        self.request_id_to_packet.pop(request_id, None)
        channel_id = self.request_id_to_channel_id.pop(request_id, channel_id)
        if channel_id in self.channels:
            data = {"request_id": request_id, "try_again": BUSY}
            self.channels[channel_id].enqueue_send(Packet(PACKET_TYPE_AGENT_DETAILS, channel_id, data))

    def _on_message(self, packet: Any, channel_id: str) -> None:
        try:
            super()._on_message(packet, channel_id)
        except Exception:
            if packet.type in (PACKET_TYPE_REGISTER_AGENT, PACKET_TYPE_SUBMIT_ONBOARDING):
                self.try_again(packet.data["request_id"], channel_id)
            raise
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
            ended = agent_id in pool.final_onboardings or _failed(agent)
        else:
            ended = agent.db_status in _GONE and self._door.may_return(agent.worker_id)
        if ended:
            del self.agents_by_registration_id[registration]

    def _has_page_open(self, name: str) -> bool:
        practising = self.get_live_run().worker_pool.onboarding_agents.values()
        names = _stored_names(name)
        if any(agent.get_worker().worker_name in names and not _failed(agent) for agent in list(practising)):
            return True
        oldest = time.monotonic() - REGISTERING_S
        return any(other == name and since > oldest for other, since in list(self._registering.values()))

    @property
    def somebody_begins(self) -> bool:
        """Whether a page was answered with a task which has not begun yet."""
        return bool(self._beginning)

    def over(self, request_id: str) -> None:
        """A registration is over, and what it led to has begun: a thread did what was to be done for it."""
        self._beginning.pop(request_id, None)

    def enqueue_agent_details(self, request_id: str, additional_data: dict[str, Any]) -> None:
        with speaking(self._language_of(request_id)):
            told = self._told(request_id, additional_data)
        if told is not None:
            super().enqueue_agent_details(request_id, told)

    def _told(self, request_id: str, additional_data: dict[str, Any]) -> dict[str, Any] | None:
        """What a page is told that asked; in its language, and with a better reason than Mephisto's, where there is one.

        None: it is to ask again.
        """
        reason = additional_data.get("failure_reason")
        if reason is None and additional_data.get("worker_id") is not None:
            self._beginning[request_id] = additional_data["worker_id"]
            self._just_missed.pop(additional_data["worker_id"], None)
        self._registering.pop(request_id, None)
        if reason is not None:
            worker_id = additional_data.get("worker_id") or self._worker_id(request_id)
            refusal = self._door.why_not(worker_id) if worker_id and reason in GENERIC_REASONS else None
            if refusal is None and reason == WorkerFailureReasons.NO_AVAILABLE_UNITS and self._passes(worker_id):
                self.try_again(request_id)
                return None
            kind = additional_data.get(KIND, "other")
            kind = kind if refusal is None else refusal.kind
            self._floor.turned_away(kind)
            told = {name: value for name, value in additional_data.items() if name != KIND}
            additional_data = {**told, "failure_reason": t(reason if refusal is None else refusal.words)}
            if worker_id and self._reception is not None:
                additional_data |= self._way_out(self._reception, worker_id, kind, additional_data["failure_reason"])
        return additional_data

    def _passes(self, worker_id: str | None) -> bool:
        """Whether what Mephisto says may not be so in a moment: a unit that was given back is not yet free again, say."""
        if worker_id is None:
            return False
        now = time.monotonic()
        if self._door.keeps_places() or now - self._just_missed.setdefault(worker_id, now) < PASSING_S:
            return True
        del self._just_missed[worker_id]
        return False

    def _way_out(self, reception: Reception, worker_id: str, kind: str, reason: str) -> dict[str, Any]:
        """Back to the panel with its code for who may not take part; not where the reason passes by itself."""
        name = str(Worker.get(self.db, worker_id).worker_name)
        redirect = None if kind in self._door.for_now else reception.screened_out(name)
        told = None if redirect is None else redirect.model_dump(mode="json")
        return {"failure_reason": reception.for_them(name, reason, redirect), "redirect": told}

    def _log_frontend_error(self, packet: Packet) -> None:
        # Our own router writes these down itself; Mephisto's passes them on, from anybody.
        self._page_errors.take(f"agent {packet.subject_id}", packet.data)

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

    def _on_submit_onboarding(self, packet: Any, channel_id: str) -> None:
        super()._on_submit_onboarding(packet, channel_id)
        agent = self.get_live_run().worker_pool.get_agent_for_id(packet.subject_id)
        if agent is not None:
            agent.has_live_update.set()  # the practice may still wait for an answer, and is over

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


@dataclass(frozen=True)
class _Doorman:
    """What the reception of visitors by link asks of one page."""

    handler: StudyIOHandler
    shown: Shown
    agrees_to: object

    def is_open(self, registration: str) -> bool:
        return self.handler._is_open(registration)

    def stranger(self, arrival: Arrival, visits: Sequence[Visit]) -> Refusal | None:
        identity = self.handler._identity
        return identity.stranger(
            identity.claim_of_visits(arrival.worker_name, visits, vouched=arrival.vouched), self.shown
        )

    def full(self, worker_name: str) -> Refusal | None:
        return self.handler._full(worker_name, worker_name)

    def consent(self, worker_name: str) -> Refusal | None:
        return self.handler._consents.asks([worker_name], self.agrees_to)


def _waits_as(crowd_data: dict[str, Any]) -> str:
    """By what somebody who waits outside is known again: visitors by link have no registration before they are inside."""
    by_link = crowd_data.get("provider_type") == "link"
    return str(crowd_data["worker_name" if by_link else "agent_registration_id"])


def _failed(agent: OnboardingAgent) -> bool:
    """Whether a practice ended with a no, which its page has read or is about to: Mephisto lets go of it a moment later."""
    return bool(agent.db_status == AgentState.STATUS_REJECTED)


def _stored_names(name: str) -> tuple[str, str]:
    """A worker's names in the database: Mephisto's sandbox providers add a suffix."""
    return name, name + SANDBOX_SUFFIX
