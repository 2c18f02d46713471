"""A crowd whose raters come by an address, and their reception: parameters become an arrival or a refusal.

The server decides who that is. A launch has several doors; the first that knows its own parameters answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mephisto_tasks.admission import visits
from mephisto_tasks.crowds.crowd import Crowd, CrowdLaunch, CrowdSetup, Forgotten, Market, Trace
from mephisto_tasks.crowds.link.datastore import FILE, LINK, VISIT, LinkDatastore
from parlai_humaneval.i18n.translate import phrase, phrases, t
from parlai_humaneval.schema.wire import Redirect

if TYPE_CHECKING:
    from mephisto_tasks.server.app import Guard

MOST_PARAMETERS = 50
LONGEST_NAME = 100
LONGEST_VALUE = 2000

PHRASES = phrases(__file__)
NO_LINK = PHRASES["no_link"]
UNREADABLE = PHRASES["unreadable"]


class Door(Protocol):
    """One way in, and the ways out that belong to it."""

    @property
    def name(self) -> str: ...  # such as ``invitation``; it is stored with every visit
    @property
    def takes_back(self) -> bool: ...  # whether visitors came from a site to which they return the task

    def arrival(self, parameters: visits.Parameters) -> visits.Arrival | None:
        """The visitor; None: no parameters of this door. Raises TurnedAway: they are forged, expired, or too few."""

    def begins(self, arrival: visits.Arrival) -> None:
        """Note that the visitor begins, who so far may only have looked. Raises TurnedAway."""

    def exit(self, arrival: visits.Arrival, outcome: visits.Outcome) -> Redirect | None:
        """Where the visitor goes in the end; None: they may just close the page."""


def read_parameters(sent: object) -> visits.Parameters:
    """The parameters of an address, which a page sends as pairs of a name and a value. Raises TurnedAway."""
    if not isinstance(sent, Sequence) or isinstance(sent, str) or len(sent) > MOST_PARAMETERS:
        raise visits.TurnedAway(UNREADABLE)
    parameters: dict[str, str] = {}
    for pair in sent:
        match pair:
            case [str(name), str(value)] if len(name) <= LONGEST_NAME and len(value) <= LONGEST_VALUE:
                if parameters.setdefault(name, value) != value:
                    raise visits.TurnedAway(PHRASES["twice"])
            case _:
                raise visits.TurnedAway(UNREADABLE)
    return parameters


def arrival_by(doors: Sequence[Door], parameters: visits.Parameters) -> visits.Arrival:
    """The person who came, as the first door says that knows the parameters. Raises TurnedAway."""
    for door in doors:
        if (arrival := door.arrival(parameters)) is not None:
            return arrival
    raise visits.TurnedAway(NO_LINK)


DONE_ALREADY = (phrase("Thank you!"), phrase("You have already completed this task, and everything is saved."))
RETURNED_ALREADY = (phrase("This task is closed"), PHRASES["returned_already"])
RETURNED_NOW = (phrase("You have returned the task"), PHRASES["returned_now"])
GIVEN_BACK = (phrase("You have returned the task"), PHRASES["given_back"])
DECLINED = (
    phrase("You are not taking part"),
    phrase("That is fine: nothing about you was stored here. Thank you for your time!"),
)


class Reception(visits.Site):
    """Receives the visitors of one launch; visits of a task go on over its launches."""

    declined = DECLINED  # what they read who do not want to take part: title and text

    def __init__(self, store: LinkDatastore, doors: Sequence[Door], task_name: str, provider_type: str) -> None:
        self._store, self._doors = store, doors
        self._task_name, self._provider_type = task_name, provider_type

    def identify(self, visitor: visits.Visitor) -> visits.Refusal | None:
        """Identify the visitor, only by ``parameters`` of their page's address, and the visits that they claim."""
        try:
            arrival = arrival_by(self._doors, read_parameters(visitor.data.get("parameters")))
        except visits.TurnedAway as turned_away:
            return turned_away.refusal
        visitor.arrival = arrival
        visitor.worker_name = visitor.known_as = arrival.worker_name
        # Visits to continue, or whose end the visitor should see: their session's visit, and unfinished ones.
        newest = self._store.newest_of(self._task_name, arrival.worker_name)
        claimed = [newest] if newest is not None and newest.status in ("here", "timed_out") else []
        known = self._store.of_session(self._task_name, arrival.door, arrival.session) if arrival.session else None
        is_theirs = known is not None and known.worker_name == arrival.worker_name
        visitor.vouched, visitor.visits = arrival.vouched, claimed
        if known is not None and is_theirs and known not in claimed:
            visitor.visits = [*claimed, known]
        return None

    def refusal(self, visitor: visits.Visitor) -> visits.Refusal | None:
        """Why a visitor does not come in, by their visit and what their page is ``here_to`` do: ``look``, ``begin``, …."""
        arrival, here_to = visitor.arrival, visitor.data.get("here_to", "begin")
        assert arrival is not None, "visitors are identified first"
        try:
            visit = self._visit_of(arrival, visitor.pages.is_open)
        except visits.TurnedAway as turned_away:
            return turned_away.refusal
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

    def begin(self, visitor: visits.Visitor) -> visits.Refusal | None:
        """Begin the visit, and pass it to Mephisto instead of the page's data."""
        arrival = visitor.arrival
        assert arrival is not None, "visitors are identified first"
        door = self._door_of(arrival)
        try:
            if door is not None and not visitor.at_work:
                door.begins(arrival)
        except visits.TurnedAway as turned_away:
            return turned_away.refusal
        begun = self._begin(arrival, next(iter(visitor.visits), None), visitor.at_work)
        visitor.visits = [begun]
        visitor.data = {
            "worker_name": begun.worker_name,
            "agent_registration_id": begun.registration,
            "assignment_id": begun.session or begun.registration,
            "provider_type": self._provider_type,
            VISIT: begun.visit_id,
        }
        return None

    def _farewell(
        self, kind: str, words: tuple[str, str], arrival: visits.Arrival, outcome: visits.Outcome
    ) -> visits.Refusal:
        title, text = words
        return visits.Refusal(kind, kind, text, title=title, outcome=outcome, redirect=self._exit(arrival, outcome))

    def _visit_of(self, arrival: visits.Arrival, is_open: Callable[[str], bool]) -> visits.Visit | None:
        """The visit (with sessions: that of the session) to go on with. Raises TurnedAway: it is somebody else's."""
        newest = self._store.newest_of(self._task_name, arrival.worker_name)
        if newest is not None and not (newest.status == "here" and is_open(newest.registration)):
            newest = None
        if not arrival.session:
            return newest
        known = self._store.of_session(self._task_name, arrival.door, arrival.session)
        if known is not None and known.worker_name != arrival.worker_name:
            raise visits.TurnedAway(PHRASES["other_person"])
        if known is not None and known.status in ("complete", "returned"):
            return known
        return newest or known

    def _begin(self, arrival: visits.Arrival, visit: visits.Visit | None, at_work: bool) -> visits.Visit:
        if visit is None:
            return self._store.add(self._task_name, arrival)
        if visit.session == arrival.session and visit.door == arrival.door:
            return visit if at_work else self._store.begin_again(visit)
        # The worker is at work under another session: that work goes on, under the one that they came with now.
        known = arrival.session and self._store.of_session(self._task_name, arrival.door, arrival.session)
        return self._store.go_on_as(visit, known or self._store.add(self._task_name, arrival))

    def exit(self, worker_name: str, outcome: visits.Outcome) -> Redirect | None:
        """Where to send a worker after their newest visit. Mephisto reports how units end; other visits end here."""
        visit = self._store.newest_of(self._task_name, worker_name)
        if visit is None:
            return None
        if visit.status == "here" and visit.agent_id is None and outcome != "complete":
            self._store.end(visit, outcome)
        return self._exit(visit, outcome)

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """Nobody is asked to return the task who has a way out, which may pay for the time; nor is who was invited."""
        if redirect is not None:
            return visits.instead_of_returning(text, t("go back to {site}", site=redirect.site))
        visit = self._store.newest_of(self._task_name, worker_name)
        closes = visit is not None and not self._takes_back(visit)
        return visits.only_closing(text) if closes else text

    def work_done(self, agent_id: str) -> None:
        self._store.end_of_agent(agent_id, "complete")

    def screened_out(self, worker_name: str) -> Redirect | None:
        visit = self._store.newest_of(self._task_name, worker_name)
        was_away = visit is not None and visit.status == "timed_out"
        return self.exit(worker_name, "timed_out" if was_away else "screened_out")

    def given_back(self, agent_ids: list[str]) -> set[str]:
        """The agents of these units that were returned at the panel, as another process read."""
        return self._store.returned_agents(agent_ids)

    def _exit(self, arrival: visits.Arrival, outcome: visits.Outcome) -> Redirect | None:
        door = self._door_of(arrival)
        return None if door is None else door.exit(arrival, outcome)

    def _takes_back(self, arrival: visits.Arrival) -> bool:
        """If this launch does not have the door, assume that there was a site."""
        door = self._door_of(arrival)
        return door is None or door.takes_back

    def _door_of(self, arrival: visits.Arrival) -> Door | None:
        return next((door for door in self._doors if door.name == arrival.door), None)


@dataclass
class LinkLaunch(CrowdLaunch):
    crowd: LinkCrowd

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Settings below ``mephisto.provider``."""
        return {str(name): value for name, value in self.provider.items()}

    def prepare(self, db: Any) -> list[str]:
        requester = str(self.provider.requester_name)
        if not db.find_requesters(requester_name=requester):
            self.crowd.mephisto_provider().RequesterClass.new(db, requester)
        return []

    def receive(self, db: Any) -> Reception | None:
        doors = self.crowd.doors(self.settings, self.data_dir, self.task_name)
        store = self.crowd.mephisto_provider()(db).datastore
        self._reception = Reception(store, doors, self.task_name, self.crowd.provider_type)
        return self._reception

    def setup(self, db: Any) -> CrowdSetup:
        setup = super().setup(db)
        setup.site = self._reception
        secure = str(self.config.mephisto.architect.get("public_url") or "").startswith("https://")
        setup.guard = self.crowd.guard(self.data_dir, self.task_name, secure=secure)
        return setup

    def raters_link(self, url: str, live_run: Any) -> str:
        return f"{url.rstrip('/')}/{self.crowd.personal_link}" if self.crowd.personal_link else url

    def page_words(self) -> dict[str, Any]:
        return {"panel": None}


class LinkCrowd(Crowd, ABC):
    market = Market(opens_at_once=True)
    page_script = Path(__file__).parent / "link_crowd_source.js"
    page_type = LINK
    page_entry = "address"
    claim_advice = PHRASES["go_on_there_by_link"]
    Launch: type[CrowdLaunch] = LinkLaunch
    personal_link: str = ""
    """What follows the pages' address in a rater's link, with words in capitals for what differs: ``?name=NAME``."""

    @abstractmethod
    def doors(self, settings: Mapping[str, Any], data_dir: Path, task_name: str) -> list[Door]:
        """The ways in of a launch, in the order in which they are asked. Raises ConfigError."""

    def guard(self, data_dir: Path, task_name: str, *, secure: bool) -> Guard | None:
        """Hides the pages from visitors without a valid link; ``secure``: pages are reached only by https."""
        return None

    def register_provider(self) -> None:
        self.mephisto_provider()

    def mephisto_provider(self) -> Any:
        from mephisto_tasks.crowds.link.provider import link_provider

        return link_provider(self.provider_type, self.Settings)

    def check(self, settings: Mapping[str, Any]) -> None:
        self.doors(settings, Path(), "")

    def traces(self, data_dir: Path, person: Forgotten) -> list[Trace]:
        theirs = "DELETE FROM visits WHERE worker_name = ?"
        statements = [(f"{theirs} AND task_name = ?", (person.name, task)) for task in person.tasks]
        blocked = ("DELETE FROM blocked WHERE worker_id = ?", (person.worker_id,))
        everything = [(theirs, (person.name,)), blocked]
        return [Trace(data_dir / self.provider_type / FILE, everything if person.everywhere else statements)]

    def outside_ids(self, data_dir: Path, person: Forgotten) -> list[str]:
        from mephisto_tasks.storage.results import rows_of

        marks = ", ".join("?" * len(person.tasks))
        sql = f"SELECT session, registration FROM visits WHERE worker_name = ? AND task_name IN ({marks})"
        rows = rows_of(data_dir / self.provider_type / FILE, "visits", sql, [person.name, *person.tasks])
        return [str(value) for row in rows for value in row]
