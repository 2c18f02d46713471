"""What models do wrong must not reach the person as anything but words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from .axe import violations
from .conftest import launched
from .looks import sideways
from .oddities import LONG_WORD, MARKUP
from .rater import Hand, Rater
from .study import ODD_MODELS, Study, launch_drawn

pytestmark = pytest.mark.browser


def _to_second_turn(rater: Rater, worker: str, message: str) -> None:
    rater.arrive(worker)
    rater.sees_task()
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


@pytest.mark.parametrize("number", [1, 2])
def test_on_a_phone_the_chosen_reply_is_in_sight_above_its_reason(
    visit: Callable[..., Rater], odd_study: Study, number: int
) -> None:
    """“Why is this response better?” stands beneath that response, though it takes the room in which that stood."""
    rater = visit(odd_study.url, "finger")
    _to_second_turn(rater, f"phone-{number}", "What do you think of small towns?")
    cards = rater.page.locator("label:has([data-number])")
    expect(cards).to_have_count(2)
    rater.choose(number)
    expect(rater.page.get_by_role("textbox")).to_be_visible()
    rater.page.wait_for_function(
        """number => {
            const card = document.querySelectorAll("label:has([data-number])")[number - 1].getBoundingClientRect();
            const dock = document.querySelector("[data-docked]").getBoundingClientRect();
            const reading = card.top + 40;
            return card.bottom <= dock.top && document.elementFromPoint(card.left + 40, reading)?.closest("label") !== null;
        }""",
        arg=number,
    )
    rater.picture(f"phone-chosen-{number}")
    rater.page.close()


def test_slow_model_is_explained_and_then_answers(visit: Callable[..., Rater], odd_study: Study) -> None:
    """“Typing” at once, words about the delay after the time-out, both replies in the end."""
    rater = visit(odd_study.url)
    _to_second_turn(rater, "patient", "Please take your time.")
    expect(rater.page.get_by_text("Your partner is typing…")).to_be_visible()
    slow = "Your partner is taking a little longer than usual. Please stay on this page."
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


@pytest.fixture(scope="module")
def drawn_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Models that obey, whose markdown is drawn."""
    yield from launched(launch_drawn, tmp_path_factory.mktemp("drawn") / "study")


def test_markdown_is_drawn_alike_in_card_and_transcript(visit: Callable[..., Rater], drawn_study: Study) -> None:
    """Bold words, lists and code; no link, no image, no heading of the page's. What is recorded is what was said."""
    rater = visit(drawn_study.url)
    _to_second_turn(rater, "drawn", "markdown")
    card = rater.page.locator("label [data-said]").first
    for place in (card, rater.page.get_by_role("log").locator("li [data-said]").last):
        if place is not card:
            rater.rate(1, "I like boats.")
        expect(place.locator("strong, b")).to_have_count(1)
        expect(place.locator("li")).to_have_text(["one", "two"])
        expect(place.locator("pre")).to_contain_text('print("a line')
        expect(place).to_contain_text("a link, and an old boat.")
        expect(place.locator("a, img, script, h1, h2, h3")).to_have_count(0)
    assert violations(rater.page) == []
    assert sideways(rater.page) <= 0
    assert all(
        c.text.startswith("# Boats\n\nHere is **bold**") for c in drawn_study.record_of("drawn").turns[1].candidates
    )
    assert drawn_study.record_of("drawn").settings["replies"]["appearance"] == "markdown"


def test_no_markdown_breaks_the_page(visit: Callable[..., Rater], drawn_study: Study) -> None:
    """Scripts, handlers, addresses of scripts and data, marks that turn the page around, a hundred columns, a word of ten
    thousand letters and quotes without end, on a phone of 320 pixels: nothing runs, leads away or pushes it sideways."""
    rater = visit(drawn_study.url, "finger")
    rater.page.set_viewport_size({"width": 320, "height": 640})
    _to_second_turn(rater, "trapped", "traps")
    expect(rater.page.get_by_role("radio")).to_have_count(2)
    assert rater.page.evaluate("window.stolen") is None
    assert rater.page.locator("main [data-said] :is(img, script, a, iframe)").count() == 0
    said = " ".join(rater.page.locator("main [data-said]").all_text_contents())
    assert "<script>window.stolen=1</script>" in said, "HTML is words"
    assert not set(said) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
    assert "x" * 10_000 in said
    assert rater.page.evaluate("document.documentElement.scrollWidth") <= 320
    table = rater.page.get_by_role("group", name="Table").first
    assert table.locator("th").count() == 100
    assert table.evaluate("element => element.scrollWidth > 3 * element.clientWidth")
    rater.picture("drawn-traps")


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_long_replies_leave_question_and_answer_in_sight(
    visit: Callable[..., Rater], drawn_study: Study, hand: Hand
) -> None:
    """Six thousand characters: wide cards that fold, the last message and the question above them, the button below."""
    rater = visit(drawn_study.url, hand)
    page = rater.page
    _to_second_turn(rater, f"length-{hand}", "length")
    expect(page.get_by_role("radio")).to_have_count(2)
    folds = page.get_by_role("button", name="Show all")
    expect(folds).to_have_count(2)
    for _ in range(2):
        page.mouse.wheel(0, 900)
        page.wait_for_timeout(100)
        for seen in (
            page.locator("#question"),
            page.locator("[data-pinned]"),
            page.get_by_role("button", name="Continue"),
        ):
            expect(seen).to_be_in_viewport(ratio=1)
    if hand == "mouse":
        widths = [
            box["width"]
            for box in (card.bounding_box() for card in page.locator("label:has([data-number])").all())
            if box
        ]
        assert min(widths) > 500
    assert page.get_by_role("textbox").count() == 0, "why is asked of a choice"
    assert _room_above(page) > 4, "the pinned line touches what is above it"
    heights = _heights(page)
    rater.choose(2)
    assert _heights(page) == heights, "a choice moves lines"
    expect(page.get_by_role("textbox")).to_be_visible()
    folds.first.press("Enter")
    expect(folds).to_have_count(1)
    page.reload()
    expect(page.get_by_role("button", name="Show less")).to_have_count(1)
    page.get_by_role("button", name="Show differences").click()
    assert sorted(page.locator("label mark").all_text_contents()) == ["brisk", "mild"]
    assert violations(page) == []
    rater.picture(f"length-{hand}")
    rater.write("It is shorter.")
    rater.send("Continue")
    expect(page.get_by_role("heading", name="One last thing")).to_be_visible()
    assert len(drawn_study.record_of(f"length-{hand}").turns[1].candidates[0].text) > 5000


def _room_above(page: Page) -> float:
    """Pixels of the question's bar above its first line."""
    return float(
        page.locator("[data-pinned]").evaluate(
            "line => line.getBoundingClientRect().top - line.parentElement.getBoundingClientRect().top"
        )
    )


def _heights(page: Page) -> list[float]:
    """How high the replies' cards are."""
    return [
        box["height"] for box in (card.bounding_box() for card in page.locator("label:has([data-number])").all()) if box
    ]
