"""SATA-User, as a person does it: several, none and a better reply, at least so many turns, and an end when they like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import expect

from .conftest import launched
from .leaks import check_secrecy
from .looks import NARROW, SHAPES, Looks, sideways
from .oddities import LONG_WORD, MARKUP, SAME
from .practising import NOT_RIGHT, practise
from .rater import Card, Hand, Rater
from .study import ODD_MODELS, Study
from .techniques import launch_sata, practice_of

pytestmark = pytest.mark.browser

PRACTICE = practice_of("sata", "appropriate", "appropriate")
MODELS = 3
NONE = "None of these"
SAID = ["I bake bread on Sundays.\nDo you?", "<b>Rye</b> & wheat; what's your favourite?"]
WRITTEN = "I like rye best,\nit is <i>so</i> dark & hearty."
END = "End the conversation"


@dataclass
class Memory:
    """What the person saw."""

    shown: list[list[Card]] = field(default_factory=list)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_sata, tmp_path_factory.mktemp("sata") / "study")


def _enter(rater: Rater, worker: str) -> None:
    rater.arrive(worker)
    rater.sees_task()
    practise(rater, PRACTICE)
    rater.may_write()


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """Practice told at once, several, none, a copy refused, a better reply, an end that is confirmed: all is recorded."""
    rater = visit(study.url, hand)
    rater.watch.keep_bodies()
    looks = Looks(SHAPES[hand])
    rater.page.goto(rater.url)
    expect(rater.page.get_by_role("button", name="Start")).to_be_visible()
    looks.look(rater.page, "sata-preview")
    worker = rater.start_from_preview()
    rater.sees_task()
    _practise(rater, looks)
    memory = _talk(rater, looks)
    rater.finish("Nothing more.")
    _check_record(study, worker, memory)
    record = study.record_of(worker)
    check_secrecy(rater.watch.received, [*ODD_MODELS, "degraded"], [str(record.seed), record.worker])
    assert looks.problems() == []


def _practise(rater: Rater, looks: Looks) -> None:
    page = rater.page

    def on_item(number: int) -> None:
        if number == 2:
            expect(page.get_by_text(f"Your last answer was {NOT_RIGHT}")).to_be_visible()
            expect(page.get_by_text(PRACTICE.items[0].why)).to_be_visible()
            looks.look(page, "sata-practice-feedback")
        elif number > 2:
            expect(page.get_by_text("Your last answer was right.")).to_be_visible()

    practise(rater, PRACTICE, wrong=[1], on_item=on_item)
    expect(page.get_by_role("alert")).to_contain_text(f"One answer was {NOT_RIGHT} You have one more try.")
    practise(rater, PRACTICE)


def _talk(rater: Rater, looks: Looks) -> Memory:
    page, memory = rater.page, Memory()
    rater.progress("Turn 1 of at least 2")
    _not_yet(rater, "You can end the conversation after 2 more messages.")
    looks.look(page, "sata-first-message")
    rater.say(SAID[0])
    memory.shown.append(rater.cards(MODELS))
    rater.choose(1, 3)
    looks.look(page, "sata-choose")
    rater.send("Continue")

    rater.progress("Turn 2 of at least 2")
    rater.may_write()
    _not_yet(rater, "after one more message")
    rater.say(SAID[1])
    memory.shown.append(rater.cards(MODELS))
    rater.send("Continue") if rater.hand != "keyboard" else rater.press("Continue")
    expect(page.get_by_role("alert")).to_have_text(f"Choose a reply, or “{NONE}”, before you continue.")
    rater.choose_none()
    rater.send("Continue")
    _write_better(rater, looks, memory.shown[-1])

    rater.progress("Turn 3")
    rater.may_write()
    looks.look(page, "sata-may-end")
    assert rater.transcript()[2:] == [("you", SAID[1]), ("partner", WRITTEN)]
    rater.ask_and_confirm(END, sure=False)
    rater.may_write()
    rater.ask_and_confirm(END)
    return memory


def _not_yet(rater: Rater, words: str) -> None:
    expect(rater.page.get_by_role("button", name=END)).to_be_disabled()
    rater.press(END, unavailable=True)
    expect(rater.page.get_by_role("status").filter(has_text=words)).to_be_visible()
    expect(rater.page.get_by_role("dialog")).to_have_count(0)


def _write_better(rater: Rater, looks: Looks, cards: list[Card]) -> None:
    page = rater.page
    field = page.get_by_role("textbox")
    expect(page.get_by_role("heading", name="The replies that you did not choose")).to_be_visible()
    assert [item.text_content() for item in page.locator("form, section").locator("ul > li").all()] == [
        card.text for card in cards
    ]
    copied = next(card.text for card in cards if card.text.startswith("I heard"))
    rater.write(copied.replace("\n", " "))
    rater.send("Send")
    expect(page.get_by_role("alert")).to_contain_text("Your text repeats a reply that you did not choose.")
    expect(field).to_have_value(copied.replace("\n", " "))
    looks.look(page, "sata-write-refused")
    field.clear()
    rater.write(WRITTEN)
    looks.look(page, "sata-write")
    rater.send("Send")


def _check_record(study: Study, worker: str, memory: Memory) -> None:
    record = study.finished_record_of(worker)
    assert (record.technique, record.setting, record.status) == ("sata", "sata_user", "complete")
    assert record.ended_by_rater
    assert [turn.human_text for turn in record.turns] == SAID
    for turn, cards in zip(record.turns, memory.shown, strict=True):
        placed = sorted(turn.candidates, key=lambda candidate: candidate.position)
        assert [candidate.text for candidate in placed] == [card.text for card in cards]
    first, second = record.turns
    ids = [c.candidate_id for c in sorted(first.candidates, key=lambda candidate: candidate.position)]
    assert first.selected == [ids[0], ids[2]]
    assert first.continued in first.selected
    assert not first.none_said
    assert (second.selected, second.none_said, second.continued) == ([], True, None)
    assert second.written == WRITTEN
    assert record.feedback == "Nothing more."
    assert record.refused_answers == 1


def test_drafts_survive_a_reload(visit: Callable[..., Rater], study: Study) -> None:
    """Ticked cards, the explicit none, and half a written reply are there again."""
    rater = visit(study.url)
    boxes = rater.page.get_by_role("checkbox")
    _enter(rater, "drafts")
    rater.say("Tell me something.")
    rater.cards(MODELS)
    rater.choose(1, 2)
    rater.page.reload()
    expect(boxes).to_have_count(MODELS + 1)
    assert [box.is_checked() for box in boxes.all()] == [True, True, False, False]
    rater.choose_none()
    assert [box.is_checked() for box in boxes.all()] == [False, False, False, True]
    rater.page.reload()
    expect(boxes.last).to_be_checked()
    rater.send("Continue")
    rater.write("You could at least")
    rater.page.reload()
    expect(rater.page.get_by_role("textbox")).to_have_value("You could at least")
    rater.write(" ask me back.")
    rater.send("Send")
    rater.progress("Turn 2 of at least 2")
    turn = study.record_of("drafts").turns[0]
    assert (turn.none_said, turn.written) == (True, "You could at least ask me back.")


def test_odd_replies_stay_text_in_their_cards(visit: Callable[..., Rater], study: Study) -> None:
    """Markup and an endless word, on 320 pixels, in the cards and above the reply that is written in their place."""
    rater = visit(study.url, "finger")
    page = rater.page
    page.set_viewport_size(NARROW)
    _enter(rater, "odd-replies")
    for message, text in (("Show me markup", MARKUP), ("Now a long word", LONG_WORD)):
        rater.say(message)
        assert len([card for card in rater.cards(MODELS) if card.text.startswith(text)]) == 2
        assert sideways(page) <= 0
        rater.choose_none()
        rater.send("Continue")
        expect(page.get_by_label("None of the responses fits.")).to_be_visible()
        assert page.get_by_text(text[-40:]).count() >= 2
        assert page.locator("main :is(img, script, b, i, a)").count() == 0
        assert sideways(page) <= 0
        rater.picture(f"sata-odd-{message.split()[-1]}")
        rater.write("This is what I would say here.")
        rater.send("Send")
    rater.may_write()
    assert page.evaluate("window.stolen") is None


def test_same_reply_is_shown_once(visit: Callable[..., Rater], study: Study) -> None:
    """Two models that say the same stand on one card, and a choice of it is one of both."""
    rater = visit(study.url)
    _enter(rater, "same")
    rater.say("Please say the same, both of you.")
    cards = rater.cards(MODELS - 1)
    rater.choose(1 + [card.text for card in cards].index(SAME))
    rater.send("Continue")
    rater.progress("Turn 2 of at least 2")
    turn = study.record_of("same").turns[0]
    models = {candidate.candidate_id: candidate.model for candidate in turn.candidates}
    assert {models[chosen] for chosen in turn.selected} == set(ODD_MODELS)
