"""A study on Prolific, told on a stand-in for it: the command as a process, and a participant in a browser on its site."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from killable_server import free_port
from playwright.sync_api import Browser, expect
from servers.prolific import StandIn, Study

from mephisto_tasks.storage.results import read_dialogues

from .axe import violations
from .conftest import open_context
from .rater import Rater, is_good
from .study import environment
from .turking import Lab, eventually
from .watch import Watch

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASK = "on-prolific"
COMMAND = (
    "import sys; from mephisto_tasks.crowds.prolific import market; market.POLL_S = 0.5;"
    "from parlai_humaneval.cli import main; sys.exit(main())"
)
"""The console command, which asks Prolific oftener how the study stands."""
STUDY = (
    "pw_turn",
    "place=prolific",
    "models=[eliza,retrieval]",
    "turns=2",
    "dialogues_per_group=3",
    "task_reward=1.50",
    "currency=GBP",
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


def test_a_study_on_prolific(tmp_path: Path, chromium: Browser) -> None:
    """The price; a person who does it, from Prolific's list and back; a crash; the next launch; the end."""
    with StandIn(currency="GBP", balance=50_00) as prolific:
        lab, port = ProlificLab(tmp_path, prolific), f"port={free_port()}"
        refused = lab.run("launch", *STUDY, port)
        price = prolific.workspace.price(150).times(3).total
        assert f"£{price / 100:.2f}" in refused.stdout + refused.stderr
        assert "--yes" in refused.stderr
        assert prolific.market.studies == {}

        with lab.launched(*STUDY, port, "--yes") as launch:
            (study,) = prolific.market.studies.values()
            eventually(lambda: places(prolific, study) == 2, "two places")
            does_all_of_it(chromium, prolific)
            eventually(lambda: (places(prolific, study), study.places) == (2, 3), "a place for the unit that is left")
            launch.end(signal.SIGKILL)
        assert places(prolific, study) == 2

        with lab.launched(*STUDY, port, "--yes") as launch:
            assert "did not end cleanly" in launch.said
            eventually(lambda: places(prolific, study) == 2, "the places that are left")
            does_all_of_it(chromium, prolific)
            assert launch.end(signal.SIGTERM) == 0, launch.said
        assert (study.status, study.count("AWAITING REVIEW")) == ("PAUSED", 2)
        assert list(prolific.market.studies.values()) == [study]
        assert [record.status for record in read_dialogues(lab.data_dir, TASK)] == ["complete"] * 2
        assert prolific.charges == []
        assert prolific.token not in launch.said


def places(prolific: StandIn, study: Study) -> int:
    """That somebody could take."""
    with prolific.market.lock:
        prolific.market.pass_time()
        return study.places - prolific.market.occupied(study) if study.status == "ACTIVE" else 0


def does_all_of_it(chromium: Browser, prolific: StandIn) -> None:
    """Sign in, take part, practise, talk, and be taken back: a person who never sees a code."""
    context = open_context(chromium)
    watch = Watch(context)
    site = context.new_page()
    site.goto(prolific.url)
    site.get_by_role("button", name="Sign in").click()
    site.get_by_role("button", name="Take part").click()
    with context.expect_page() as opened:
        site.get_by_role("link", name="Open study link").click()
    rater = Rater(opened.value, prolific.url, watch)
    expect(rater.page.get_by_text("£1.50 for one complete")).to_be_visible()
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
    context.close()
    assert watch.problems() == []
