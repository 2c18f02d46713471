"""Where everybody who comes by a link is received: new visitors, those who come back, and those who leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mephisto_tasks.admission.eligibility import Refusal
from mephisto_tasks.admission.exits import Outcome, instead_of_returning
from mephisto_tasks.admission.visits import Arrival, TurnedAway, Visit
from mephisto_tasks.crowds.link.arrivals import Door, arrival_by, read_parameters
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.link.provider import VISIT
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.schema.steps import Redirect

OTHER_PERSON = phrase(
    "This link belongs to another person's participation. Please open the study with your own link, or from the site that "
    "sent you here."
)
WRONG_LINK = phrase("This link does not work")
DONE_ALREADY = (phrase("Thank you!"), phrase("You have completed this already, and everything is saved."))
RETURNED_ALREADY = (
    phrase("This task is closed"),
    phrase(
        "You have returned it, or its time ran out, and your place was given to somebody else. What you did until then is "
        "saved. If you want to take part after all, please open the study anew from the site that sent you here."
    ),
)
RETURNED_NOW = (
    phrase("You have returned the task"),
    phrase(
        "What you did until then is saved. Please also return it on the site that sent you here. Thank you for your "
        "interest!"
    ),
)
GIVEN_BACK = (
    phrase("You have given the task back"),
    phrase(
        "What you did until then is saved. If you change your mind, open your link again. Thank you for your interest!"
    ),
)
DECLINED = (
    phrase("You do not take part"),
    phrase("That is all right: nothing about you was stored here. Thank you for your time!"),
)


@dataclass(frozen=True)
class Welcome:
    """The visitor comes in: ``provider_data`` is what Mephisto is told in the place of what the page sent.

    ``vouched``: their address is a secret of theirs.
    """

    provider_data: dict[str, Any]
    visit: Visit
    vouched: bool


@dataclass(frozen=True)
class Answer:
    """The visitor does not come in now.

    ``reason`` is a sentence for them, with a title; None: all is well, and the page shows what the task is before anything
    begins; ``looks`` is then the worker who looks. ``released``: the registration whose work they give back.
    ``kind``: the reason in a word, for whoever watches the study.
    """

    title: str | None = None
    reason: str | None = None
    redirect: Redirect | None = None
    released: str | None = None
    looks: str | None = None
    kind: str = ""

    def details(self) -> dict[str, Any]:
        """As the page is told, in the language in force."""
        redirect = None if self.redirect is None else self.redirect.model_dump(mode="json")
        return {
            "failure_reason": None if self.reason is None else t(self.reason),
            "title": None if self.title is None else t(self.title),
            "redirect": redirect,
            "preview": self.reason is None,
        }


class Doorman(Protocol):
    """What the reception asks of a visitor's page."""

    def is_open(self, registration: str) -> bool:
        """Whether a registration is one of a page that can go on."""

    def stranger(self, arrival: Arrival, visits: Sequence[Visit]) -> Refusal | None:
        """Why these visits are not this page's, whatever its address says; None where they are, or nobody's."""

    def full(self, worker_name: str) -> Refusal | None:
        """Why nobody new can come in just now; None where they can."""

    def consent(self, worker_name: str) -> Refusal | None:
        """What the visitor must agree to before anything is kept of them; None: they do, or did."""


class Reception:
    """Receives the visitors of one launch.

    Args:
        store: of the provider.
        doors: in which order they are asked.
        task_name: visits of one task go on over its launches.
        provider_type: of the crowd.
    """

    def __init__(self, store: LinkDatastore, doors: Sequence[Door], task_name: str, provider_type: str) -> None:
        self._store = store
        self._doors = doors
        self._task_name = task_name
        self._provider_type = provider_type

    def receive(self, sent: dict[str, Any], doorman: Doorman) -> Welcome | Answer | Refusal:
        """What becomes of a registration.

        Args:
            sent: the page's data: ``parameters`` of its address, and what it is ``here_to`` do: ``look`` at what there is
                (who is at work already goes on at once), ``begin``, ``decline``, or ``give_back``.
            doorman: asked before anything of the visitor's is told, or changed.
        """
        try:
            return self._received(sent, doorman)
        except TurnedAway as turned_away:
            return Answer(WRONG_LINK, str(turned_away), kind="wrong_link")

    def _received(self, sent: dict[str, Any], doorman: Doorman) -> Welcome | Answer | Refusal:
        arrival = arrival_by(self._doors, read_parameters(sent.get("parameters")))
        if (stranger := doorman.stranger(arrival, self._claimed_by(arrival))) is not None:
            return stranger
        visit = self._visit_of(arrival, doorman.is_open)
        at_work = visit is not None and visit.status == "here" and doorman.is_open(visit.registration)
        match sent.get("here_to", "begin"):
            case "decline" if not at_work:
                return Answer(*DECLINED, self._way_out(arrival, "no_consent"), kind="declined")
            case "give_back" if visit is not None and at_work:
                self._store.end(visit, "returned")
                words = RETURNED_NOW if self._takes_back(arrival) else GIVEN_BACK
                return Answer(*words, self._way_out(arrival, "returned"), visit.registration, kind="gave_back")
        if visit is not None and visit.status == "complete":
            return Answer(*DONE_ALREADY, self._way_out(arrival, "complete"), kind="done_already")
        if visit is not None and visit.status == "returned":
            return Answer(*RETURNED_ALREADY, self._way_out(arrival, "returned"), kind="returned_already")
        if sent.get("here_to") == "look" and not at_work:
            return Answer(looks=arrival.worker_name)
        if not at_work and (full := doorman.full(arrival.worker_name)) is not None:
            return full
        if not at_work and (asked := doorman.consent(arrival.worker_name)) is not None:
            return asked
        if not at_work and (door := self._door_of(arrival)) is not None:
            door.begins(arrival)
        begun = self._begin(arrival, visit, at_work)
        return Welcome(self._provider_data(begun), begun, arrival.vouched)

    def _claimed_by(self, arrival: Arrival) -> list[Visit]:
        """What a visitor could go on with, or would be told the end of: that of their session, and what is unfinished."""
        newest = self._store.newest_of(self._task_name, arrival.worker_name)
        claimed = [newest] if newest is not None and newest.status in ("here", "timed_out") else []
        known = self._store.of_session(self._task_name, arrival.door, arrival.session) if arrival.session else None
        is_theirs = known is not None and known.worker_name == arrival.worker_name
        return [*claimed, known] if known is not None and is_theirs and known not in claimed else claimed

    def _visit_of(self, arrival: Arrival, is_open: Callable[[str], bool]) -> Visit | None:
        """The visit that this arrival goes on with, if there is one; where sessions are counted, that of the session.

        Raises:
            TurnedAway: the session is somebody else's.
        """
        newest = self._store.newest_of(self._task_name, arrival.worker_name)
        if newest is not None and not (newest.status == "here" and is_open(newest.registration)):
            newest = None
        if not arrival.session:
            return newest
        known = self._store.of_session(self._task_name, arrival.door, arrival.session)
        if known is not None and known.worker_name != arrival.worker_name:
            raise TurnedAway(OTHER_PERSON)
        if known is not None and known.status in ("complete", "returned"):
            return known
        return newest or known

    def _begin(self, arrival: Arrival, visit: Visit | None, at_work: bool) -> Visit:
        if visit is None:
            return self._store.add(self._task_name, arrival)
        if visit.session == arrival.session and visit.arrival.door == arrival.door:
            return visit if at_work else self._store.begin_again(visit)
        # The worker is at work under another session: that work goes on, under the one that they came with now.
        known = arrival.session and self._store.of_session(self._task_name, arrival.door, arrival.session)
        return self._store.go_on_as(visit, known or self._store.add(self._task_name, arrival))

    def way_out(self, worker_name: str, outcome: Outcome) -> Redirect | None:
        """Where a worker goes whose newest visit ends so. Mephisto tells how units end; who had none yet, ends here."""
        visit = self._store.newest_of(self._task_name, worker_name)
        if visit is None:
            return None
        if visit.status == "here" and visit.agent_id is None and outcome != "complete":
            self._store.end(visit, outcome)
        return self._way_out(visit.arrival, outcome)

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """Nobody is asked to return the task who has a way out, which may pay for the time; nor is who was invited."""
        if redirect is not None:
            return instead_of_returning(text, t("go back to {site}", site=redirect.site))
        visit = self._store.newest_of(self._task_name, worker_name)
        closes = visit is not None and not self._takes_back(visit.arrival)
        return instead_of_returning(text, t("close this page")) if closes else text

    def work_done(self, agent_id: str) -> None:
        """The unit is done; from now on its visitor is only sent back."""
        self._store.end_of_agent(agent_id, "complete")

    def screened_out(self, worker_name: str) -> Redirect | None:
        """A worker may not take part, or not any more: where they go."""
        visit = self._store.newest_of(self._task_name, worker_name)
        was_away = visit is not None and visit.status == "timed_out"
        return self.way_out(worker_name, "timed_out" if was_away else "screened_out")

    def given_back(self, agent_ids: list[str]) -> set[str]:
        """Those of these units' agents that were given back at the panel, as another process read."""
        return self._store.returned_agents(agent_ids)

    def _way_out(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        door = self._door_of(arrival)
        return None if door is None else door.way_out(arrival, outcome)

    def _takes_back(self, arrival: Arrival) -> bool:
        """Of a door that this launch does not have, it is taken that there was a site."""
        door = self._door_of(arrival)
        return door is None or door.takes_back

    def _door_of(self, arrival: Arrival) -> Door | None:
        return next((door for door in self._doors if door.name == arrival.door), None)

    def _provider_data(self, visit: Visit) -> dict[str, Any]:
        return {
            "worker_name": visit.worker_name,
            "agent_registration_id": visit.registration,
            "assignment_id": visit.session or visit.registration,
            "provider_type": self._provider_type,
            VISIT: visit.visit_id,
        }
