"""A launch is killed while people are in the middle: with the next one they go on there, draft and cards before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from .conftest import launched
from .rater import Rater
from .study import Study, launch_odd
from .watch import ASKED_AGAIN, LINE_TROUBLE

pytestmark = pytest.mark.browser

BACK = "Welcome back! You can continue where you left off"
HALF = "I had only begun to"


@pytest.fixture
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_odd, tmp_path_factory.mktemp("killed") / "study")


def test_draft_and_cards_survive_a_killed_launch(visit: Callable[..., Rater], study: Study) -> None:
    """One page stays open at its cards, one is loaded again in a message, one sends while nobody is there to hear it."""
    choosing, writing, sending = (visit(study.url) for _ in range(3))
    for worker, rater in (("chooses", choosing), ("writes", writing), ("sends", sending)):
        rater.watch.excuse(f"{LINE_TROUBLE}|{ASKED_AGAIN}")
        rater.arrive(worker)
        rater.sees_task()
    cards = choosing.cards()
    choosing.choose(2)
    choosing.write(HALF)
    for rater in (writing, sending):
        rater.rate(1, "It is a friendly greeting.")
        rater.may_write()
    said = writing.transcript()
    writing.write(HALF)
    study.kill()
    expect(choosing.page.get_by_text("Connection lost. Your work is safe; trying again…")).to_be_visible()
    sending.say("I wrote this to nobody.")
    study.start_again()

    writing.page.reload()
    for rater in (choosing, writing):
        expect(rater.page.get_by_text(BACK)).to_be_visible()
        expect(rater.page.get_by_role("textbox")).to_have_value(HALF)
    assert choosing.cards() == cards, "the same replies in the same places"
    expect(choosing.page.get_by_role("radio").nth(1)).to_be_checked()
    assert writing.transcript() == said
    choosing.write(" say why.")
    choosing.send("Continue")
    choosing.say("And now for something else.")
    writing.write(" write.")
    writing.send("Send")
    for rater in (choosing, writing, sending):
        rater.rate(1, "It answers my message.")
        rater.finish()

    for worker in ("chooses", "writes", "sends"):
        record = study.finished_record_of(worker)
        assert (record.status, len(record.turns), record.refused_answers) == ("complete", 2, 0)
        assert record.away_s > 0
    chosen = study.finished_record_of("chooses").turns[0]
    assert (chosen.selected, chosen.reason) == ([cards[1].candidate_id], f"{HALF} say why.")
    assert study.finished_record_of("sends").turns[1].human_text == "I wrote this to nobody."
