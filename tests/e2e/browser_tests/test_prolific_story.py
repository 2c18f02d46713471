"""A study on Prolific, told on a stand-in for it: commands as processes, and participants in a browser on its site."""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from killable_server import free_port
from playwright.sync_api import Browser, Page, expect
from servers.prolific import StandIn, Study
from servers.prolific.records import INSIDE

from mephisto_tasks.admission.admission import BLOCKED
from mephisto_tasks.payments.ledger import Ledger
from mephisto_tasks.storage.results import read_dialogues

from .axe import violations
from .conftest import open_context
from .rater import Rater, is_bad, is_good
from .study import environment
from .turking import Lab, eventually
from .watch import ASKED_AGAIN, Watch

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASK = "on-prolific"
ANN, BOB, CAT, DAN, EVE = (letter * 24 for letter in "abcde")
COMMAND = (
    "import sys; from mephisto_tasks.crowds.prolific import market, payer; market.POLL_S = 0.5;"
    "payer.WAITS = payer.Waits(poll=0.5);"
    "from parlai_humaneval.cli import main; sys.exit(main())"
)
"""The console command, which asks Prolific oftener how things stand."""
STUDY = (
    "pw_turn",
    "place=prolific",
    "models=[eliza,retrieval]",
    "turns=2",
    "dialogues_per_group=2",
    "onboarding_tries=1",
    "task_reward=1.50",
    "payment.practice=0.25",
    "screen_out_pay=0.15",
    "screen_out_slots=1",
    "start_places=2",
    f"task_name={TASK}",
)


class ProlificLab(Lab):
    """A machine that takes the stand-in for Prolific."""

    command = COMMAND

    def __init__(self, folder: Path, prolific: StandIn) -> None:
        self.data_dir, self._home, self.prolific = folder / "data", folder / "home", prolific
        self._home.mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        return {**environment(self._home), **self.prolific.environment, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}


class Somebody:
    """A participant on Prolific's site, in a browser of their own."""

    def __init__(self, prolific: StandIn, site: Page, watch: Watch, who: str) -> None:
        self._prolific, self._watch, self.site, self.who = prolific, watch, site, who

    @property
    def status(self) -> str:
        """Of their only submission."""
        (mine,) = (one for one in self._prolific.market.submissions() if one.person == self.who)
        return mine.status

    def is_offered_nothing(self) -> None:
        self.site.goto(f"{self._prolific.url}/studies")
        expect(self.site.get_by_text("There are no studies for you")).to_be_visible()

    def takes_part(self) -> Rater:
        """Take a place as soon as there is one, and open the link: up to our preview."""
        eventually(self._takes_a_place, f"a place for {self.who}")
        with self.site.context.expect_page() as opened:
            self.site.get_by_role("link", name="Open study link").click()
        rater = Rater(opened.value, self._prolific.url, self._watch)
        expect(rater.page.get_by_role("button", name="Start", exact=True)).to_be_visible()
        return rater

    def _takes_a_place(self) -> bool:
        self.site.goto(f"{self._prolific.url}/studies")
        offer = self.site.get_by_role("button", name="Take part")
        if offer.count():
            offer.click()
        return "/submissions/" in self.site.url

    def begins(self) -> Rater:
        """Up to the first turn, with the practice behind them."""
        rater = self.takes_part()
        rater.press("Start")
        rater.sees_task()
        rater.practise(is_good)
        rater.progress("Turn 1 of 2")
        return rater

    def gives_back(self) -> None:
        """On Prolific's site, which says that it was."""
        self.site.reload()
        self.site.get_by_role("button", name="Return").click()
        expect(self.site.get_by_text("RETURNED")).to_be_visible()


@contextmanager
def somebody(chromium: Browser, prolific: StandIn, who: str) -> Iterator[Somebody]:
    """Signed in; at the end their console must have been clean."""
    context = open_context(chromium)
    watch = Watch(context)
    watch.excuse(ASKED_AGAIN)  # who comes for a place that was just given back may be here before its unit is
    site = context.new_page()
    site.goto(prolific.url)
    site.get_by_label("Participant ID").fill(who)
    site.get_by_role("button", name="Sign in").click()
    try:
        yield Somebody(prolific, site, watch, who)
    finally:
        context.close()
    assert watch.problems() == []


@pytest.mark.parametrize(
    ("currency", "lacks", "bonus"),
    [("GBP", set[str](), 10), ("USD", {"screen_out"}, 25)],
    ids=["pounds", "dollars, without screen-out payments"],
)
def test_the_life_of_a_study(tmp_path: Path, chromium: Browser, currency: str, lacks: set[str], bonus: int) -> None:
    """A draft, its price, five people, a crash between them, the end, and pay: each once, and the books agree."""
    with StandIn(currency=currency, balance=50_00) as prolific:
        prolific.workspace.features -= lacks
        lab, blocked = ProlificLab(tmp_path, prolific), tmp_path / "blocked.txt"
        blocked.write_text(f"{EVE}\n")
        prolific.market.person(EVE)
        study = (*STUDY, f"currency={currency}", f"workers.block_list={blocked}", f"port={free_port()}")

        with lab.launched(*study, "draft_only=true") as launch:
            assert launch.end(signal.SIGINT) == 0, launch.said
        (there,) = prolific.market.studies.values()
        assert (there.status, there.id in launch.said) == ("UNPUBLISHED", True)
        assert cost(prolific, screen_out=15) in launch.said

        with lab.launched(*study, "--yes") as launch:
            assert cost(prolific, screen_out=0 if lacks else 15) in launch.said
            eventually(lambda: places(prolific, there) == 2, "two places")
            with somebody(chromium, prolific, EVE) as eve:
                is_blocked(eve, prolific)
            with somebody(chromium, prolific, ANN) as ann:
                completes(ann, prolific)
            eventually(lambda: places(prolific, there) == 1, "a place for the unit that is left")
            launch.end(signal.SIGKILL)
        assert places(prolific, there) == 1

        with lab.launched(*study, "--yes") as launch:
            assert "did not end cleanly" in launch.said
            eventually(lambda: places(prolific, there) == 1, "the place that is left")
            with somebody(chromium, prolific, BOB) as bob:
                bob.begins().rate(1, "It asks me something back.")
                assert places(prolific, there) == 0
                bob.gives_back()
            with somebody(chromium, prolific, CAT) as cat:
                cat.begins()
                prolific.clock.move(there.allowed_s + 1)
                eventually(lambda: cat.status == "TIMED-OUT", "the end of their time")
            with somebody(chromium, prolific, DAN) as dan:
                fails_the_practice(dan, "AWAITING REVIEW" if lacks else "SCREENED OUT")
            assert launch.end(signal.SIGTERM) == 0, launch.said
        assert there.status == "PAUSED"
        assert list(prolific.market.studies.values()) == [there]
        assert Counter(record.status for record in read_dialogues(lab.data_dir, TASK))["complete"] == 1

        paid = lab.run("pay", "--task-name", TASK, "--send", "--yes")
        assert paid.returncode == 0, paid.stdout + paid.stderr
        audit = lab.run("pay", "--task-name", TASK, "--audit")
        assert audit.returncode == 0, audit.stdout + audit.stderr
        expected = [("bonus", BOB, 75), ("bonus", DAN, bonus), ("reward", ANN, 150)]
        screened_out = [] if lacks else [("screen_out", DAN, 15)]
        charged = [(charge.kind, charge.participant, charge.price.amount) for charge in prolific.charges]
        assert sorted(charged) == [*expected, *screened_out]
        ledger = Ledger(lab.data_dir, TASK).payments()
        assert {(one.state, one.currency) for one in ledger} == {("confirmed", currency)}
        assert sum((one.amount for one in ledger), Decimal(0)) * 100 == sum(amount for *_, amount in charged)
        assert prolific.workspace.total == 50_00 - sum(charge.price.total for charge in prolific.charges)
        assert prolific.token not in launch.said + paid.stdout + audit.stdout


def cost(prolific: StandIn, *, screen_out: int) -> str:
    """Of two rewards and one screen-out payment, with fees and VAT."""
    price = prolific.workspace.price
    return f"{(price(150).times(2) + price(screen_out)).total / 100:.2f}"


def places(prolific: StandIn, study: Study) -> int:
    """That somebody could take: those that are free, and not more than may be inside at once."""
    with prolific.market.lock:
        prolific.market.pass_time()
        free = study.places - prolific.market.occupied(study)
        may_enter = study.fields["submissions_config"]["max_concurrent_submissions"] - study.count(*INSIDE)
        return int(min(free, may_enter)) if study.status == "ACTIVE" else 0


def is_blocked(person: Somebody, prolific: StandIn) -> None:
    """Does not see the study; and is refused here, too, when a colleague has taken them out of the group there."""
    person.is_offered_nothing()
    for group in prolific.market.groups.values():
        group.members.pop(person.who, None)
    rater = person.takes_part()
    rater.press("Start")
    expect(rater.page.get_by_text(re.compile(re.escape(BLOCKED)))).to_be_visible()
    person.gives_back()


def completes(person: Somebody, prolific: StandIn) -> None:
    """Practises, talks, and is taken back, without ever seeing a code."""
    rater = person.takes_part()
    expect(rater.page.get_by_text("1.50 for one complete")).to_be_visible()
    assert violations(rater.page) == []
    rater.press("Start")
    rater.sees_task()
    rater.practise(is_good)
    rater.progress("Turn 1 of 2")
    rater.rate(1, "It asks me something back.")
    rater.say("I mend old bicycles.")
    rater.rate(2, "It asks me something back.")
    expect(rater.page.get_by_role("heading", name="One last thing")).to_be_visible()
    rater.send("Finish")
    rater.page.wait_for_url(f"{prolific.url}/studies")
    expect(rater.page.get_by_text("AWAITING REVIEW")).to_be_visible()


def fails_the_practice(person: Somebody, status: str) -> None:
    """Is paid for it at once, or asked to return."""
    rater = person.takes_part()
    rater.press("Start")
    rater.sees_task()
    rater.practise(is_bad)
    eventually(lambda: person.status == status, "the end of who failed")
    if status == "AWAITING REVIEW":
        person.gives_back()
