"""Spot The Bot: who is a human and who is a bot, and who is better at what, all on one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from parlai_humaneval.techniques.questions import FEATURE_QUESTIONS, LABEL_OPTIONS, label_questions

from .conftest import launched
from .finished import launch_spot_the_bot
from .judging import Judging, Line, box_of, in_view
from .leaks import check_secrecy_of_finished
from .looks import NARROW, SHAPES, Looks, sideways
from .practising import practise, practise_as
from .rater import Hand, Rater
from .study import Study
from .techniques import practice_of
from .watch import LINE_TROUBLE

pytestmark = pytest.mark.browser

PRACTICE = practice_of("spot_the_bot", "spot", "spot")
MODELS = ("eliza", "retrieval", "dull")
ITEMS = 4
"""Of a unit, the attention check among them."""
LINES = 6
"""Two exchanges, and the one of the seed."""
QUESTIONS = [*label_questions().values(), *FEATURE_QUESTIONS.values()]
ANSWERS = ["Human", "Bot", "Speaker A", "The same", "Speaker B"]
OPTIONS = {"label_0": "human", "label_1": "bot", "fluent": "first", "specific": "same", "sensible": "second"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_spot_the_bot, tmp_path_factory.mktemp("spot_the_bot") / "study")


def _answer_all(rater: Rater) -> None:
    judging = Judging(rater)
    for question, option in zip(QUESTIONS, ANSWERS, strict=True):
        judging.pick(question, option)


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """Practice; four segments, one of them a check; what was shown and every answer recorded."""
    rater = visit(study.url, hand)
    rater.watch.keep_bodies()
    looks = Looks(SHAPES[hand])
    page, judging = rater.page, Judging(rater)
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_as(rater, PRACTICE, lambda number: looks.look(page, "spot-practice") if number == 1 else None)

    shown: list[list[Line]] = []
    for number in range(1, ITEMS + 1):
        rater.progress(f"Conversation {number} of {ITEMS}")
        judging.at_top()
        shown.append(judging.lines(1)[0])
        if number == 1:
            _stumble(rater, looks)
        _answer_all(rater)
        if number == 2:
            looks.look(page, "spot-answered")
        rater.send("Continue")
    rater.finish("Some are hard to tell.")
    looks.look(page, "spot-end")

    records = study.judgements_of(worker)
    assert [record.number for record in records] == list(range(1, ITEMS + 1))
    for record, lines in zip(records, shown, strict=True):
        assert record.status == "complete"
        assert [line.text for line in record.dialogues[0].lines] == [line.text for line in lines]
        assert [f"Speaker {'AB'[line.speaker]}" for line in record.dialogues[0].lines] == [one.speaker for one in lines]
        assert {answer.question_id: answer.option for answer in record.answers} == OPTIONS
        assert not any(line.judged for line in lines)
    (check,) = [record for record in records if record.expected is not None]
    assert check.gold_passed == (check.expected == {"label_0": "human", "label_1": "bot"})
    assert {record.dialogues[0].k for record in records if record is not check} == {2}
    assert records[-1].feedback == "Some are hard to tell."
    secrets = [records[0].worker, "gold:", '"human_human"', '"bot_bot"']
    check_secrecy_of_finished(rater.watch.received, MODELS, secrets)
    assert looks.problems() == []


def _stumble(rater: Rater, looks: Looks) -> None:
    """Too early: what is missing is counted and named, the focus is there; a reload keeps what was answered."""
    page, judging = rater.page, Judging(rater)
    looks.look(page, "spot-open")
    judging.pick(QUESTIONS[0], "Unsure")
    rater.press("Continue")
    expect(page.get_by_role("alert").last).to_contain_text(
        f"4 questions still need an answer. The first: “{QUESTIONS[1]}”"
    )
    expect(judging.question(QUESTIONS[1]).get_by_role("radio").first).to_be_focused()
    looks.look(page, "spot-missing")
    before = judging.lines(1)
    page.reload()
    rater.progress(f"Conversation 1 of {ITEMS}")
    assert judging.lines(1) == before
    judging.picked(QUESTIONS[0], "Unsure")
    expect(page.get_by_text("1 of 5 answered")).to_be_visible()


def test_a_segment_and_all_questions_on_one_laptop_screen(visit: Callable[..., Rater], study: Study) -> None:
    """Nothing to scroll for two exchanges after the seed: six lines, five questions, and the button."""
    rater = visit(study.url)
    page, judging = rater.page, Judging(rater)
    _enter(rater, "one-screen")
    _answer_all(rater)
    rater.send("Continue")
    rater.progress(f"Conversation 2 of {ITEMS}")  # the first has the word about the practice above it
    assert len(judging.lines(1)[0]) == LINES
    assert in_view(judging.panels(1).first)
    assert in_view(page.get_by_role("button", name="Continue", exact=True))
    for question in QUESTIONS:
        assert in_view(judging.question(question))
    panel, form = box_of(judging.panels(1).first), box_of(page.locator("form"))
    assert panel["y"] + panel["height"] <= form["y"] + 1, "the form covers no line"
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    page.set_viewport_size(NARROW)
    assert sideways(page) <= 0


def _enter(rater: Rater, worker: str) -> None:
    rater.arrive(worker)
    rater.sees_task()
    practise(rater, PRACTICE)
    rater.progress(f"Conversation 1 of {ITEMS}")


def test_practice_failed_twice(visit: Callable[..., Rater], study: Study) -> None:
    """No item is explained before its answer; the wrong ones are once more after the try; after the second try a polite
    refusal, and the same on coming back."""
    rater = visit(study.url)
    page, looks = rater.page, Looks("wide")
    rater.arrive("fails")
    rater.sees_task()

    def nothing_told(number: int) -> None:
        assert [text for text in rater.watch.received if PRACTICE.items[number - 1].why in text] == []

    practise(rater, PRACTICE, wrong=[1, 3], on_item=nothing_told)
    told = page.get_by_role("alert")
    expect(told).to_contain_text("2 answers were not what we were looking for. You have one more try.")
    for item in (PRACTICE.items[0], PRACTICE.items[2]):
        expect(told).to_contain_text(item.why)
    looks.look(page, "spot-practice-feedback")
    expect(told).not_to_contain_text(PRACTICE.items[1].why)
    practise(rater, PRACTICE, wrong=[2])
    expect(page.get_by_role("heading", name="The practice ends here")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("There is no penalty")
    page.reload()
    expect(page.get_by_role("main")).to_contain_text("did not match the answers that this task requires")
    expect(page.get_by_role("radio")).to_have_count(0)
    assert study.judgements_of("fails") == []
    assert looks.problems() == []


def test_launch_that_ends_in_the_middle(visit: Callable[..., Rater], study: Study) -> None:
    """The rater is told that the study was paused; with the next launch their page goes on by itself with the conversation
    that was in sight, and what they did is kept."""
    rater = visit(study.url)
    page, judging, looks = rater.page, Judging(rater), Looks("wide")
    _enter(rater, "cut-off")
    for number in (2, 3):  # one of the first two is no attention check
        _answer_all(rater)
        rater.send("Continue")
        rater.progress(f"Conversation {number} of {ITEMS}")
    in_sight = judging.lines(1)
    judging.pick(QUESTIONS[0], "Human")
    assert study.stop() == 0
    rater.watch.excuse(LINE_TROUBLE)
    expect(page.get_by_role("heading", name="The study was paused")).to_be_visible()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("All your work is saved")
    looks.look(page, "spot-paused")
    assert [record.status for record in study.judgements_of("cut-off")] == ["complete", "complete", "partial"]

    study.start_again()
    expect(page.get_by_text("Welcome back! Your earlier answers are saved. Please continue here.")).to_be_visible()
    looks.look(page, "spot-back")
    assert judging.lines(1) == in_sight
    for number in range(3, ITEMS + 1):
        rater.progress(f"Conversation {number} of {ITEMS}")
        _answer_all(rater)
        rater.send("Continue")
    rater.finish()
    records = [one for one in study.judgements_of("cut-off") if one.status == "complete"]
    ordinary = [record for record in records if record.expected is None]
    assert len(ordinary) == ITEMS - 1
    assert len({record.session for record in records}) == 1
    for record in records:
        assert {answer.question_id: answer.option for answer in record.answers} == OPTIONS
    assert set(LABEL_OPTIONS) >= {answer.option for record in records for answer in record.answers[:2]}
    assert looks.problems() == []
