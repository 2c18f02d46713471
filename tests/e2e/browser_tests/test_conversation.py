"""A person goes through the whole task, and the record holds exactly what they did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from .rater import Card, Hand, Rater, is_bad, is_good
from .study import Study
from .watch import HOME

pytestmark = pytest.mark.browser

MESSAGES = [
    'I mend old "bicycles" – it\'s my hobby & passion.',
    "<script>window.stolen = 1</script> <b>not bold</b> &amp; {{7*7}}",
    "🚲 Emoji 👩🏽‍🔧, ünïcode, 中文 and العربية!",
    "First line\nsecond line\n\nfourth line",
    "Is 50 % of C:\\temp\\new the same as 100%?  Two  spaces.",
]
REASONS = [
    "It asks me something back.",
    'It says "hello" in <i>style</i>, I think.',
    "🙂 It is nicer to me.",
    "It fits\nwhat I said before.",
    "The other one; it's -- odd & strange.",
    "It's simply a better end.",
]
FEEDBACK = 'All fine! <script>window.stolen = 1</script>\n"Thanks" 🙏'


@dataclass
class Memory:
    """What the person saw and did."""

    question: str = ""
    persona: list[str] = field(default_factory=list)
    shown: list[list[Card]] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)


@pytest.mark.parametrize("hand", ["mouse", "keyboard", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], embedded_study: Study, hand: Hand) -> None:
    """Wrong practice, feedback, right practice, six turns with reloads, comment, submit: all of it is in the record."""
    rater = visit(embedded_study.url, hand)
    worker = rater.start_from_preview()
    _practise_twice(rater)
    memory = _talk(rater)
    rater.finish(FEEDBACK)
    _check_record(embedded_study, worker, memory)
    assert rater.page.evaluate("window.stolen") is None


def _practise_twice(rater: Rater) -> None:
    rater.sees_task()
    rater.practise(is_bad)
    told = rater.page.get_by_role("alert")
    expect(told).to_contain_text("4 answers were not what we were looking for.")
    expect(told).to_contain_text("You have one more try. Please answer again.")
    rater.practise(is_good)


def _talk(rater: Rater) -> Memory:
    memory = Memory()
    rater.progress("Turn 1 of 6")
    memory.persona = rater.persona()
    for turn in range(1, 7):
        rater.progress(f"Turn {turn} of 6")
        if turn > 1:
            _write_message(rater, turn)
        memory.shown.append(rater.cards())
        memory.question = rater.question()
        memory.chosen.append(1 + turn % 2)
        _rate(rater, turn, memory.chosen[-1])
    expect(rater.page.get_by_role("heading", name="One last thing")).to_be_visible()
    assert rater.transcript() == _dialogue(memory)
    return memory


def _write_message(rater: Rater, turn: int) -> None:
    text = MESSAGES[turn - 2]
    if turn != 3:
        rater.say(text)
        return
    # In the middle of the third message the page is reloaded.
    rater.write(text[:20])
    rater.page.reload()
    rater.progress("Turn 3 of 6")
    expect(rater.page.get_by_role("dialog")).to_have_count(0)
    expect(rater.page.get_by_role("textbox")).to_have_value(text[:20])
    rater.write(text[20:])
    rater.send("Send")


def _rate(rater: Rater, turn: int, number: int) -> None:
    reason = REASONS[turn - 1]
    rater.choose(number)
    rater.write(reason[:10])
    if turn == 4:
        rater.page.reload()
        expect(rater.page.get_by_role("radio").nth(number - 1)).to_be_checked()
        expect(rater.page.get_by_role("textbox")).to_have_value(reason[:10])
    rater.write(reason[10:])
    rater.send("Continue")


def _dialogue(memory: Memory) -> list[tuple[str, str]]:
    lines = []
    for said, cards, number in zip(["Hi!", *MESSAGES], memory.shown, memory.chosen, strict=True):
        lines += [("you", said), ("partner", cards[number - 1].text)]
    return lines


def _check_record(study: Study, worker: str, memory: Memory) -> None:
    record = study.finished_record_of(worker)
    assert record.status == "complete"
    assert record.question == memory.question
    assert record.context.persona == memory.persona
    assert len(memory.persona) == 2
    assert [turn.human_text for turn in record.turns] == ["Hi!", *MESSAGES]
    assert [turn.human_fixed for turn in record.turns] == [True] + [False] * 5
    assert [turn.reason for turn in record.turns] == REASONS
    assert record.feedback == FEEDBACK
    assert record.refused_answers == 0
    for turn, cards, number in zip(record.turns, memory.shown, memory.chosen, strict=True):
        assert [Card(c.candidate_id, c.text) for c in turn.candidates] == cards
        assert [c.position for c in turn.candidates] == [1, 2]
        assert turn.selected == [cards[number - 1].candidate_id]
        assert turn.continued == cards[number - 1].candidate_id


def test_only_this_machine_is_asked(visit: Callable[..., Rater], embedded_study: Study) -> None:
    """The watch sees requests and sockets at all, so that its silence in the other tests means something."""
    rater = visit(embedded_study.url)
    rater.arrive("watched")
    rater.sees_task()
    rater.cards()
    assert all(HOME in url for url in rater.watch.urls if not url.startswith("data:"))
    kinds = ("/wrap_crowd_source.js", "/task_config.json", "/request_agent", ".css", ".js")
    assert [kind for kind in kinds if not any(urlsplit(url).path.endswith(kind) for url in rater.watch.urls)] == []
    assert [url for url in rater.watch.urls if url.startswith("ws://")]
    rater.page.evaluate("console.error('a sign of life')")
    assert rater.watch.problems() == ["console error: a sign of life"]
    rater.watch.excuse("a sign of life")
