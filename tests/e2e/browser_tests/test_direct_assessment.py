"""Direct assessment: several conversations, each with a topic and an opinion of it before, and sliders after."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from .conftest import launched
from .leaks import check_secrecy
from .looks import SHAPES, Looks
from .practising import practise_twice
from .rater import Hand, Rater
from .scales import NEAR, Scales
from .study import Study
from .techniques import launch_direct_assessment, practice_of

pytestmark = pytest.mark.browser

MODELS = ("eliza", "retrieval", "degraded")
CONVERSATIONS = len(MODELS)
PRACTICE = practice_of("direct_assessment", "quality", "quality")
TOPICS = ["Bread <b>& butter</b>", "My old bicycle", "Rain"]
OPINIONS = ["liked", "disliked", "ambivalent"]
OPINION_KEYS = {"liked": 1, "ambivalent": 2, "disliked": 3}
NEW_TOPIC = "Now it is cheese"
RATINGS = [[0, 100, 50, 13, 88, 34, 71], [20, 30, 40, 60, 70, 80, 90], [100, 0, 99, 1, 55, 45, 62]]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_direct_assessment, tmp_path_factory.mktemp("direct_assessment") / "study")


@pytest.mark.parametrize("hand", ["mouse", "keyboard", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """Three conversations, a reload in the second, a new topic in the first, every slider: all of it is recorded."""
    rater = visit(study.url, hand)
    rater.watch.keep_bodies()
    looks = Looks(None if hand == "keyboard" else SHAPES[hand])  # as with a mouse
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_twice(
        rater, PRACTICE, lambda number: looks.look(rater.page, "direct-assessment-practice") if number == 1 else None
    )
    for number in range(1, CONVERSATIONS + 1):
        rater.within(f"Conversation {number} of {CONVERSATIONS}", "Turn 1 of at least 2")
        _name_topic(rater, looks, number)
        _talk(rater, looks, number)
        _rate(rater, looks, number)
    rater.finish("That was long.")
    _check_records(study, worker)
    check_secrecy(rater.watch.received, MODELS, [study.records_of(worker)[0].worker])
    assert looks.problems() == []


def _name_topic(rater: Rater, looks: Looks, number: int) -> None:
    page = rater.page
    field = page.get_by_label("What would you like to talk about?")
    expect(field).to_have_value("")
    rater.write(TOPICS[number - 1])
    if number == 1:
        rater.press("Continue")
        expect(page.get_by_role("alert").last).to_have_text("Choose an answer before you continue.")
        looks.look(page, "direct-assessment-topic")
    rater.choose(OPINION_KEYS[OPINIONS[number - 1]])
    if number == 2:
        page.reload()
        rater.within(f"Conversation 2 of {CONVERSATIONS}")
        expect(field).to_have_value(TOPICS[1])
        expect(page.get_by_role("radio", checked=True)).to_have_count(1)
    rater.press("Continue")
    rater.may_write()
    expect(page.get_by_role("region", name="Topic")).to_contain_text(TOPICS[number - 1])
    expect(page.locator("main b")).to_have_count(0)


def _talk(rater: Rater, looks: Looks, number: int) -> None:
    page = rater.page
    rater.say(f"Let us begin with number {number}.")
    rater.within(f"Conversation {number} of {CONVERSATIONS}", "Turn 2 of at least 2")
    rater.may_write()
    if number == 1:
        _change_topic(rater, looks)
    if number == 2:
        rater.write("Half a mess")
        page.reload()
        rater.within(f"Conversation 2 of {CONVERSATIONS}", "Turn 2 of at least 2")
        expect(page.get_by_role("textbox")).to_have_value("Half a mess")
        expect(page.get_by_role("region", name="Topic")).to_contain_text(TOPICS[1])
        rater.write("age is no message.")
        rater.send("Send")
    else:
        rater.say("And this is my second message.")
    rater.within("Turn 3")
    rater.may_write()
    rater.ask_and_confirm("End the conversation")


def _change_topic(rater: Rater, looks: Looks) -> None:
    rater.press("Change the topic")
    dialog = rater.page.get_by_role("dialog", name="Change the topic")
    expect(dialog.get_by_role("textbox")).to_be_focused()
    rater.write(NEW_TOPIC)
    looks.look(rater.page, "direct-assessment-new-topic")
    rater.press("Save")
    expect(dialog).to_have_count(0)
    expect(rater.page.get_by_role("region", name="Topic")).to_contain_text(NEW_TOPIC)
    rater.may_write()


def _rate(rater: Rater, looks: Looks, number: int) -> None:
    scales = Scales(rater)
    expect(rater.page.get_by_role("slider")).to_have_count(len(RATINGS[0]))
    if number == 1:
        first, second, *_ = scales.statements()
        scales.refused_at(scales.slider(first))
        scales.slide(first, RATINGS[0][0])
        scales.refused_at(scales.slider(second))
        scales.answered(1)
        rater.page.reload()
        scales.answered(1)
        expect(scales.slider(second)).to_have_attribute("data-untouched", "")
    scales.slide_all(RATINGS[number - 1])
    if number == 1:
        looks.look(rater.page, "direct-assessment-sliders")
    rater.press("Continue")
    if number < CONVERSATIONS:
        expect(rater.page.get_by_text("That conversation is saved. The next conversation")).to_be_visible()


def _check_records(study: Study, worker: str) -> None:
    records = study.finished_records_of(worker, CONVERSATIONS)
    assert [record.conversation for record in records] == [1, 2, 3]
    assert len({record.session for record in records}) == 1
    assert {record.models[0].name for record in records} == set(MODELS)
    assert {record.quality_control_model for record in records} == {"degraded"}
    assert [record.context.topic for record in records] == TOPICS
    assert [record.context.opinion for record in records] == OPINIONS
    changes = [[(change.turn, change.text) for change in record.context.topic_changes] for record in records]
    assert changes == [[(2, NEW_TOPIC)], [], []]
    for record, meant in zip(records, RATINGS, strict=True):
        assert record.status == "complete"
        assert len(record.complete_turns) == 2
        assert list(record.final_ratings.values()) == pytest.approx(meant, abs=NEAR)
    assert records[1].turns[1].human_text == "Half a message is no message."
    assert records[-1].feedback == "That was long."


def rest(page: Page) -> None:
    """Wait until the page, which a finger has pushed, lies still: a touch meets what stands there then."""
    page.evaluate(
        """() => new Promise((resolve) => {
            let place = window.scrollY, since = performance.now();
            const look = () => {
                if (window.scrollY !== place) [place, since] = [window.scrollY, performance.now()];
                if (performance.now() - since > 500) resolve(); else setTimeout(look, 20);
            };
            look();
        })"""
    )


def test_slider_moves_by_drag_and_not_by_scrolling(visit: Callable[..., Rater], study: Study) -> None:
    """A mouse drags it; a finger that scrolls past it leaves it unanswered, and one that drags sideways moves it."""
    rater = visit(study.url, "finger")
    page = rater.page
    rater.arrive("drags")
    rater.sees_task()
    scales = Scales(rater)
    first, second, third, *_ = scales.statements()
    touch = page.context.new_cdp_session(page)

    def middle_of(statement: str) -> tuple[float, float]:
        line = scales.slider(statement).locator("xpath=..")
        line.scroll_into_view_if_needed()
        box = line.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def swipe(statement: str, by_x: int, by_y: int) -> None:
        x, y = middle_of(statement)
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for part in range(1, 9):
            point = {"x": x + by_x * part / 8, "y": y + by_y * part / 8}
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    swipe(first, 0, -160)
    page.wait_for_function("window.scrollY > 0")
    rest(page)
    scales.answered(0)
    swipe(second, 80, 0)
    scales.answered(1)
    expect(scales.slider(second)).not_to_have_attribute("data-untouched", "")
    assert float(scales.slider(second).input_value()) > 60
    page.mouse.move(*middle_of(third))
    page.mouse.down()
    assert float(scales.slider(third).input_value()) == pytest.approx(50, abs=NEAR)
    page.mouse.move(0, 0, steps=5)  # far beyond its end
    page.mouse.up()
    assert float(scales.slider(third).input_value()) == 0
    scales.answered(2)
