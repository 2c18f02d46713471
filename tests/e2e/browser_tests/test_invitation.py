"""People who come by invitation, on a phone: a class's link leads to the task, and a bad one to a plain page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from mephisto_tasks.commands.invite import links_of
from mephisto_tasks.crowds.link.invitations.book import Book
from mephisto_tasks.stored.results import read_dialogues
from mephisto_tasks.stored.study_folder import study_folder

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
    """The link leads to the task, done with a finger; opened again, the browser is known; the next is one too many."""
    study = invited_study
    book = Book(study_folder(study.data_dir, study.task_name))
    made = book.invite_class("class", 1, HOUR)
    (link,) = links_of([made], study.data_dir, study.task_name, study.url)
    rater = visit(study.url, hand="finger")
    rater.page.goto(link)
    expect(rater.page.get_by_role("button", name="Start")).to_be_visible()
    assert book.all()[0].guests == 0  # who only looks takes no place
    rater.press("Start")
    rater.close_instructions()
    rater.progress("Turn 1 of 1")
    rater.page.goto(link)
    rater.progress("Turn 1 of 1")  # the same browser goes on
    rater.rate(1, "It fits what I said.")
    rater.finish()
    rater.picture("invitation-end")
    late = visit(study.url, hand="finger")
    late.watch.excuse("status of 4(03|10)")
    for address, title in (
        (link, "This link has been used up"),
        (link.replace("invitation=", "invitation=x"), "Wrong link"),
        (study.url, "This study is by invitation"),
    ):
        late.page.goto(address)
        expect(late.page.get_by_role("heading", name=title)).to_be_visible()
        assert "hat with" not in late.page.content()
        assert violations(late.page) == []
    late.picture("invitation-bad-link")
    assert [record.status for record in read_dialogues(study.data_dir, study.task_name)] == ["complete"]
