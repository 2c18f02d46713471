"""Mephisto's side of the wire, with stricter rules than Mephisto's on beginning, returning and submitting."""

from __future__ import annotations

import logging
import time
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.data_model import packet as packets
from mephisto.data_model.agent import OnboardingAgent
from mephisto.data_model.worker import Worker
from mephisto.operations.client_io_handler import SYSTEM_CHANNEL_ID, ClientIOHandler
from mephisto.operations.datatypes import WorkerFailureReasons
from mephisto.operations.worker_pool import AgentDetails

from mephisto_tasks.admission.admission import Admission
from mephisto_tasks.admission.browsers import BookUnusable, Shown
from mephisto_tasks.admission.identity import CONSENT, Reception
from mephisto_tasks.admission.visits import Refusal, Visitor
from mephisto_tasks.server.router import BUSY
from mephisto_tasks.server.security import SECRETS, PageErrors, usable_secrets
from mephisto_tasks.session.answers import EARLY_SUBMIT
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.provider_names import NotYetKnown, stored_names
from parlai_humaneval.i18n.translate import Language, phrase, phrases, speaking, t

logger = logging.getLogger(__name__)

LANGUAGE = "language"  # in a registration: the tag of the language in which the page speaks

REGISTERING_S = 60.0
"""A registration under way for longer than this was lost (its page got an error from the router long before)."""

SCREEN = "screen"
TRIES_AGAIN = "try_again_s"
"""Keys of a refusal that the page reads: the refusal's page, and the seconds until it asks again by itself."""

PASSING_S = 30.0
"""For so long a page asks again, whose worker finds no unit although the study says that there is one for them."""

OUR_ERROR_TITLE = phrase("Something broke on our side")
PHRASES = phrases(__file__)
OUR_ERROR = PHRASES["our_error"]

_GONE = {"disconnect", "timeout", "returned"}
_AT_WORK = {"accepted", "onboarding", "waiting", "in task"}
GENERIC_REASONS = {
    phrase("You are not currently qualified to work on this task..."),
    phrase("There is currently no available work, please try again later..."),
    PHRASES["too_many_tasks"],
    phrase("You have already completed the maximum amount of tasks the requester has set for this task."),
    PHRASES["not_open_to_them"],
}
"""Mephisto's WorkerFailureReasons, written out so that the catalogues of languages hold them."""


class StudyIOHandler(ClientIOHandler):
    """Mephisto's callbacks and answers, as :class:`.Admission` decides. In addition: a page whose agent is gone for
    good begins again; a unit cannot be handed in before its world is done; a page whose registration failed, or came
    while a unit passed from one worker to another, is asked to try again; leavers are always checked."""

    def __init__(self, db: Any, study: Study, admission: Admission, reception: Reception | None = None) -> None:
        super().__init__(db)
        self._study = study
        self._admission = admission
        self._reception = reception
        self._registering: dict[str, tuple[str, float]] = {}
        self.beginning: dict[str, str] = {}
        """Requests that were answered with a task which has not begun yet → workers."""
        self._just_missed: dict[str, float] = {}
        """Workers who asked in a moment in which a unit passed from one hand to another, and when they first did."""
        self._broken: set[str] = set()  # workers whose registration has failed before
        self._page_errors = PageErrors()

    # -- registrations ---------------------------------------------------------------------------

    def _register_agent(self, packet: Any, channel_id: str) -> None:
        request_id = packet.data["request_id"]
        self.request_id_to_channel_id[request_id] = channel_id
        self.request_id_to_packet[request_id] = packet
        data = packet.data["provider_data"]
        # The secrets themselves go no further: what Mephisto gets here, it logs and keeps.
        shown = Shown.of(usable_secrets(data.pop(SECRETS, None)))
        agrees_to = data.pop(CONSENT, None)
        packet.data[LANGUAGE] = data.pop(LANGUAGE, None)
        visitor = Visitor(self, data, shown=shown, agrees_to=agrees_to)
        with speaking(self._language_of(request_id)):
            try:
                refusal = self._admission.decide(visitor)
            except BookUnusable as error:  # a rater without a bound browser must not be half admitted
                logger.error("a rater has to try again: %s", error)
                self.try_again(request_id)
            except NotYetKnown:
                self.try_again(request_id)
            else:
                packet.data["provider_data"] = visitor.data
                self._answer(visitor, refusal, packet, channel_id)

    def _answer(self, visitor: Visitor, refusal: Refusal | None, packet: Any, channel_id: str) -> None:
        request_id = packet.data["request_id"]
        if refusal is not None:
            if refusal.turns_away:
                self._study.presence.came()
            self.turn_away(request_id, refusal, visitor.worker)
        elif visitor.stage == "looks":
            details = {**AgentDetails().to_dict(), "title": None, "redirect": None, "preview": True}
            super().enqueue_agent_details(request_id, details)
        else:
            self._registering[request_id] = (visitor.worker_name, time.monotonic())
            for stored in stored_names(visitor.worker_name):
                self._study.languages.note(stored, packet.data[LANGUAGE])
            super()._register_agent(packet, channel_id)

    def _language_of(self, request_id: str) -> Language:
        packet = self.request_id_to_packet.get(request_id)
        return self._study.languages.named(None if packet is None else packet.data.get(LANGUAGE))

    # -- what admission asks of the pages ----------------------------------------------------------

    @property
    def provider(self) -> object:
        return self.get_live_run().provider

    def is_open(self, registration: str) -> bool:
        self._forget_ended(registration)
        return registration in self.agents_by_registration_id

    def release(self, registration: str) -> None:
        self._release(self.agents_by_registration_id.pop(registration, None))

    def has_another(self, worker_name: str) -> bool:
        practising = self.get_live_run().worker_pool.onboarding_agents.values()
        names = stored_names(worker_name)
        if any(agent.get_worker().worker_name in names and not _failed(agent) for agent in list(practising)):
            return True
        oldest = time.monotonic() - REGISTERING_S
        return any(other == worker_name and since > oldest for other, since in list(self._registering.values()))

    def count_inside(self) -> tuple[int, int]:
        run = self.get_live_run()  # each counted visitor has a thread
        at_work = {running.agent.worker_id for running in list(run.task_runner.running_units.values())}
        oldest = time.monotonic() - REGISTERING_S
        registering = sum(since > oldest for _, since in list(self._registering.values()))
        practising = {agent.worker_id for agent in list(run.worker_pool.onboarding_agents.values())}
        begin = practising | set(self.beginning.values())
        return registering + len(begin | at_work), registering + len(begin - at_work)

    def find_workers(self, worker_name: str) -> list[Any]:
        return [worker for name in stored_names(worker_name) for worker in self.db.find_workers(worker_name=name)]

    def _release(self, agent_id: str | None) -> None:
        """A worker gave their task back: their world ends, and somebody else can have it."""
        agent = None if agent_id is None else self.get_live_run().worker_pool.get_agent_for_id(agent_id)
        if agent is not None and agent.get_status() in _AT_WORK:
            agent.update_status(AgentState.STATUS_RETURNED)

    def try_again(self, request_id: str, channel_id: str | None = None) -> None:
        """What a page asked for could not be done now, and is forgotten: it asks again."""
        self._registering.pop(request_id, None)
        self.beginning.pop(request_id, None)
        self.request_id_to_packet.pop(request_id, None)
        channel_id = self.request_id_to_channel_id.pop(request_id, channel_id)
        if channel_id in self.channels:
            data = {"request_id": request_id, "try_again": BUSY}
            self.channels[channel_id].enqueue_send(packets.Packet(packets.PACKET_TYPE_AGENT_DETAILS, channel_id, data))

    def broke(self, request_id: str, error: Exception) -> None:
        """Our own error kept somebody from beginning: it counts as ours, and their page tries again by itself once."""
        packet = self.request_id_to_packet.get(request_id)
        data = {} if packet is None else packet.data.get("provider_data", packet.data)
        registration, worker_name = str(data.get("agent_registration_id")), str(data.get("worker_name"))
        agent_id = self.agents_by_registration_id.get(registration)
        if agent_id is not None and self.get_live_run().worker_pool.get_agent_for_id(agent_id) is None:
            del self.agents_by_registration_id[registration]
        self._study.note_failure(f"a rater could not begin ({type(error).__name__}: {error})")
        if packet is not None and worker_name in self._broken:
            self._say_that_it_broke(request_id, str(error))
        else:
            self._broken.add(worker_name)
            self.try_again(request_id)

    def _say_that_it_broke(self, request_id: str, why: str) -> None:
        refusal = Refusal("our_error", why, OUR_ERROR, OUR_ERROR_TITLE, passes=True, outcome=None)
        with speaking(self._language_of(request_id)):
            self.turn_away(request_id, refusal)

    def _on_message(self, packet: Any, channel_id: str) -> None:
        try:
            super()._on_message(packet, channel_id)
        except Exception:
            if packet.type in (packets.PACKET_TYPE_REGISTER_AGENT, packets.PACKET_TYPE_SUBMIT_ONBOARDING):
                self.try_again(packet.data["request_id"], channel_id)
            raise
        if self._reception is not None and packet.type == packets.PACKET_TYPE_RETURN_STATUSES:  # every few seconds
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
            # A rater who left is admitted again: to continue or begin another unit, or to learn who has theirs now.
            may_return = agent.worker_id in self._study.left or self._study.may_begin(agent.worker_id)
            ended = agent.db_status in _GONE and not self._study.paused and may_return
        if ended:
            del self.agents_by_registration_id[registration]

    def enqueue_agent_details(self, request_id: str, additional_data: dict[str, Any]) -> None:
        """Send a page what Mephisto answers, with a better reason than its own where admission has one."""
        self._registering.pop(request_id, None)
        reason, worker_id = additional_data.get("failure_reason"), additional_data.get("worker_id")
        if reason is None:
            if worker_id is not None:
                self.beginning[request_id] = worker_id
                self._just_missed.pop(worker_id, None)
            super().enqueue_agent_details(request_id, additional_data)
            return
        with speaking(self._language_of(request_id)):
            worker_id = worker_id or self._worker_id(request_id)
            worker = None if worker_id is None else Worker.get(self.db, worker_id)
            refusal = None
            if worker is not None and reason in GENERIC_REASONS:
                refusal = self._admission.decide(Visitor(self, {}, stage="unserved", worker=worker))
            if refusal is None and reason == WorkerFailureReasons.NO_AVAILABLE_UNITS and self._passes(worker_id):
                self.try_again(request_id)
            elif refusal is None and reason == WorkerFailureReasons.TASK_MISSING:
                self._say_that_it_broke(request_id, "the rater's page asks for a task that this launch does not know")
            else:
                self.turn_away(request_id, refusal or Refusal("other", reason, reason), worker, additional_data)

    def turn_away(
        self, request_id: str, refusal: Refusal, worker: Any = None, details: dict[str, Any] | None = None
    ) -> None:
        """Tell a page why it gets no work, in the language in force. ``details``: what Mephisto would have sent."""
        self._registering.pop(request_id, None)
        if refusal.turns_away:
            self._study.presence.turned_away(refusal.kind)
        words, redirect = t(refusal.words), refusal.redirect
        told = details or AgentDetails(worker_id=None if worker is None else worker.db_id).to_dict()
        if worker is not None and self._reception is not None:
            name = str(worker.worker_name)
            redirect = None if refusal.outcome is None else self._reception.screened_out(name)
            words = self._reception.for_them(name, words, redirect)
        if refusal.title is not None:
            told = {**told, "title": t(refusal.title), SCREEN: refusal.kind}
        if refusal.try_again_s is not None:
            told[TRIES_AGAIN] = refusal.try_again_s
        if redirect is not None or self._reception is not None:
            told["redirect"] = None if redirect is None else redirect.model_dump(mode="json")
        super().enqueue_agent_details(request_id, {**told, **refusal.more, "failure_reason": words})

    def _passes(self, worker_id: str | None) -> bool:
        """Whether Mephisto's answer may be wrong in a moment: a unit that was given back is not yet free again, say."""
        if worker_id is None:
            return False
        now = time.monotonic()
        if self._study.keeps_places() or now - self._just_missed.setdefault(worker_id, now) < PASSING_S:
            return True
        del self._just_missed[worker_id]
        return False

    def _log_frontend_error(self, packet: packets.Packet) -> None:
        # Our own router writes these down itself; Mephisto's passes them on, from anybody.
        self._page_errors.take(f"agent {packet.subject_id}", packet.data)

    def _request_status_update(self) -> None:
        # The end of the run takes channels away in another thread.
        for channel in list(self.channels.values()):
            try:
                channel.enqueue_send(
                    packets.Packet(packet_type=packets.PACKET_TYPE_REQUEST_STATUSES, subject_id=SYSTEM_CHANNEL_ID)
                )
            except Exception:
                logger.exception("could not find out which raters left their page; trying again soon")

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
        workers = self.find_workers(name)
        return str(workers[0].db_id) if workers else None

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


def _failed(agent: OnboardingAgent) -> bool:
    """Whether a practice ended with a no, which its page has read or is about to: Mephisto lets go of it a moment later."""
    return bool(agent.db_status == AgentState.STATUS_REJECTED)
