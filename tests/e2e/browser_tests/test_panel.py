"""A participant of a panel in a browser: they see the task first, and the page takes them back with the right code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, expect

from mephisto_tasks.crowds.link.datastore import sessions

from .axe import violations
from .conftest import launched, open_context
from .panel import CODES, address, panel_settings, panel_site
from .rater import Rater, is_bad, is_good
from .study import Study
from .watch import Watch

pytestmark = pytest.mark.browser

PATIENCE_S = 20
"""With which an answer is waited for: about as long as the tests before the last one take."""


@pytest.fixture(scope="module")
def panel_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Two packaged models, one turn, a practice with one try."""
    folder = tmp_path_factory.mktemp("panel")
    blueprint = ["models=[eliza,retrieval]", "dialogues_per_group=9", "turns=1", "onboarding_tries=1", "seed=3"]
    blueprint.append(f"answer_timeout_s={PATIENCE_S}")
    settings = [f"mephisto.blueprint.{setting}" for setting in blueprint]
    with panel_site() as site:
        settings += panel_settings(folder, site)
        yield from launched(lambda where: Study(where, "e2e-panel", settings), folder / "study")


@pytest.fixture(scope="module", autouse=True)
def left_alone(chromium: Browser, panel_study: Study) -> Iterator[Rater]:
    """Somebody who begins before all others, and then does nothing."""
    context = open_context(chromium)
    with closing(context):
        watch = Watch(context)
        rater = Rater(context.new_page(), panel_study.url, watch)
        rater.page.goto(address(panel_study.url, "eve"))
        rater.press("Start")
        rater.sees_task()
        yield rater
    assert watch.problems() == []


def taken_back(rater: Rater, code: str) -> None:
    """The browser is at the panel's site, with a code of the study."""
    rater.page.wait_for_url(f"**/submissions/complete?cc={code}")
    expect(rater.page.get_by_role("heading", name="Thank you from the panel")).to_be_visible()


def status_of(study: Study, person: str) -> list[str]:
    return [visit.status for visit in sessions(study.data_dir, study.task_name) if visit.participant == person]


def test_who_has_done_the_task_goes_back_with_its_code_and_not_before(
    visit: Callable[..., Rater], panel_study: Study
) -> None:
    rater = visit(panel_study.url)
    rater.watch.keep_bodies()
    rater.page.goto(address(panel_study.url, "ann"))
    expect(rater.page.get_by_role("button", name="I do not want to take part")).to_be_visible()
    rater.picture("panel-preview")
    assert violations(rater.page) == []
    assert status_of(panel_study, "ann") == []  # nothing is stored before they begin
    rater.press("Start")
    rater.sees_task()
    rater.practise(is_good)
    rater.progress("Turn 1 of 1")
    rater.page.reload()
    rater.progress("Turn 1 of 1")  # no preview for who is at work
    rater.rate(1, "It fits what I said.")
    expect(rater.page.get_by_role("heading", name="One last thing")).to_be_visible()
    assert [code for code in CODES.values() for text in rater.watch.received if code in text] == []
    rater.send("Finish")
    expect(rater.page.get_by_role("link", name="Back to Prolific")).to_be_visible()
    rater.picture("panel-end")
    taken_back(rater, CODES["completion_code"])
    assert status_of(panel_study, "ann") == ["complete"]
    rater.page.goto(address(panel_study.url, "ann"))
    expect(rater.page.get_by_text("You have already completed this task")).to_be_visible()


def test_who_does_not_consent_goes_back_at_once(visit: Callable[..., Rater], panel_study: Study) -> None:
    rater = visit(panel_study.url, hand="keyboard")
    rater.page.goto(address(panel_study.url, "bob"))
    rater.press("I do not want to take part")
    taken_back(rater, CODES["no_consent_code"])
    assert status_of(panel_study, "bob") == []


def test_who_fails_the_practice_reads_why_and_goes_back_by_the_button(
    visit: Callable[..., Rater], panel_study: Study
) -> None:
    rater = visit(panel_study.url, hand="finger")
    rater.page.goto(address(panel_study.url, "cid"))
    rater.press("Start")
    rater.sees_task()
    rater.practise(is_bad)
    expect(rater.page.get_by_text("Thank you for trying the practice.")).to_be_visible()
    rater.picture("panel-screened-out")
    assert violations(rater.page) == []
    rater.page.get_by_role("link", name="Back to Prolific").tap()
    taken_back(rater, CODES["screen_out_code"])
    assert status_of(panel_study, "cid") == ["screened_out"]


def test_a_task_can_be_given_back_from_the_instructions(visit: Callable[..., Rater], panel_study: Study) -> None:
    rater = visit(panel_study.url)
    rater.page.goto(address(panel_study.url, "dee"))
    rater.press("Start")
    rater.sees_task()
    rater.practise(is_good)
    rater.progress("Turn 1 of 1")
    rater.press("Instructions")
    rater.page.get_by_role("dialog", name="Instructions").get_by_role("button", name="Return the task").click()
    asked = rater.page.get_by_role("dialog", name="Return the task?")
    rater.picture("panel-return")
    asked.get_by_role("button", name="Return the task").click()
    expect(rater.page.get_by_role("heading", name="You have returned the task")).to_be_visible()
    assert status_of(panel_study, "dee") == ["returned"]


def test_a_link_that_is_not_filled_in_says_so_at_once(visit: Callable[..., Rater], panel_study: Study) -> None:
    rater = visit(panel_study.url, hand="finger")
    rater.page.goto(address(panel_study.url, "{{%PROLIFIC_PID%}}"))
    expect(rater.page.get_by_role("heading", name="This link does not work")).to_be_visible()
    expect(rater.page.get_by_text("contains a placeholder")).to_be_visible()
    rater.picture("panel-bad-link")


def test_who_leaves_the_page_alone_goes_back_with_the_code_for_that(left_alone: Rater, panel_study: Study) -> None:
    """The last test: its rater has waited since the first one."""
    back = left_alone.page.get_by_role("link", name="Back to Prolific")
    expect(back).to_be_visible(timeout=2000 * PATIENCE_S)
    expect(left_alone.page.get_by_role("heading", name="You were away for a while")).to_be_visible()
    left_alone.picture("panel-timed-out")
    back.click()
    taken_back(left_alone, CODES["time_out_code"])
    assert status_of(panel_study, "eve") == ["timed_out"]
