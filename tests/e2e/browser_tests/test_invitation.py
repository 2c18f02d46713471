"""People who come by invitation, on a phone: a class's link leads to the task, and a bad one to a plain page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Route, expect

from mephisto_tasks.crowds.invitations.entry import StudyInvitations
from mephisto_tasks.storage.results import read_dialogues

from .axe import violations
from .conftest import launched
from .rater import Rater
from .study import Study

pytestmark = pytest.mark.browser

HOUR = 3600.0


@pytest.fixture(scope="module")
def invited_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Two packaged models, one turn, no practice; only those who are invited come in."""
    blueprint = ["models=[eliza,retrieval]", "turns=1", "onboarding_qualification=null", "seed=3"]
    settings = ["place=link", *(f"mephisto.blueprint.{setting}" for setting in blueprint)]
    folder = tmp_path_factory.mktemp("invited") / "study"
    yield from launched(lambda where: Study(where, "e2e-invited", settings), folder)


def test_a_class_comes_by_one_link_and_others_see_nothing_of_the_study(
    visit: Callable[..., Rater], invited_study: Study
) -> None:
    """The link leads to the task, done with a finger; opened again, the browser is known; the next is one too many.

    The address that the browser shows is the link that was given out, and a reload of it is the same visitor.
    """
    study = invited_study
    book = StudyInvitations(study.data_dir, study.task_name)
    made = book.invite_class("class", 1, HOUR)
    link = book.link(made, study.url)
    rater = visit(study.url, hand="finger")
    rater.page.goto(link)
    expect(rater.page.get_by_role("button", name="Start")).to_be_visible()
    assert book.all()[0].guests == 0  # who only looks takes no place
    assert rater.page.url == link
    rater.press("Start")
    rater.sees_task()
    rater.progress("Turn 1 of 1")
    rater.page.reload()
    rater.progress("Turn 1 of 1")
    rater.page.goto(f"{link}).")  # as mail programs take the end of a sentence for a part of a link
    rater.progress("Turn 1 of 1")  # the same browser goes on
    assert rater.page.url == link
    rater.rate(1, "It fits what I said.")
    rater.finish()
    rater.picture("invitation-end")
    late = visit(study.url, hand="finger")
    late.watch.excuse("status of 4(03|10)")
    for address, title in (
        (rater.page.url, "This link has been used up"),
        (link.replace("invitation=", "invitation=x"), "Wrong link"),
        (study.url, "This study is by invitation"),
    ):
        late.page.goto(address)
        expect(late.page.get_by_role("heading", name=title)).to_be_visible()
        assert "hat with" not in late.page.content()
        assert violations(late.page) == []
    late.picture("invitation-bad-link")
    late.watch.excuse("status of 404")
    late.page.goto(f"{study.url}elsewhere")
    expect(late.page.get_by_role("heading", name="Nothing is here")).to_be_visible()
    assert [record.status for record in read_dialogues(study.data_dir, study.task_name)] == ["complete"]


def test_without_cookies_the_address_says_who_a_class_s_visitor_is(
    visit: Callable[..., Rater], invited_study: Study
) -> None:
    """It keeps the visitor's name there, so that a reload goes on with what was begun."""
    study = invited_study
    book = StudyInvitations(study.data_dir, study.task_name)
    made = book.invite_class("without cookies", 1, HOUR)
    link = book.link(made, study.url)
    rater = visit(study.url)

    def forget(route: Route) -> None:
        rater.page.context.clear_cookies()
        route.continue_()

    rater.page.route("**/task_config.json*", forget)
    rater.page.goto(link)
    rater.press("Start")
    rater.sees_task()
    address = rater.page.url
    assert address.startswith(f"{link}&visitor=")
    rater.page.reload()
    rater.progress("Turn 1 of 1")
    assert rater.page.url == address
