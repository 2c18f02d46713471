"""Free-for-all: a suggested topic, one pick a turn, an end when the person likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from .conftest import launched
from .leaks import check_secrecy
from .looks import Looks
from .practising import practise_twice
from .rater import Card, Hand, Rater
from .study import Study
from .techniques import launch_free_for_all, practice_of

pytestmark = pytest.mark.browser

MODELS = ("eliza", "retrieval", "degraded")
PRACTICE = practice_of("free_for_all", "appropriate", "appropriate")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(launch_free_for_all, tmp_path_factory.mktemp("free_for_all") / "study")


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_from_preview_to_record(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """A topic from the button, a message of one's own that no suggestion replaces unasked, picks, points and ranks."""
    rater = visit(study.url, hand)
    rater.watch.keep_bodies()
    looks = Looks("phone" if hand == "finger" else "wide")
    page = rater.page
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_twice(rater, PRACTICE)

    topic = _take_suggestion(rater, looks)
    rater.send("Send")
    shown = [rater.cards(len(MODELS))]
    rater.choose(2)
    looks.look(page, "free-for-all-choose")
    rater.send("Continue")

    rater.progress("Turn 2 of at least 2")
    rater.may_write()
    _keep_own_words(rater, "I had rather talk about bread.")
    rater.send("Send")
    shown.append(rater.cards(len(MODELS)))
    rater.choose(1)
    rater.send("Continue")

    rater.progress("Turn 3")
    rater.may_write()
    assert rater.transcript()[1::2] == [("partner", shown[0][1].text), ("partner", shown[1][0].text)]
    rater.ask_and_confirm("End the conversation")
    rater.finish()
    _check_record(study, worker, [topic, "I had rather talk about bread."], shown)
    check_secrecy(rater.watch.received, MODELS, [study.record_of(worker).worker])
    assert looks.problems() == []


def _take_suggestion(rater: Rater, looks: Looks) -> str:
    page = rater.page
    rater.may_write()
    rater.press("Topic ideas")
    dialog = page.get_by_role("dialog", name="Suggested topics")
    expect(dialog.get_by_role("listitem")).to_have_count(3)
    first = dialog.get_by_role("listitem").first.text_content() or ""
    rater.press("More suggestions")
    expect(dialog.get_by_text(first, exact=True)).to_have_count(0)
    looks.look(page, "free-for-all-suggestions")
    topic = dialog.get_by_role("listitem").first.text_content() or ""
    rater.press(topic)
    expect(dialog).to_have_count(0)
    field = page.get_by_role("textbox")
    expect(field).to_have_value(topic)
    expect(field).to_be_focused()
    return topic


def _keep_own_words(rater: Rater, words: str) -> None:
    rater.write(words)
    rater.press("Topic ideas")
    dialog = rater.page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_have_count(3)
    rater.press(dialog.get_by_role("listitem").nth(1).text_content() or "")
    expect(rater.page.get_by_role("dialog", name="Replace what you have written?")).to_be_visible()
    rater.press("Keep mine")
    expect(dialog).to_have_count(0)
    expect(rater.page.get_by_role("textbox")).to_have_value(words)


def _check_record(study: Study, worker: str, said: list[str], shown: list[list[Card]]) -> None:
    record = study.finished_record_of(worker)
    assert (record.technique, record.status, record.ended_by_rater) == ("free_for_all", "complete", True)
    assert [turn.human_text for turn in record.turns] == said
    assert [turn.human_suggested for turn in record.turns] == [True, False]
    picked = [shown[0][1].candidate_id, shown[1][0].candidate_id]
    assert [turn.selected for turn in record.turns] == [[one] for one in picked]
    assert [turn.continued for turn in record.turns] == picked
    for turn, cards in zip(record.turns, shown, strict=True):
        placed = sorted(turn.candidates, key=lambda candidate: candidate.position)
        assert [Card(candidate.candidate_id, candidate.text) for candidate in placed] == cards
    model = {c.candidate_id: c.model for turn in record.turns for c in turn.candidates}
    points = Counter(dict.fromkeys(MODELS, 0))
    points.update(model[one] for one in picked)
    assert record.points == points
    assert record.ranks == {name: 1 + sum(p > points[name] for p in points.values()) for name in MODELS}
