"""Small things that make the page pleasant: focus, keys, announcements, and one answer for two clicks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .rater import Rater
from .study import Study

pytestmark = pytest.mark.browser


def test_instructions_by_keyboard(visit: Callable[..., Rater], odd_study: Study) -> None:
    """They open only when they are asked for, keep the focus off the page beneath, close with Escape and give it back."""
    rater = visit(odd_study.url, "keyboard")
    page = rater.page
    rater.arrive("reader")
    rater.sees_task()
    rater.cards()
    dialog = page.get_by_role("dialog", name="Instructions")
    rater.press("Instructions")
    expect(dialog).to_be_visible()
    for _ in range(6):
        page.keyboard.press("Tab")
        # In the dialog, or on the way round with the browser's own controls; never on the page beneath.
        assert page.evaluate("!document.querySelector('#root').contains(document.activeElement)")
    page.keyboard.press("2")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Instructions")).to_be_focused()


def test_two_clicks_are_one_answer(visit: Callable[..., Rater], odd_study: Study) -> None:
    """A double click on “Continue” and two quick Enters send one answer each."""
    rater = visit(odd_study.url)
    rater.arrive("nervous")
    rater.sees_task()
    rater.cards()
    rater.choose(2)
    rater.write("It is a friendly greeting.")
    rater.page.get_by_role("button", name="Continue").dblclick()
    expect(rater.page.get_by_label("Write your next message")).to_be_visible()
    rater.write("Twice is too often.")
    rater.page.keyboard.press("Enter")
    rater.page.keyboard.press("Enter")
    expect(rater.page.get_by_role("radio")).to_have_count(2)
    expect(rater.page.get_by_role("alert")).to_have_count(0)
    record = odd_study.record_of("nervous")
    assert record.refused_answers == 0
    assert [turn.human_text for turn in record.turns] == ["Hi!", "Twice is too often."]
    assert [turn.complete for turn in record.turns] == [True, False]


def test_new_reply_is_announced_once(visit: Callable[..., Rater], odd_study: Study) -> None:
    """A screen reader hears the partner's new line, and not the whole conversation again after a reload."""
    rater = visit(odd_study.url)
    rater.arrive("listener")
    rater.sees_task()
    cards = rater.rate(1, "It is a friendly greeting.")
    announced = rater.page.get_by_role("status").get_by_text(f"Partner: {cards[0].text}")
    expect(announced).to_have_count(1)
    expect(rater.page.get_by_role("log")).to_have_attribute("aria-live", "off")
    rater.page.reload()
    expect(rater.page.get_by_label("Write your next message")).to_be_visible()
    expect(announced).to_have_count(0)


def test_keys_choose_only_where_they_should(visit: Callable[..., Rater], odd_study: Study) -> None:
    """A digit in the reason is a digit; with Alt it chooses; Enter on a card with a reason written goes on."""
    rater = visit(odd_study.url, "keyboard")
    page = rater.page
    rater.arrive("quick-fingers")
    rater.sees_task()
    rater.cards()
    rater.choose(1)
    rater.write("Reply 2 is worse than 1.")
    expect(page.get_by_role("textbox")).to_have_value("Reply 2 is worse than 1.")
    expect(page.get_by_role("radio").first).to_be_checked()
    page.keyboard.press("Alt+2")
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    expect(page.get_by_role("textbox")).to_have_value("Reply 2 is worse than 1.")
    page.keyboard.press("Alt+1")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Write your next message")).to_be_focused()
    assert odd_study.record_of("quick-fingers").turns[0].reason == "Reply 2 is worse than 1."
