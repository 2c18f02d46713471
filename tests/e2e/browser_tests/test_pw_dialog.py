"""PW-Dialog: two long dialogues side by side, one below the other on a phone, and the question always at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import ViewportSize, expect

from parlai_humaneval.schema.records import JudgementRecord
from parlai_humaneval.techniques.questions import PAIR_OPTIONS, PAIR_SPEAKERS, PW_DIALOG_QUESTIONS

from .conftest import WIDE, launched
from .finished import LINES, launch_pw_dialog
from .judging import Judging, Line, in_view
from .leaks import check_secrecy_of_finished
from .looks import NARROW, SHAPES, Looks, sideways
from .oddities import LONG_WORD, MARKUP
from .practising import practise, practise_as
from .rater import Hand, Rater
from .study import ODD_MODELS, Study
from .techniques import practice_of

pytestmark = pytest.mark.browser

PRACTICE = practice_of("pw_dialog", "preference", "preference")
QUESTION = PW_DIALOG_QUESTIONS["preference"]
PAIRS = 4
"""Of a unit, the attention check among them."""
SMALL_LAPTOP: ViewportSize = {"width": 1024, "height": 768}
REASON = "Asks back, and tells things of their own."
WORKER = "Zebulon-Q-Worker"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_pw_dialog, tmp_path_factory.mktemp("pw_dialog") / "study")


def _judge(rater: Rater, number: int, side: int) -> list[list[Line]]:
    """A pair to its end; what was shown, the left dialogue first."""
    judging = Judging(rater)
    rater.progress(f"Pair {number} of {PAIRS}")
    judging.at_top()
    shown = judging.lines(2)
    judging.rater.read()
    rater.choose(side)
    rater.write(REASON)
    rater.send("Continue")
    return shown


def _check_record(record: JudgementRecord, shown: list[list[Line]], side: int) -> None:
    """What the record says was shown on which side is what stood there, and so is what was chosen."""
    assert (record.technique, record.status) == ("pw_dialog", "complete")
    assert [one.position for one in record.dialogues] == [1, 2]
    for dialogue, lines, name in zip(record.dialogues, shown, PAIR_SPEAKERS, strict=True):
        assert [line.text for line in dialogue.lines] == [line.text for line in lines]
        assert [line.speaker == dialogue.judged for line in dialogue.lines] == [line.judged for line in lines]
        assert {line.speaker for line in lines if line.judged} == {name}
    answer = record.answers[0]
    assert (answer.option, answer.reason) == (list(PAIR_OPTIONS)[side - 1], REASON)
    assert record.refused_answers == 0


def _models(record: JudgementRecord) -> list[str]:
    """Who the marked speakers were, the left one first."""
    return [one.entities[one.judged] for one in record.dialogues if one.judged is not None]


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """Practice, a pair with every stumble, three more; sides, choices and reasons as they were on the page."""
    rater = visit(study.url, hand)
    rater.watch.keep_bodies()
    looks = Looks(SHAPES[hand])
    page = rater.page
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_as(rater, PRACTICE, lambda number: looks.look(page, "pw-dialog-practice") if number == 1 else None)
    shown = [_first_pair(rater, looks)]
    sides = [1]
    for number in range(2, PAIRS + 1):
        sides.append(1 + number % 2)
        shown.append(_judge(rater, number, sides[-1]))
    rater.finish()

    records = study.judgements_of(worker)
    assert [record.number for record in records] == list(range(1, PAIRS + 1))
    for record, lines, side in zip(records, shown, sides, strict=True):
        _check_record(record, lines, side)
    (check,) = [record for record in records if record.expected is not None]
    met = [one.dialogue_id for record in records for one in record.dialogues]
    assert len(met) == len(set(met)), "no dialogue twice"
    models = [_models(record) for record in records if record is not check]
    assert [sorted(pair) for pair in models] == [sorted(ODD_MODELS)] * (PAIRS - 1)
    secrets = [records[0].worker, "gold:", *(str(record.seed) for record in records)]
    check_secrecy_of_finished(rater.watch.received, ODD_MODELS, secrets)
    assert page.evaluate("window.stolen") is None
    assert looks.problems() == []


def _first_pair(rater: Rater, looks: Looks) -> list[list[Line]]:
    page, judging = rater.page, Judging(rater)
    rater.progress(f"Pair 1 of {PAIRS}")
    judging.at_top()
    shown = judging.lines(2)
    looks.look(page, "pw-dialog-begin")
    rater.press("Continue")
    expect(page.get_by_role("alert").last).to_have_text("Choose an answer before you continue.")
    expect(page.get_by_role("radio").first).to_be_focused()
    rater.choose(2)
    rater.choose(1)
    rater.press("Continue")
    expect(page.get_by_role("alert").last).to_contain_text("Your reason is still empty. Please write at least 3 words.")
    field = page.get_by_role("textbox", name="Why is this speaker better?")
    expect(field).to_be_focused()
    looks.look(page, "pw-dialog-missing-reason")
    rater.write(REASON[:10])
    if rater.hand == "keyboard":
        rater.choose(2)  # with Alt, as one types
        rater.choose(1)
        expect(field).to_have_value(REASON[:10])
    page.reload()
    rater.progress(f"Pair 1 of {PAIRS}")
    assert judging.lines(2) == shown, "the same item, on the same sides"
    judging.picked(QUESTION, PAIR_SPEAKERS[0])
    expect(field).to_have_value(REASON[:10])
    judging.rater.read()
    rater.write(REASON[10:])
    looks.look(page, "pw-dialog-answered")
    _send_twice(rater)
    return shown


_ENTER_ON_ARRIVAL = """next => new MutationObserver((_, observer) => {
    if (document.querySelector("header").innerText.includes(next)) {
        observer.disconnect();
        const again = new KeyboardEvent("keydown", { key: "Enter", code: "Enter", bubbles: true, cancelable: true });
        const press = () => document.activeElement.dispatchEvent(again);
        setTimeout(() => document.body.setAttribute("data-pressed-again", press()), 50);
    }
}).observe(document.body, { subtree: true, childList: true, characterData: true })"""


def _send_twice(rater: Rater) -> None:
    """As an impatient person does: it counts once, also where the next pair comes between the two presses."""
    if rater.hand == "keyboard":
        rater.page.evaluate(_ENTER_ON_ARRIVAL, f"Pair 2 of {PAIRS}")
        rater.page.keyboard.press("Enter")
        expect(rater.page.locator("body[data-pressed-again]")).to_have_count(1)
    else:
        rater.page.get_by_role("button", name="Continue", exact=True).dblclick()


def _enter(rater: Rater, worker: str) -> None:
    rater.arrive(worker)
    rater.sees_task()
    practise(rater, PRACTICE)


def _until_long(rater: Rater) -> int:
    """Go on to a pair of long dialogues, if the first is the attention check; its number."""
    rater.progress(f"Pair 1 of {PAIRS}")
    if len(Judging(rater).lines(2)[0]) == LINES:
        return 1
    _judge(rater, 1, 1)
    rater.progress(f"Pair 2 of {PAIRS}")
    return 2


def test_two_long_dialogues_on_a_laptop(visit: Callable[..., Rater], study: Study) -> None:
    """Side by side with thirty lines each; the question stays in sight all the way; markup is text; next, the top again."""
    rater = visit(study.url)
    page, judging, looks = rater.page, Judging(rater), Looks("wide")
    _enter(rater, "reads-wide")
    number = _until_long(rater)
    for size in (WIDE, SMALL_LAPTOP):
        page.set_viewport_size(size)
        left, right = judging.boxes(2)
        assert left["x"] + left["width"] <= right["x"]
        assert abs(left["y"] - right["y"]) < 1
        assert min(left["width"], right["width"]) > 0.38 * size["width"]  # half of the column that all steps share
        ask = judging.question(QUESTION)
        for place in (0.0, 0.5, 1.0):
            page.evaluate("place => scrollTo(0, place * document.documentElement.scrollHeight)", place)
            assert in_view(ask), f"the question is out of sight at {place} of {size}"
        looks.look(page, f"pw-dialog-end-{size['width']}")
    last = page.locator("[data-testid=panel] ol > li").last
    form = page.locator("form")
    box, below = last.bounding_box(), form.bounding_box()
    assert box is not None
    assert below is not None
    assert box["y"] + box["height"] <= below["y"] + 1, "the last line can be scrolled clear of the form"
    texts = [line.text for lines in judging.lines(2) for line in lines]
    assert len(texts) == 2 * LINES
    assert MARKUP in texts
    assert LONG_WORD in texts
    assert page.locator("[data-testid=panel] :is(img, script, b, i, a)").count() == 0
    page.get_by_role("radio").first.focus()
    rater.choose(1)
    rater.write(REASON)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    rater.send("Continue")
    rater.progress(f"Pair {number + 1} of {PAIRS}")
    judging.at_top()
    assert looks.problems() == []


def test_two_long_dialogues_on_a_phone(visit: Callable[..., Rater], study: Study) -> None:
    """One below the other, under the same names; tabs lead from one to the other and ask nothing; 320 pixels do."""
    rater = visit(study.url, "finger")
    page, judging, looks = rater.page, Judging(rater), Looks("phone")
    _enter(rater, "reads-phone")
    _until_long(rater)
    first, second = judging.boxes(2)
    assert first["y"] + first["height"] <= second["y"]
    assert first["x"] == second["x"]
    bar = page.get_by_role("navigation", name="What to compare")
    expect(page.get_by_role("navigation", name="Parts of this page")).to_be_hidden()
    assert in_view(judging.question(QUESTION))
    for name, heading in (("2nd conversation", "#panel-1"), ("1st conversation", "#panel-0")):
        bar.get_by_role("link", name=name).tap()
        expect(page.locator(heading)).to_be_focused()
        expect(page.locator(heading)).to_be_in_viewport()
        expect(bar.get_by_role("link", name=name)).to_have_attribute("aria-current", "location")
        looks.look(page, f"pw-dialog-jump-{heading[1:]}")
        assert in_view(judging.question(QUESTION))
    page.set_viewport_size(NARROW)
    assert sideways(page) <= 0
    page.locator("#panel-1").scroll_into_view_if_needed()
    looks.look(page, "pw-dialog-320")
    assert looks.problems() == []


def test_by_keys_alone(visit: Callable[..., Rater], study: Study) -> None:
    """A pair is a digit, a sentence and Enter. No page knows its worker, and both models have been on both sides."""
    rater = visit(study.url, "keyboard")
    _enter(rater, WORKER)
    shown = [_first_pair(rater, Looks(None)), *(_judge(rater, number, 1) for number in range(2, PAIRS + 1))]
    rater.finish("Nothing to add.")
    records = study.judgements_of(WORKER)
    for record, lines in zip(records, shown, strict=True):
        _check_record(record, lines, 1)
    assert records[-1].feedback == "Nothing to add."
    real = [one for one in study.judgements() if one.expected is None and one.status == "complete"]
    assert {_models(record)[0] for record in real} == set(ODD_MODELS)
    assert [text for text in rater.watch.received if WORKER in text] == []
