"""One model: ticks with an explicit “none”, yes or no, and points at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from .conftest import launched
from .leaks import check_secrecy
from .looks import Looks
from .oddities import MARKUP
from .practising import practise, practise_twice
from .rater import Hand, Rater
from .scales import Scales
from .study import ODD_MODELS, Study
from .techniques import launch_appropriate, launch_single_model, practice_of

pytestmark = pytest.mark.browser

QUALITY = practice_of("single_model", "quality", "quality")
APPROPRIATE = practice_of("single_model", "appropriate", "appropriate")
MESSAGE = "Show me your markup."
LOW: ViewportSize = {"width": 390, "height": 480}
"""What a keyboard on the screen leaves of a phone."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_single_model, tmp_path_factory.mktemp("single_model") / "study")


@pytest.fixture(scope="module")
def yes_no_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_appropriate, tmp_path_factory.mktemp("appropriate") / "study")


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """Two ticks, “none”, three points of which none may be left out: all of it is in the record."""
    rater = visit(study.url, hand)
    rater.watch.keep_bodies()
    looks = Looks("phone" if hand == "finger" else "wide")
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_twice(rater, QUALITY)
    replies = _ticks(rater, looks)
    points = _points(rater, looks)
    rater.finish()

    record = study.finished_record_of(worker)
    assert (record.technique, record.status) == ("single_model", "complete")
    assert [turn.human_text for turn in record.turns] == ["Hi!", MESSAGE]
    assert [turn.candidates[0].text for turn in record.turns] == replies
    assert [turn.ticks for turn in record.turns] == [["engaging", "interesting"], []]
    assert [turn.none_said for turn in record.turns] == [False, True]
    assert list(record.final_ratings.values()) == points
    assert record.refused_answers == 0
    check_secrecy(rater.watch.received, ODD_MODELS, [str(record.seed), record.worker])
    assert rater.page.evaluate("window.stolen") is None
    assert looks.problems() == []


def _ticks(rater: Rater, looks: Looks) -> list[str]:
    page = rater.page
    judged = page.get_by_role("figure", name="The reply to judge").get_by_role("blockquote")
    rater.progress("Turn 1 of 2")
    expect(page.get_by_role("checkbox")).to_have_count(4)
    rater.press("Continue")
    expect(page.get_by_role("alert").last).to_contain_text("or “None of the above”, before you continue.")
    replies = [judged.text_content() or ""]
    rater.choose(1, 3)
    looks.look(page, "single-model-tick")
    page.reload()
    expect(page.get_by_role("checkbox")).to_have_count(4)
    assert [box.is_checked() for box in page.get_by_role("checkbox").all()] == [True, False, True, False]
    rater.press("Continue")

    rater.progress("Turn 2 of 2")
    if rater.hand == "finger":
        _above_a_keyboard(rater)
    rater.say(MESSAGE)
    expect(judged).to_contain_text(MARKUP[:30])
    replies.append(judged.text_content() or "")
    assert page.locator("main :is(img, script, b, i, a)").count() == 0
    rater.choose_none()
    rater.send("Continue")
    return replies


def _above_a_keyboard(rater: Rater) -> None:
    """What was said last, what is asked, and where one writes and sends stand in sight together and cover nothing."""
    page = rater.page
    own = page.viewport_size
    assert own is not None
    page.set_viewport_size(LOW)
    rater.may_write()
    page.get_by_role("textbox").tap()
    last = page.get_by_role("log").get_by_role("listitem").last.get_by_role("paragraph").first
    asked, field = page.get_by_text("Write your next message"), page.get_by_role("textbox")
    column = [page.get_by_role("banner"), last, asked, field]
    edges = [edge for place in column for edge in _from_to(place)][1:]
    assert edges == sorted(edges), edges
    (top, bottom), (_, end) = _from_to(page.get_by_role("button", name="Send")), _from_to(field)
    assert top < end <= bottom <= LOW["height"]
    page.set_viewport_size(own)


def _from_to(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["y"], box["y"] + box["height"]


def _in_one_row(rater: Rater, statement: str) -> None:
    """Five points beside one another, each wide enough for a finger."""
    group = rater.page.get_by_role("radiogroup", name=statement, exact=True)
    boxes = [label.bounding_box() for label in group.locator("label").all()]
    assert len(boxes) == 5
    assert len({box["y"] for box in boxes if box is not None}) == 1
    assert min(min(box["width"], box["height"]) for box in boxes if box is not None) >= 40


def _points(rater: Rater, looks: Looks) -> list[int]:
    scales = Scales(rater)
    page = rater.page
    expect(page.get_by_role("heading", name="The conversation is over. How was your partner?")).to_be_visible()
    first, second, third = scales.statements()
    _in_one_row(rater, first)
    scales.point(first, 4)
    scales.point(third, 1)
    scales.answered(2)
    scales.refused_at(page.get_by_role("radiogroup", name=second, exact=True).get_by_role("radio").first)
    looks.look(page, "single-model-points")
    page.reload()
    scales.answered(2)
    scales.point(second, 5)
    scales.answered(3)
    rater.press("Continue")
    return [4, 5, 1]


def test_yes_or_no(visit: Callable[..., Rater], yes_no_study: Study) -> None:
    """One choice of two; “no” is as explicit as “yes”."""
    rater = visit(yes_no_study.url)
    looks = Looks("wide")
    rater.arrive("yes-no")
    rater.sees_task()
    practise(rater, APPROPRIATE)
    for turn, yes in enumerate([True, False], start=1):
        rater.progress(f"Turn {turn} of at least 2")
        rater.say(f"Message number {turn}.")
        expect(rater.page.get_by_role("radio")).to_have_count(2)
        expect(rater.page.get_by_role("radio", checked=True)).to_have_count(0)
        looks.look(rater.page, "yes-no")
        rater.choose(1) if yes else rater.choose_none()
        rater.send("Continue")
    rater.may_write()
    rater.ask_and_confirm("End the conversation")
    rater.finish()
    record = yes_no_study.finished_record_of("yes-no")
    assert record.status == "complete"
    assert [turn.ticks for turn in record.turns] == [["appropriate"], []]
    assert [turn.none_said for turn in record.turns] == [False, True]
    assert looks.problems() == []
