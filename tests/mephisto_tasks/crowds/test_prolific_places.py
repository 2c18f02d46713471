"""Places on Prolific follow what is to be done: in steps, never too many, whoever comes, leaves, or does not answer."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from live import eventually, good_replies, lasting_port
from prolific_hands import FromProlific, on_prolific, only_study, open_places, person_id, prolific_at_home
from servers.prolific import BAD_GATEWAY, BUSY, CUT_AFTER, ERROR_AFTER, NotAllowed, Participant, StandIn

from mephisto_tasks.admission.visits import Arrival, Visit
from mephisto_tasks.control.orders import Pause, Resume, give
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.panels.panel import read_panel
from mephisto_tasks.crowds.prolific import arrivals, launch, market
from mephisto_tasks.crowds.prolific.arrivals import Endings
from mephisto_tasks.crowds.prolific.client import Patience, Prolific
from mephisto_tasks.crowds.prolific.market import StudyFollower
from mephisto_tasks.crowds.prolific.store import OurStudy, ProlificStore, link, make_draft, new_codes, new_mark
from mephisto_tasks.payments.policy import Quote

TASK = "places"
DECIDED = [
    "mephisto.blueprint.stop=decided",
    "mephisto.blueprint.margin=0.3",
    "mephisto.blueprint.max_dialogues=60",
    "mephisto.blueprint.raters_at_a_time=3",
    "~mephisto.blueprint.dialogues_per_group",
]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    monkeypatch.setattr(Patience, "pause", lambda *_: 0.01)
    monkeypatch.setattr(arrivals, "AGAIN_S", 0.1)
    with prolific_at_home(monkeypatch, tmp_path / "home", balance=10_000_00) as prolific:
        yield prolific


async def test_places_are_opened_in_steps(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(
        data_dir, "mephisto.blueprint.dialogues_per_group=6", "mephisto.provider.start_places=2"
    ) as run:
        await eventually(lambda: open_places(site) == 2)
        async with FromProlific(run, site, "ann") as ann:
            await ann.begin_work()
            await eventually(lambda: (open_places(site), only_study(site).places) == (2, 3))
            await ann.finish()
        await eventually(lambda: (open_places(site), only_study(site).places) == (2, 3))


async def test_a_study_that_ends_when_it_is_decided_is_never_offered_as_a_whole(site: StandIn, data_dir: Path) -> None:
    async with on_prolific(data_dir, *DECIDED) as run:
        await eventually(lambda: open_places(site) == 3)
        study = only_study(site)
        assert study.fields["submissions_config"]["max_concurrent_submissions"] == 3
        async with FromProlific(run, site, "ann") as ann:
            await ann.begin_work()
            await eventually(lambda: study.places == 4)
            await ann.finish()
        assert run.study.remaining > 10
    assert (study.status, study.places) == ("PAUSED", 4)


async def test_a_pause_there_is_left_to_whoever_made_it(
    site: StandIn, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with on_prolific(data_dir) as run:
        await eventually(lambda: open_places(site) == 2)
        site.market.set_status(only_study(site), "PAUSED")
        await eventually(lambda: market.PAUSED_THERE in caplog.text)
        assert only_study(site).status == "PAUSED"
        give(data_dir, run.task_name, Pause())
        await eventually(lambda: run.study.paused)
        site.market.set_status(only_study(site), "ACTIVE")
        await eventually(lambda: only_study(site).status == "PAUSED")
        give(data_dir, run.task_name, Resume())
        await eventually(lambda: open_places(site) == 2)


async def test_the_study_is_paused_while_our_link_does_not_answer(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(market, "LINK_AGAIN_S", 0.1)
    async with on_prolific(data_dir):
        await eventually(lambda: open_places(site) == 2)
        with monkeypatch.context() as gone:
            gone.setattr(launch, "_no_answer", lambda url: "the tunnel is closed")
            await eventually(lambda: only_study(site).status == "PAUSED")
            assert "(the tunnel is closed): the study is paused until it does" in caplog.text
        await eventually(lambda: open_places(site) == 2)


async def test_who_comes_for_a_place_that_was_just_given_back_gets_its_unit(
    site: StandIn, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are quicker than we are: Prolific gives the place on in a second."""
    monkeypatch.setattr(market, "POLL_S", 60.0)
    async with on_prolific(data_dir, "mephisto.blueprint.dialogues_per_group=1") as run:
        await eventually(lambda: open_places(site) == 1)
        async with FromProlific(run, site, "ann") as ann:
            await ann.begin_work()
            ann.person.give_back()
            async with FromProlific(run, site, "bob") as bob:
                assert bob.client.refused is None
                await bob.finish()
        await eventually(run.is_done)


async def test_the_end_of_a_launch_pauses_and_the_next_goes_on(site: StandIn, data_dir: Path) -> None:
    """Somebody inside is sent back as done; whoever comes to the next launch finds the same study."""
    port = f"mephisto.architect.port={lasting_port()}"
    async with on_prolific(data_dir, port) as run:
        await eventually(lambda: open_places(site) == 2)
        ann = FromProlific(run, site, "ann")
        await ann.__aenter__()
        await ann.begin_work()
    assert only_study(site).status == "PAUSED"
    assert ann.status == "AWAITING REVIEW"
    await ann.__aexit__(None, None, None)
    async with on_prolific(data_dir, port) as run:
        await eventually(lambda: open_places(site) == 2)
        for name in ("bob", "cat"):
            await eventually(lambda: open_places(site) >= 1)
            async with FromProlific(run, site, name) as rater:
                await rater.finish()
        await eventually(run.is_done)
    assert len(site.market.studies) == 1
    assert sorted(submission.status for submission in only_study(site).submissions) == ["AWAITING REVIEW"] * 3


async def test_no_more_places_than_were_agreed_to(
    site: StandIn, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who fails the practice is asked to return; who does not is paid in the end, and so is not replaced."""
    quotes: list[Quote] = []
    practised = ["mephisto.blueprint.onboarding_qualification=practised", "mephisto.task.task_reward=1.50"]
    settings = [*practised, f"mephisto.architect.port={lasting_port()}"]
    async with on_prolific(data_dir, *settings, agree=quotes.append) as run:
        for name in ("dan", "eve"):
            await eventually(lambda: open_places(site) >= 1)
            async with FromProlific(run, site, name) as rater:
                await rater.practise(["bad"] * 8, good_replies(run))
                await rater.client.submit_onboarding()
        await eventually(lambda: "more places than the 2 that you agreed to" in caplog.text)
        assert (only_study(site).places, open_places(site)) == (2, 0)
        rater.person.give_back()
        await eventually(lambda: open_places(site) == 1)
        async with FromProlific(run, site, "ann") as ann:
            await ann.practise(["good"] * 4, good_replies(run))
            await ann.client.submit_onboarding()
            await ann.finish()
    async with on_prolific(data_dir, *settings, agree=quotes.append):
        await eventually(lambda: open_places(site) == 1)
    assert only_study(site).places == 3
    site.clock.move(22 * 24 * 3600)
    charged = Decimal(sum(charge.price.total for charge in site.charges)) / 100
    assert [quote.units for quote in quotes] == [2, 1]
    assert charged <= quotes[0].total


@dataclass
class Units:
    """A launch without pages: so many units, which people take and do. It is a :class:`.LaunchControl`."""

    number: int
    paused: bool = False
    url: str = ""
    held: dict[str, int] = field(default_factory=dict)
    """Agent → unit."""

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.units = [SimpleNamespace(db_status="launched") for _ in range(self.number)]
        self.live_run: Any = SimpleNamespace(
            task_launcher=SimpleNamespace(units=self.units, payable=None),
            worker_pool=SimpleNamespace(onboarding_agents={}),
            task_runner=self,
        )

    @property
    def running_units(self) -> dict[int, Any]:
        with self.lock:
            return {unit: SimpleNamespace(agent=SimpleNamespace(db_id=agent)) for agent, unit in self.held.items()}

    @property
    def remaining(self) -> int:
        return sum(unit.db_status != "completed" for unit in self.units)

    @property
    def free(self) -> int:
        return sum(unit.db_status == "launched" for unit in self.units)

    def take(self, agent: str) -> bool:
        with self.lock:
            number = next((number for number, unit in enumerate(self.units) if unit.db_status == "launched"), None)
            if number is None:
                return False
            self.units[number].db_status, self.held[agent] = "assigned", number
            return True

    def leave(self, agent: str, status: str) -> None:
        with self.lock:
            self.units[self.held.pop(agent)].db_status = status


class Crowd:
    """People who come, work, leave, return, and time out, as chance has it."""

    def __init__(self, site: StandIn, units: Units, visits: LinkDatastore, ends: Endings, study: OurStudy, seed: int):
        self.site, self.units, self.visits, self.ends, self.study = site, units, visits, ends, study
        self.chance = random.Random(seed)
        self.inside: list[tuple[Participant, Visit, str]] = []
        self.on_their_way: list[Participant] = []
        self.vain = self.most_over = 0
        self.has_room: Callable[[], bool] = lambda: True
        self._came: dict[str, int] = {}
        self._numbers = iter(range(10**6))

    def step(self) -> None:
        """One thing happens; then nobody may be able to enter in vain, but for those who are on their way."""
        what = self.chance.choices(["comes", "arrives", "does", "returns", "vanishes"], [6, 6, 5, 1.2, 0.4])[0]
        getattr(self, what)()
        for agent in self.visits.returned_agents(list(self.units.held)):
            self.units.leave(agent, "launched")
        self.check()

    def check(self) -> None:
        theirs = self.site.market
        with theirs.lock:
            study = theirs.studies[self.study.study_id]
            inside = study.count("RESERVED", "ACTIVE")
            free = study.places - theirs.occupied(study) if study.status == "ACTIVE" else 0
            let_in = study.fields["submissions_config"]["max_concurrent_submissions"]
            at_work = sum(agent in self.units.held and person.status == "ACTIVE" for person, _, agent in self.inside)
            self.most_over = max(self.most_over, min(free, let_in - inside) - (self.units.remaining - at_work) - inside)

    def comes(self) -> None:
        somebody = self.site.participant(person_id(f"p{next(self._numbers)}"))
        try:
            somebody.take(self.study.study_id)
        except NotAllowed:
            return
        self.on_their_way.append(somebody)

    def arrives(self) -> None:
        if not self.on_their_way:
            return
        somebody = self.on_their_way.pop(0)
        if not self.has_room() and self._came.setdefault(somebody.id, 0) < 200:
            self._came[somebody.id] += 1
            self.on_their_way.append(somebody)
            return
        session, agent = somebody.submission_id, f"a{next(self._numbers)}"
        visit = self.visits.add(TASK, Arrival(f"prolific:{somebody.id}", "prolific", self.study.study_id, session))
        if not self.units.take(agent):
            self.vain += 1
            self.visits.end(visit, "screened_out")
            self.ends.end(session, self.study.study_id, "turned_away")
            return
        self.visits.give_agent(visit.visit_id, agent)
        self.inside.append((somebody, visit, agent))

    def does(self) -> None:
        somebody = self._somebody("ACTIVE")
        if somebody is not None:
            _, visit, agent = somebody
            self.visits.end_of_agent(agent, "complete")
            self.units.leave(agent, "completed")
            self.ends.end(visit.session, self.study.study_id, "complete")

    def returns(self) -> None:
        if (somebody := self._somebody("ACTIVE")) is not None:
            somebody[0].give_back()

    def vanishes(self) -> None:
        if (somebody := self._somebody("ACTIVE")) is not None:
            found = self.site.market.submission(somebody[0].submission_id)
            assert found is not None
            with self.site.market.lock:
                self.site.market.become(found, "TIMED-OUT")

    def _somebody(self, status: str) -> tuple[Participant, Visit, str] | None:
        here = [one for one in self.inside if one[2] in self.units.held and one[0].status == status]
        if not here:
            return None
        chosen = self.chance.choice(here)
        self.inside.remove(chosen)
        return chosen


@pytest.mark.slow
@pytest.mark.parametrize("reserved_is_taken", [True, False])
def test_many_places_in_a_storm(
    site: StandIn, tmp_path: Path, reserved_is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every unit is done once, hardly anybody comes in vain, and no place is open that nobody could use."""
    monkeypatch.setattr(market, "POLL_S", 0.02)
    site.market.unknowns.reserved_is_taken = reserved_is_taken
    client, store = Prolific(site.token, site.base), ProlificStore(tmp_path)
    study = draft(client, store, site, places=80)
    units, visits = Units(80), LinkDatastore(tmp_path)
    ends = Endings(client, store, TASK)
    follower = StudyFollower(client, study, units, visits, ends, None, most_inside=40)
    follower.start()
    crowd, weather = Crowd(site, units, visits, ends, study, seed=3), random.Random(3)
    crowd.has_room = follower.has_room
    faults = [BAD_GATEWAY, BUSY, CUT_AFTER, ERROR_AFTER]
    try:
        deadline = time.monotonic() + 120
        while units.remaining:
            assert time.monotonic() < deadline, f"{units.remaining} units are not done"
            crowd.step()
            time.sleep(0.002)
            if weather.random() < 0.05 and not site.faults.left():
                site.faults.next("*", weather.choice(faults))
        follower.look()
    finally:
        site.faults.clear()
        follower.stop()
    follower.close()
    there = site.market.studies[study.study_id]
    done = [submission for submission in there.submissions if submission.code == codes(study)["COMPLETED"]]
    assert len(done) == 80
    assert crowd.most_over <= 0
    assert crowd.vain <= 3
    assert there.status in ("COMPLETED", "AWAITING REVIEW")


def test_an_answer_that_is_reached_stops_the_study(site: StandIn, tmp_path: Path) -> None:
    """With places that nobody has taken: nobody new comes, and who is inside may finish."""
    client, store = Prolific(site.token, site.base), ProlificStore(tmp_path)
    study, units, visits = draft(client, store, site, places=3), Units(3), LinkDatastore(tmp_path)
    ends = Endings(client, store, TASK)
    follower = StudyFollower(client, study, units, visits, ends, None, most_inside=40, most_open=2)
    follower.start()
    somebody = site.participant()
    while not somebody.studies():
        time.sleep(0.05)
    somebody.take()
    for unit in units.units:
        unit.db_status = "completed"
    follower.stop()
    assert follower.close() == "COMPLETED"
    assert (somebody.status, site.participant().studies()) == ("ACTIVE", [])
    ends.end(somebody.submission_id, study.study_id, "complete")
    assert somebody.status == "AWAITING REVIEW"


def test_a_study_whose_work_was_all_reviewed_opens_again_and_one_that_a_person_stopped_does_not(
    site: StandIn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client, store = Prolific(site.token, site.base), ProlificStore(tmp_path)
    study, units, visits = draft(client, store, site, places=1), Units(1), LinkDatastore(tmp_path)
    ends = Endings(client, store, TASK)
    follower = StudyFollower(client, study, units, visits, ends, None, most_inside=40)
    follower.look()
    somebody = site.participant()
    while not somebody.studies():
        time.sleep(0.05)
    somebody.take()
    ends.end(somebody.submission_id, study.study_id, "complete")
    client.post(f"submissions/{somebody.submission_id}/transition/", {"action": "APPROVE"})
    assert only_study(site).status == "COMPLETED"
    follower.look()
    assert open_places(site) == 1
    client.post(f"studies/{study.study_id}/transition/", {"action": "STOP"})
    follower.look()
    assert (open_places(site), only_study(site).status) == (0, "COMPLETED")
    assert market.PAUSED_THERE in caplog.text


def codes(study: OurStudy) -> dict[str, str]:
    """Of our server, by Prolific's kind."""
    ours = (code for code in study.body["completion_codes"] if code["actor"] == "researcher")
    return {code["code_type"]: code["code"] for code in ours}


def draft(client: Prolific, store: ProlificStore, site: StandIn, places: int) -> OurStudy:
    body = {
        "name": "A study",
        "description": "Chat",
        "external_study_url": link("http://127.0.0.1:1", read_panel("prolific")),
        "prolific_id_option": "url_parameters",
        "total_available_places": places,
        "estimated_completion_time": 5,
        "maximum_allowed_time": 65,
        "reward": 100,
        "device_compatibility": ["desktop"],
        "completion_codes": new_codes(None),
        "filters": [],
        "project": site.project.id,
        "submissions_config": {"max_submissions_per_participant": 1, "max_concurrent_submissions": 40},
    }
    new = OurStudy(new_mark(TASK), TASK, "lab", site.workspace.id, site.project.id, "", body, time.time())
    return make_draft(client, store, new)[0]
