"""The order of the rules, and each refusal: what the rater reads, what is logged, what a panel is told, what stays free."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mephisto.abstractions.databases.local_database import LocalMephistoDB
from mephisto.abstractions.providers.mock.mock_worker import MockWorker

from mephisto_tasks.admission import admission as eligibility
from mephisto_tasks.admission import identity
from mephisto_tasks.admission.admission import Admission, load_eligibility, study_admission
from mephisto_tasks.admission.browsers import FILE, BrowserBook, Shown
from mephisto_tasks.admission.visits import GO_ON_THERE, ClaimPolicy, Outcome, Refusal, Rule, Stage, Visitor
from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.control.snapshot import Presence
from mephisto_tasks.session.study import UnitWords, filled
from mephisto_tasks.storage.database import close_connections
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, CONSENTS, REFUSALS, blocked_here, keep_blocked
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from mephisto_tasks.workers.qualifications import fail_practice, grant
from parlai_humaneval._util.data_files import packaged
from parlai_humaneval.materials.consent import Consent, load_consent
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

TASK = "study"
EXAMPLE = packaged("consent_example.yaml")
ANN, BEN = Shown.of(["a" * 43]), Shown.of(["b" * 43])


@dataclass
class Launch:
    """A study and its pages, as rules see them; every field is what a live launch would answer."""

    config: Any = field(
        default_factory=lambda: SimpleNamespace(
            most_inside=2,
            onboarding_qualification="practice",
            block_qualification="careless",
            payment=SimpleNamespace(practice=0.0),
        )
    )
    remaining: int = 1
    paused: bool = False
    left: Mapping[str, object] = field(default_factory=dict)
    stands: str = "all_taken"
    resumes: bool = False
    keeps: bool = False
    went_on: bool = False
    provider: object = None
    open: bool = False
    another: bool = False
    inside: int = 0
    presence: Presence = field(default_factory=Presence)
    workers: list[Any] = field(default_factory=list)
    barred: list[Any] = field(default_factory=list)

    def in_words(self, text: str) -> str:
        return filled(text, UnitWords())

    def availability(self, worker: str) -> str:
        return self.stands

    def can_resume(self, worker: str) -> bool:
        return self.resumes

    def keeps_places(self, ahead: int = 0) -> bool:
        return self.keeps

    def went_on_without(self, worker: str) -> bool:
        return self.went_on

    def bar_groups(self, worker: str, groups: Any) -> None:
        self.barred.append(groups)

    def is_open(self, registration: str) -> bool:
        return self.open

    def release(self, registration: str) -> None:
        self.open = False

    def has_another(self, worker_name: str) -> bool:
        return self.another

    def count_inside(self) -> tuple[int, int]:
        return self.inside, 0

    def find_workers(self, worker_name: str) -> list[Any]:
        return self.workers


class Elsewhere:
    """A crowd's provider to which nobody's arrival is known."""

    def refusal(self, provider_data: Mapping[str, object]) -> str | None:
        return "Please accept the task first."


class House:
    """Everything that decides on one worker, “ann”, of a database without a launch."""

    def __init__(self, data_dir: Path, db: Any) -> None:
        self.data_dir, self.launch = data_dir, Launch()
        self.worker: Any = MockWorker.new(db, "ann")
        self.pseudonym = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY).worker(self.worker.worker_name)
        self.book = BrowserBook(data_dir)
        self.consent: Consent | None = None
        self.rules = WorkerRules()

    @property
    def admission(self) -> Admission:
        eligible = load_eligibility(self.rules, self.data_dir, TASK)
        return study_admission(self.launch, eligible, self.consent, ClaimPolicy("mock"))

    def ask_consent(self) -> None:
        self.consent = load_consent(EXAMPLE)

    def bar(self) -> None:
        (self.data_dir / "barred.txt").write_text("ann\n")
        self.rules = WorkerRules(block_list=str(self.data_dir / "barred.txt"))

    def comes(self, shown: Shown = ANN) -> Visitor:
        data = {"worker_name": "ann", "agent_registration_id": "page", "assignment_id": "a"}
        return Visitor(self.launch, data, shown=shown)

    def is_(self, stage: Stage) -> Visitor:
        return Visitor(self.launch, stage=stage, worker=self.worker)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    db = LocalMephistoDB(str(tmp_path / "database.db"))
    house = House(tmp_path, db)
    yield house
    house.book.close()
    close_connections(db)


def test_reasons_are_looked_for_in_the_order_of_the_list(house: House) -> None:
    """Everything speaks against one visitor; whatever is mended, the next reason of the list is said."""
    launch, book = house.launch, house.book
    book.hold("ann", ['["mock", "worker", "ann"]'], BEN)
    launch.provider, launch.another, launch.inside = Elsewhere(), True, 2
    house.ask_consent()
    kinds = []
    for mend in (
        lambda: book.release("ann"),
        lambda: setattr(launch, "provider", None),
        lambda: setattr(launch, "another", False),
        lambda: setattr(launch, "inside", 0),
        lambda: setattr(house, "consent", None),
    ):
        refusal = house.admission.decide(house.comes())
        assert refusal is not None
        kinds.append(refusal.kind)
        mend()
    assert kinds == ["other_browser", "not_from_the_crowd", "busy", "full", "consent"]
    assert house.admission.decide(house.comes()) is None
    assert book.held_by_another(['["mock", "worker", "ann"]'], BEN), "who comes in has the name"

    grant(house.worker, BLOCKED_EVERYWHERE)
    fail_practice(house.worker, "practice")
    house.bar()
    launch.remaining, launch.paused = 0, True
    kinds = []
    for mend in (
        lambda: house.worker.revoke_qualification(BLOCKED_EVERYWHERE),
        lambda: house.worker.revoke_qualification("practice"),
        lambda: setattr(house, "rules", WorkerRules()),
        lambda: setattr(launch, "remaining", 1),
        lambda: setattr(launch, "paused", False),
        lambda: setattr(launch, "stands", "open"),
    ):
        refusal = house.admission.decide(house.is_("unserved"))
        assert refusal is not None
        kinds.append(refusal.kind)
        mend()
    assert kinds == ["blocked", "practice_failed", "block_list", "all_done", "paused", "all_taken"]
    assert house.admission.decide(house.is_("unserved")) is None


@dataclass(frozen=True)
class Case:
    """``outcome``: what a panel is told; ``passes``: they may come back; ``words`` None: not compared here."""

    kind: str
    arrange: Callable[[House], object]
    words: str | None
    stage: Stage = "unserved"
    outcome: Outcome | None = "screened_out"
    passes: bool = False
    turns_away: bool = True


def _set(**values: Any) -> Callable[[House], None]:
    return lambda house: house.launch.__dict__.update(values)


CASES = [
    Case(
        "other_browser",
        lambda house: house.book.hold("ann", ['["mock", "registration", "page"]'], BEN),
        GO_ON_THERE,
        "arrives",
    ),
    Case("not_from_the_crowd", _set(provider=Elsewhere()), "Please accept the task first.", "arrives"),
    Case("busy", _set(another=True), identity.BUSY, "arrives", None, passes=True),
    Case("full", _set(inside=2), identity.FULL, "arrives", passes=True, turns_away=False),
    Case("consent", House.ask_consent, identity.WORDS, "arrives", turns_away=False),
    Case("blocked", lambda house: grant(house.worker, BLOCKED_EVERYWHERE), eligibility.BLOCKED, "registers"),
    Case("blocked", lambda house: grant(house.worker, blocked_here(TASK)), eligibility.BLOCKED, "registers"),
    Case("blocked", lambda house: grant(house.worker, "careless"), eligibility.BLOCKED, "registers"),
    Case(
        "blocked",
        lambda house: keep_blocked(house.data_dir, house.pseudonym, ["careless"]),
        eligibility.BLOCKED,
        "registers",
    ),
    Case(
        "practice_failed",
        lambda house: fail_practice(house.worker, "practice"),
        eligibility.PHRASES["practice_failed"],
        "registers",
    ),
    Case("block_list", House.bar, eligibility.BLOCKED, "registers"),
    Case("all_done", _set(remaining=0), eligibility.ALL_DONE),
    Case("paused", _set(paused=True), eligibility.PAUSED, outcome=None, passes=True),
    Case("went_on", _set(went_on=True), eligibility.PHRASES["went_on"]),
    Case("all_taken", _set(), eligibility.PHRASES["all_taken"], passes=True),
    Case("busy", _set(stands="busy"), identity.BUSY, outcome=None, passes=True),
    Case("done_all", _set(stands="done_all"), eligibility.DONE_ALL),
    Case("interrupted", _set(stands="interrupted"), eligibility.PHRASES["interrupted"], outcome=None, passes=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_each_refusal_says_what_it_says_and_keeps_no_place(house: House, case: Case) -> None:
    case.arrange(house)
    held = _held(house)
    for _ in "twice":
        refusal = house.admission.decide(house.comes() if case.stage == "arrives" else house.is_(case.stage))
        assert refusal is not None
        assert (refusal.kind, refusal.words) == (case.kind, house.launch.in_words(case.words or ""))
        assert (refusal.outcome, refusal.passes, refusal.turns_away) == (case.outcome, case.passes, case.turns_away)
    assert _held(house) == held, "no browser holds anything that it did not hold"
    logged = REFUSALS.read(house.data_dir, TASK)
    assert {(line.worker, line.kind, line.why) for line in logged} == (
        set() if case.stage == "arrives" else {(house.pseudonym, case.kind, refusal.why)}
    ), "what nobody came in for is of nobody"
    assert len(CONSENTS.read(house.data_dir, TASK)) == 0


def _held(house: House) -> list[Any]:
    house.book.open()
    with closing(sqlite3.connect(house.data_dir / FILE)) as connection:
        return connection.execute("SELECT worker, thing FROM held").fetchall()


def test_a_refusal_is_written_down_once_in_a_launch(house: House) -> None:
    house.launch.remaining = 0
    admission = house.admission
    for _ in range(3):
        admission.decide(house.is_("unserved"))
    assert [line.kind for line in REFUSALS.read(house.data_dir, TASK)] == ["all_done"]


def test_who_only_looks_is_told_what_does_not_pass_and_nothing_else(house: House) -> None:
    """They need not read what the task is for nothing; whatever passes, they may read it meanwhile."""
    visitor = house.is_("looks")
    house.launch.paused = True
    assert house.admission.decide(visitor) is None
    house.launch.paused, house.launch.stands = False, "done_all"
    refusal = house.admission.decide(visitor)
    assert refusal is not None
    assert refusal.kind == "done_all"
    visitor.worker = None
    assert house.admission.decide(visitor) is None, "nobody knows them"


def test_an_agreement_is_written_down_when_the_worker_is_known(house: House) -> None:
    house.ask_consent()
    asked = house.admission.decide(house.comes())
    assert asked is not None
    form = asked.more["consent"]
    visitor = house.comes()
    visitor.agrees_to = {"version": form["version"], "digest": form["digest"]}
    assert house.admission.decide(visitor) is None
    assert CONSENTS.read(house.data_dir, TASK) == []
    known = Visitor(house.launch, visitor.data, stage="registers", worker=house.worker)
    assert house.admission.decide(known) is None
    assert [line.worker for line in CONSENTS.read(house.data_dir, TASK)] == [house.pseudonym]
    assert house.admission.decide(house.comes()) is None, "they are asked once"


def test_a_browser_that_shows_nothing_cannot_be_known_again(house: House) -> None:
    refusal = house.admission.decide(house.comes(Shown(frozenset())))
    assert refusal is not None
    assert (refusal.title, refusal.words) == (identity.KEEPS_NOTHING, identity.PHRASES["nothing_shown"])


def test_a_rule_of_your_own_is_one_class_and_one_line(house: House) -> None:
    class NightRule(Rule):
        """Nobody takes part at night."""

        def refusal(self, visitor: Visitor) -> Refusal | None:
            return Refusal("night", "came at night", "Please come back in the morning.", passes=True)

    admission = house.admission
    admission.rules.append(NightRule())
    assert admission.decide(house.comes()) is None
    refusal = admission.decide(house.is_("registers"))
    assert refusal is not None
    assert refusal.words == "Please come back in the morning."
    (line,) = REFUSALS.read(house.data_dir, TASK)
    assert (line.kind, line.why) == ("night", "came at night")


def test_the_page_for_maintainers_has_the_rules_in_their_order(house: House) -> None:
    page = (Path(__file__).parents[3] / "docs" / "pages" / "develop" / "admission.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+Rule)` \| `(\w+)\.py`", page, re.MULTILINE)
    rules = [type(rule) for rule in house.admission.rules]
    assert named == [(rule.__name__, rule.__module__.rpartition(".")[2]) for rule in rules]
    for case in CASES:
        assert f"`{case.kind}`" in page
