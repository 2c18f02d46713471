"""What models do wrong must not reach the person as anything but words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .looks import sideways
from .oddities import LONG_WORD, MARKUP
from .rater import Rater
from .study import ODD_MODELS, Study

pytestmark = pytest.mark.browser


def _to_second_turn(rater: Rater, worker: str, message: str) -> None:
    rater.arrive(worker)
    rater.close_instructions()
    rater.rate(1, "It is a friendly greeting.")
    rater.say(message)


def test_markup_in_a_reply_is_text(visit: Callable[..., Rater], odd_study: Study) -> None:
    """Tags, scripts, handlers and templates are shown letter by letter, in the card and in the transcript."""
    rater = visit(odd_study.url)
    _to_second_turn(rater, "markup", "Show me your markup <i>now</i>")
    cards = rater.cards()
    assert all(card.text.startswith(MARKUP) for card in cards)
    rater.rate(1, "I like <b>bold</b> words.")
    expect(rater.page.get_by_role("heading", name="One last thing")).to_be_visible()
    said = rater.transcript()
    assert said[-2:] == [("you", "Show me your markup <i>now</i>"), ("partner", cards[0].text)]
    assert rater.page.evaluate("window.stolen") is None
    rater.picture("markup")
    assert rater.page.locator("main :is(img, script, b, i, a)").count() == 0
    assert [c.text for c in odd_study.record_of("markup").turns[1].candidates] == [card.text for card in cards]


def test_word_without_end_stays_in_its_card(visit: Callable[..., Rater], odd_study: Study) -> None:
    """An address of 400 letters breaks on a phone of 320 pixels instead of pushing the page sideways."""
    rater = visit(odd_study.url, "finger")
    rater.page.set_viewport_size({"width": 320, "height": 640})
    _to_second_turn(rater, "long-word", f"long word {'x' * 200}")
    assert rater.cards()[0].text.startswith(LONG_WORD)
    assert sideways(rater.page) <= 0
    rater.picture("long-word")
    rater.rate(1, "It is very long.")
    expect(rater.page.get_by_role("heading", name="One last thing")).to_be_visible()
    assert sideways(rater.page) <= 0


def test_model_that_tells_its_name_is_masked(visit: Callable[..., Rater], odd_study: Study) -> None:
    """Two models that introduce themselves look the same, without a mark; what they said is kept in the record only."""
    rater = visit(odd_study.url)
    rater.watch.keep_bodies()
    _to_second_turn(rater, "curious", "What is your name?")
    shown = sorted(card.text for card in rater.cards())
    assert [text.partition(" (")[0] for text in shown] == ["What is yours?"] * 2
    rater.page.reload()
    expect(rater.page.get_by_role("radio")).to_have_count(2)
    assert [name for name in ODD_MODELS for text in rater.watch.received if name.lower() in text.lower()] == []
    candidates = odd_study.record_of("curious").turns[1].candidates
    assert sorted(c.text for c in candidates) == shown
    assert {c.model: (c.raw_text or "").partition(". ")[0] for c in candidates} == {
        name: f"My name is {name}" for name in ODD_MODELS
    }


def test_slow_model_is_explained_and_then_answers(visit: Callable[..., Rater], odd_study: Study) -> None:
    """“Typing” at once, words about the delay after the time-out, both replies in the end."""
    rater = visit(odd_study.url)
    _to_second_turn(rater, "patient", "Please take your time.")
    expect(rater.page.get_by_text("Your partner is typing…")).to_be_visible()
    slow = "Your partner needs a little longer than usual. Please stay on this page."
    expect(rater.page.get_by_role("status").get_by_text(slow)).to_be_visible()
    rater.picture("slow-model")
    rater.rate(1, "It was worth the wait.")
    rater.finish()
    record = odd_study.finished_record_of("patient")
    assert record.status == "complete"
    assert sorted(c.model for c in record.turns[1].candidates) == sorted(ODD_MODELS)


def test_model_that_breaks_down_ends_politely(visit: Callable[..., Rater], odd_study: Study) -> None:
    """The person reads that it is not their fault and that they are paid; what they did is kept."""
    rater = visit(odd_study.url)
    _to_second_turn(rater, "unlucky", "Please break down now.")
    expect(rater.page.get_by_role("heading", name="We have to stop here")).to_be_visible()
    rater.picture("broken-model")
    expect(rater.page.get_by_text("you are paid for the whole conversation")).to_be_visible()
    expect(rater.page.get_by_text("Your work has been sent. You can close this page.")).to_be_visible()
    record = odd_study.finished_record_of("unlucky")
    assert record.status == "failed"
    assert [turn.complete for turn in record.turns] == [True, False]
