"""Where everybody who comes by a link is received: new visitors, those who come back, and those who leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mephisto_tasks.admission.refusal import Refusal, Visitor
from mephisto_tasks.admission.visits import Arrival, OnlyLooks, Outcome, TurnedAway, Visit, instead_of_returning
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


class Reception:
    """Receives the visitors of one launch.

    Args:
        store: of the provider.
        doors: in which order they are asked.
        task_name: visits of one task go on over its launches.
        provider_type: of the crowd.
    """

    declined = DECLINED
    """What they read who do not want to take part: title and text."""

    def __init__(self, store: LinkDatastore, doors: Sequence[Door], task_name: str, provider_type: str) -> None:
        self._store = store
        self._doors = doors
        self._task_name = task_name
        self._provider_type = provider_type

    def identify(self, visitor: Visitor) -> Refusal | None:
        """Who comes, by ``parameters`` of their page's address, which count alone; and the visits that they claim."""
        try:
            arrival = arrival_by(self._doors, read_parameters(visitor.data.get("parameters")))
        except TurnedAway as turned_away:
            return _wrong_link(turned_away)
        visitor.arrival = arrival
        visitor.worker_name = visitor.known_as = arrival.worker_name
        visitor.vouched, visitor.visits = arrival.vouched, self._claimed_by(arrival)
        return None

    def refusal(self, visitor: Visitor) -> Refusal | None:
        """Why a visitor does not come in, by what became of their visit, and what their page is ``here_to`` do: ``look`` at
        what there is (a rater at work goes on at once), ``begin``, ``decline``, or ``give_back``.
        """
        arrival, here_to = visitor.arrival, visitor.data.get("here_to", "begin")
        assert arrival is not None, "visitors are identified first"
        try:
            visit = self._visit_of(arrival, visitor.pages.is_open)
        except TurnedAway as turned_away:
            return _wrong_link(turned_away)
        visitor.at_work = visit is not None and visit.status == "here" and visitor.pages.is_open(visit.registration)
        visitor.visits = [] if visit is None else [visit]
        if here_to == "decline" and not visitor.at_work:
            return self._farewell("declined", self.declined, arrival, "no_consent")
        if visit is not None and here_to == "give_back" and visitor.at_work:
            self._store.end(visit, "returned")
            visitor.pages.release(visit.registration)
            words = RETURNED_NOW if self._takes_back(arrival) else GIVEN_BACK
            return self._farewell("gave_back", words, arrival, "returned")
        if visit is not None and visit.status == "complete":
            return self._farewell("done_already", DONE_ALREADY, arrival, "complete")
        if visit is not None and visit.status == "returned":
            return self._farewell("returned_already", RETURNED_ALREADY, arrival, "returned")
        if here_to == "look" and not visitor.at_work:
            visitor.stage = "looks"
            visitor.worker = next(iter(visitor.pages.find_workers(arrival.worker_name)), None)
        return None

    def begin(self, visitor: Visitor) -> Refusal | None:
        """The visit begins, and Mephisto is told of it in the place of what the page sent."""
        arrival = visitor.arrival
        assert arrival is not None, "visitors are identified first"
        door = self._door_of(arrival)
        try:
            if door is not None and not visitor.at_work:
                door.begins(arrival)
        except TurnedAway as turned_away:
            return _wrong_link(turned_away)
        begun = self._begin(arrival, next(iter(visitor.visits), None), visitor.at_work)
        visitor.visits, visitor.data = [begun], self._provider_data(begun)
        return None

    def _farewell(self, kind: str, words: tuple[str, str], arrival: Arrival, outcome: Outcome) -> Refusal:
        title, text = words
        return Refusal(kind, kind, text, title=title, outcome=outcome, redirect=self._exit(arrival, outcome))

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

    def exit(self, worker_name: str, outcome: Outcome) -> Redirect | None:
        """Where a worker goes whose newest visit ends so. Mephisto tells how units end; who had none yet, ends here."""
        visit = self._store.newest_of(self._task_name, worker_name)
        if visit is None:
            return None
        if visit.status == "here" and visit.agent_id is None and outcome != "complete":
            self._store.end(visit, outcome)
        return self._exit(visit.arrival, outcome)

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
        return self.exit(worker_name, "timed_out" if was_away else "screened_out")

    def given_back(self, agent_ids: list[str]) -> set[str]:
        """Those of these units' agents that were given back at the panel, as another process read."""
        return self._store.returned_agents(agent_ids)

    def _exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        door = self._door_of(arrival)
        return None if door is None else door.exit(arrival, outcome)

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


def _wrong_link(turned_away: TurnedAway) -> Refusal:
    if isinstance(turned_away, OnlyLooks):
        more = {"preview": True}
        return Refusal("preview", "looks at the preview", str(turned_away), outcome=None, turns_away=False, more=more)
    return Refusal(
        "wrong_link",
        "came with an address that lets nobody in",
        str(turned_away),
        title=turned_away.title or WRONG_LINK,
    )
