"""Whoever cannot take part reads why, politely and truly, then and whenever they come back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .rater import Rater, is_bad
from .study import Study

pytestmark = pytest.mark.browser

NO_CONVERSATION = "There is no conversation for you here"
PRACTICE_ENDS = "The practice ends here"
OTHER_BROWSER = "This task is open in another browser"
FAILED = "did not match the answers that this task requires"
DONE = "You have already taken part in this study the maximum number of times."
NO_PENALTY = "There is no penalty"


def _turned_away(rater: Rater, *sentences: str, title: str = NO_CONVERSATION) -> None:
    expect(rater.page.get_by_role("heading", name=title)).to_be_visible()
    for sentence in sentences:
        expect(rater.page.get_by_role("main")).to_contain_text(sentence)
    expect(rater.page.get_by_role("radio")).to_have_count(0)


def test_practice_failed_twice(visit: Callable[..., Rater], embedded_study: Study) -> None:
    """After the second try: a polite refusal. Coming back, in this tab or another: the same true reason, however often. To
    another browser that is nobody's business."""
    rater = visit(embedded_study.url)
    rater.arrive("fails")
    rater.sees_task()
    rater.practise(is_bad)
    expect(rater.page.get_by_role("alert")).to_contain_text("You have one more try.")
    rater.practise(is_bad)
    _turned_away(rater, FAILED, NO_PENALTY, title=PRACTICE_ENDS)
    rater.page.reload()
    _turned_away(rater, FAILED, NO_PENALTY)
    again = rater.another_tab()
    again.arrive("fails", "another-assignment")
    _turned_away(again, FAILED, NO_PENALTY)
    stranger = visit(embedded_study.url)
    stranger.arrive("fails")
    _turned_away(stranger, "continue in the browser and on the device where you started", title=OTHER_BROWSER)
    assert embedded_study.records_of("fails") == []


def test_reload_in_the_second_try_gives_no_third(visit: Callable[..., Rater], embedded_study: Study) -> None:
    """The tries are counted where the page cannot reach them."""
    rater = visit(embedded_study.url)
    rater.arrive("reloads")
    rater.sees_task()
    rater.practise(is_bad)
    rater.cards()
    rater.choose(1)
    rater.page.evaluate("sessionStorage.clear()")
    rater.page.reload()
    rater.sees_task()
    rater.progress("Practice 1 of 4")
    expect(rater.page.get_by_role("alert")).to_contain_text("You have one more try.")
    rater.practise(is_bad)
    _turned_away(rater, FAILED, title=PRACTICE_ENDS)


def test_worker_who_took_part(visit: Callable[..., Rater], odd_study: Study) -> None:
    """One conversation per worker, pair and metric: the second visit says that it was all, and thanks."""
    rater = visit(odd_study.url)
    rater.arrive("once")
    rater.sees_task()
    rater.rate(1, "It is a friendly greeting.")
    rater.say("Short and good.")
    rater.rate(1, "It answers my message.")
    rater.finish()
    again = rater.another_tab()
    again.arrive("once", "another-assignment")
    _turned_away(again, DONE, "Thank you!")
    assert len(odd_study.records_of("once")) == 1


def test_second_window_takes_over(visit: Callable[..., Rater], odd_study: Study) -> None:
    """The same task in a second window goes on there, at the same place; the first window says so."""
    first = visit(odd_study.url)
    first.arrive("two-windows")
    first.sees_task()
    cards = first.cards()
    second = first.another_tab()
    second.arrive("two-windows")
    second.sees_task()
    assert second.cards() == cards
    expect(first.page.get_by_text("This task was opened in another window.")).to_be_visible()
    first.picture("other-window")
    second.rate(1, "It is a friendly greeting.")
    expect(second.page.get_by_label("Write your next message")).to_be_visible()
    assert len(odd_study.record_of("two-windows").complete_turns) == 1
