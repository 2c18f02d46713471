"""Arena: one message to two partners side by side, and a verdict that is asked once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from .conftest import launched
from .leaks import check_secrecy
from .looks import NARROW, Looks, sideways
from .oddities import LONG_WORD, MARKUP
from .practising import practise, practise_twice
from .rater import Hand, Rater
from .study import ODD_MODELS, Study
from .techniques import launch_arena, practice_of

pytestmark = pytest.mark.browser

PRACTICE = practice_of("arena", "better", "better")
SAID = ["Hello, both of you!", "Show me markup, please."]
VERDICT = "B is better"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_arena, tmp_path_factory.mktemp("arena") / "study")


def _replies(rater: Rater, turn: int) -> list[Locator]:
    """What A and B said in a turn."""
    lines = rater.page.get_by_role("log").locator("li[data-speaker=partner]")
    expect(lines.nth(2 * turn - 1)).to_be_visible()
    return [lines.nth(2 * turn - 2), lines.nth(2 * turn - 1)]


def _box(line: Locator) -> FloatRect:
    box = line.bounding_box()
    assert box is not None
    return box


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """Both answer in columns of their own; no verdict before a reply; one taken back, and one that counts."""
    rater = visit(study.url, hand)
    rater.watch.keep_bodies()
    looks = Looks("phone" if hand == "finger" else "wide")
    page = rater.page
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_twice(rater, PRACTICE, lambda number: looks.look(page, "arena-practice") if number == 1 else None)

    rater.may_write()
    expect(page.get_by_role("button", name=VERDICT)).to_have_count(0)
    rater.say(SAID[0])
    _columns(rater, *_replies(rater, 1))
    rater.may_write()
    rater.ask_and_confirm(VERDICT, sure=False)
    rater.say(SAID[1])
    texts = [[line.locator("p").first.text_content() for line in _replies(rater, turn)] for turn in (1, 2)]
    rater.may_write()
    looks.look(page, "arena-verdict")
    expect(page.get_by_role("group", name="Which partner is better?")).to_contain_text(
        "Your answer ends the conversation."
    )
    if hand == "keyboard":
        rater.write("12")  # a number while one writes is a number
        page.keyboard.press("Alt+2")
    else:
        rater.press(VERDICT)
    expect(page.get_by_role("dialog", name=VERDICT)).to_contain_text("ends the conversation. Is that your answer?")
    looks.look(page, "arena-confirm")
    rater.press(VERDICT)
    rater.finish()

    record = study.finished_record_of(worker)
    assert (record.technique, record.status, record.verdict) == ("arena", "complete", "b")
    assert [turn.human_text for turn in record.turns] == SAID
    for turn, shown in zip(record.turns, texts, strict=True):
        placed = sorted(turn.candidates, key=lambda candidate: candidate.position)
        assert [candidate.text for candidate in placed] == shown
        assert placed[1].model == record.verdict_model
        assert turn.continued_each
    check_secrecy(rater.watch.received, ODD_MODELS, [str(record.seed), record.worker])
    assert looks.problems() == []


def _columns(rater: Rater, left: Locator, right: Locator) -> None:
    a, b = _box(left), _box(right)
    if rater.hand == "finger":
        assert b["y"] >= a["y"] + a["height"]
    else:
        assert b["x"] >= a["x"] + a["width"]
        assert abs(a["y"] - b["y"]) < 1
    # A screen reader goes through one list, and hears whose line it is.
    assert (left.inner_text().split("\n")[0], right.inner_text().split("\n")[0]) == ("A", "B")


def test_odd_replies_stay_in_their_columns(visit: Callable[..., Rater], study: Study) -> None:
    """Markup is text, and an endless word pushes nothing aside: side by side, and on 320 pixels."""
    rater = visit(study.url)
    page = rater.page
    rater.arrive("odd-columns")
    rater.sees_task()
    practise(rater, PRACTICE)
    for turn, (message, text) in enumerate((("markup, please", MARKUP), ("a long word, please", LONG_WORD)), start=1):
        rater.say(message)
        for line in _replies(rater, turn):
            expect(line.locator("p").first).to_contain_text(text)
    rater.may_write()
    assert page.locator("main :is(img, script, b, i, a):not(nav *)").count() == 0
    left, right = map(_box, _replies(rater, 2))
    assert left["x"] + left["width"] <= right["x"]
    assert sideways(page) <= 0
    page.set_viewport_size(NARROW)
    assert sideways(page) <= 0
    assert page.evaluate("window.stolen") is None
