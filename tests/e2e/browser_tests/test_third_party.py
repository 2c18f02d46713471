"""Third party: recorded dialogues once more. Turn by turn as their own rater was asked, a ranking, and scales with hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord
from parlai_humaneval.techniques.questions import DIMENSIONS

from .conftest import launched
from .finished import (
    LINES,
    LIVE_MODELS,
    LIVE_TURNS,
    RATED,
    launch_dimensions,
    launch_ranking,
    launch_replay,
    rate_live,
)
from .judging import Judging
from .leaks import check_secrecy_of_finished
from .looks import NARROW, SHAPES, Looks, sideways
from .practising import practise, practise_as
from .rater import Hand, Rater
from .scales import Scales
from .study import ODD_MODELS, Study
from .techniques import practice_of

pytestmark = pytest.mark.browser

RANKS = (2, 3, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("third_party")


@pytest.fixture(scope="module")
def data_dir(folder: Path) -> Path:
    """Conversations that simulated raters had, and rated."""
    return rate_live(folder / "live")


@pytest.fixture(scope="module")
def replay(folder: Path, data_dir: Path) -> Iterator[Study]:
    yield from launched(lambda where: launch_replay(where, data_dir), folder / "replay")


@pytest.fixture(scope="module")
def ranking(folder: Path, data_dir: Path) -> Iterator[Study]:
    yield from launched(lambda where: launch_ranking(where, data_dir), folder / "ranking")


@pytest.fixture(scope="module")
def dimensions(folder: Path, data_dir: Path) -> Iterator[Study]:
    yield from launched(lambda where: launch_dimensions(where, data_dir), folder / "dimensions")


def _original(study: Study, record: JudgementRecord) -> DialogueRecord:
    name = record.dialogues[0].dialogue_id
    return next(one for one in read_dialogues(study.data_dir, RATED) if one.dialogue_id == name)


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_replay(visit: Callable[..., Rater], replay: Study, hand: Hand) -> None:
    """The same turns and replies as then, one after another, without a hint of what was chosen then."""
    rater = visit(replay.url, hand)
    rater.watch.keep_bodies()
    page, judging, looks = rater.page, Judging(rater), Looks(SHAPES[hand])
    worker = rater.start_from_preview()
    rater.sees_task()
    practise(
        rater,
        practice_of("third_party", "appropriate", "appropriate"),
        on_item=lambda number: looks.look(page, "replay-practice") if number == 1 else None,
    )
    said: list[list[list[str]]] = []
    for number in (1, 2):
        said.append([])
        for turn in range(1, LIVE_TURNS + 1):
            rater.within(f"Conversation {number} of 2", f"Turn {turn} of {LIVE_TURNS}")
            cards = rater.cards(3)
            said[-1].append([line.text for line in judging.lines(1)[0]])
            if (number, turn) in ((1, 2), (2, 3)):
                looks.look(page, f"replay-{number}-{turn}")
            if (number, turn) == (1, 2):
                page.reload()
                rater.within("Conversation 1 of 2", f"Turn 2 of {LIVE_TURNS}")
                assert [card.text for card in rater.cards(3)] == [card.text for card in cards]
            if turn == 1:
                rater.choose(1, 3)
            else:
                rater.choose_none()
            rater.send("Continue")
    rater.finish()

    records = replay.judgements_of(worker)
    assert [record.status for record in records] == ["complete"] * 2
    for record, seen in zip(records, said, strict=True):
        own = _original(replay, record)
        assert [len(texts) for texts in seen] == [len(seen[0]) + 2 * turn for turn in range(LIVE_TURNS)]
        assert [texts[-1] for texts in seen] == [turn.human_text for turn in own.turns]
        assert [answer.none_said for answer in record.answers] == [False] + [True] * (LIVE_TURNS - 1)
        assert len(record.answers[0].selected) == 2
    secrets = [records[0].worker, *(_original(replay, record).worker for record in records)]
    check_secrecy_of_finished(rater.watch.received, LIVE_MODELS, secrets)
    assert looks.problems() == []


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_ranking_of_a_turn(visit: Callable[..., Rater], ranking: Study, hand: Hand) -> None:
    """A place for each reply, none twice: who takes another's place swaps with it. One turn, and nothing after it."""
    rater = visit(ranking.url, hand)
    rater.watch.keep_bodies()
    page, judging, looks = rater.page, Judging(rater), Looks(SHAPES[hand])
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_as(
        rater,
        practice_of("third_party", "rank", "rank"),
        lambda number: looks.look(page, "ranking-practice") if number == 1 else None,
    )
    for number in (1, 2):
        rater.progress(f"Conversation {number} of 2")
        judging.at_top()
        if number == 1:
            looks.look(page, "ranking-open")
            judging.pick("Rank of reply A", "1")
            rater.press("Continue")
            expect(page.get_by_role("alert").last).to_contain_text("Not ranked yet: Reply B, Reply C.")
            looks.look(page, "ranking-missing")
            page.reload()
            judging.picked("Rank of reply A", "1")
            judging.pick("Rank of reply A", "2")
            judging.pick("Rank of reply B", "3")
            judging.pick("Rank of reply C", "1")
        else:
            judging.rank(RANKS)
        if number == 1:
            expect(page.get_by_role("list", name="Your order").get_by_role("listitem")).to_have_count(3)
            looks.look(page, "ranking-placed")
        rater.send("Continue")
    rater.finish()

    records = ranking.judgements_of(worker)
    assert [record.status for record in records] == ["complete"] * 2
    for record in records:
        (answer,) = record.answers
        turn = next(one for one in _original(ranking, record).turns if one.turn == answer.turn)
        placed = sorted(turn.candidates, key=lambda candidate: candidate.position)
        assert [answer.ranks[one.candidate_id] for one in placed] == list(RANKS)
    check_secrecy_of_finished(rater.watch.received, LIVE_MODELS, [records[0].worker])
    assert looks.problems() == []


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_whole_dialogue_on_scales(visit: Callable[..., Rater], dimensions: Study, hand: Hand) -> None:
    """Thirty lines with the model's marked; seven scales on which each point says what it means; none may be left out."""
    rater = visit(dimensions.url, hand)
    rater.watch.keep_bodies()
    page, judging, looks = rater.page, Judging(rater), Looks(SHAPES[hand])
    worker = rater.start_from_preview()
    rater.sees_task()
    practise_as(
        rater,
        practice_of("third_party", "dimensions", "dimensions"),
        lambda number: looks.look(page, "dimensions-practice") if number == 1 else None,
    )
    rater.progress("Conversation 1 of 1")
    judging.at_top()
    (lines,) = judging.lines(1)
    assert len(lines) == LINES
    assert {(line.speaker, line.judged) for line in lines} == {("Person", False), ("Partner", True)}
    looks.look(page, "dimensions-begin")
    scales = Scales(rater)
    assert scales.statements() == [one.text for one in DIMENSIONS.values()]
    points = {name: 1 + place % one.maximum for place, (name, one) in enumerate(DIMENSIONS.items())}
    for name, point in list(points.items())[:3]:
        scales.point(DIMENSIONS[name].text, point)
    scales.answered(3)
    fourth = page.get_by_role("radiogroup", name=DIMENSIONS["inspiration"].text, exact=True)
    scales.refused_at(fourth.get_by_role("radio").first)
    looks.look(page, "dimensions-missing")
    meanings = fourth if hand == "mouse" else fourth.locator("xpath=..").get_by_role("group")
    if hand == "finger":
        meanings.get_by_text("What each number means").tap()
    for hint in DIMENSIONS["inspiration"].hints:
        expect(meanings.get_by_text(hint, exact=True)).to_be_visible()
    page.reload()
    scales.answered(3)
    for name, point in list(points.items())[3:]:
        scales.point(DIMENSIONS[name].text, point)
    looks.look(page, "dimensions-answered")
    page.set_viewport_size(NARROW)
    assert sideways(page) <= 0
    rater.press("Continue")
    rater.finish()

    (record,) = dimensions.judgements_of(worker)
    assert record.status == "complete"
    assert record.answers[0].ratings == points
    check_secrecy_of_finished(rater.watch.received, ODD_MODELS, [record.worker])
    assert page.evaluate("window.stolen") is None
    assert looks.problems() == []
