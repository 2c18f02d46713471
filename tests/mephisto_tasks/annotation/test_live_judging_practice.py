"""The practice before finished dialogues: judged on the server, two tries with words in between, for every kind of item."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, chats, duets, launch_study, says, talked, told_of
from live import rows

from mephisto_tasks.admission.admission import PHRASES
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.steps import FAILED_TITLE, PASSED_TITLE
from mephisto_tasks.session.study import PRACTICE_PASSED, filled
from parlai_humaneval.materials.instructions import ChooseItem, PairItem, PracticeItem, RateItem, SegmentItem
from parlai_humaneval.schema.steps import ChooseStep, EndStep, FormStep, Notice, PageState, RankStep, RateStep

QUALIFICATION = "practised"
Settings = dict[str, Any]


def pairs(folder: Path) -> Settings:
    files = [chats(folder, WORDY, says(LONG), dialogues=9), chats(folder, TERSE, says(SHORT), dialogues=9)]
    return {"task": "pw_dialog", "dialogues": files, "judgements_per_group": 40}


def segments(folder: Path) -> Settings:
    bots = duets(folder, WORDY, TERSE, dialogues=20, exchanges=6)
    return {"task": "spot_the_bot", "models": [WORDY, TERSE], "generate": "", "dialogues": [bots]}


def wholes(folder: Path) -> Settings:
    files = [chats(folder, WORDY, says(LONG), dialogues=20)]
    return {"task": "third_party", "conf": "ma2023_gold", "dialogues": files}


def rankings(folder: Path) -> Settings:
    talked(folder / "data", "free_for_all", "talks", models=["alpha", "beta", "gamma"], group_size=3, dialogues=6)
    return {"task": "third_party", "conf": "ma2023_ranking", "dialogues": [{"task": "talks"}], "judgements_per_item": 9}


def choices(folder: Path) -> Settings:
    talked(folder / "data", "sata", "talks", models=["alpha", "beta"], dialogues=3, turns=3)
    return {"task": "third_party", "dialogues": [{"task": "talks"}], "judgements_per_item": 9}


PRESETS: list[Callable[[Path], Settings]] = [pairs, segments, wholes, rankings, choices]


@contextmanager
def practising(folder: Path, preset: Callable[[Path], Settings], **more: Any) -> Iterator[RunningStudy]:
    settings = {"onboarding_qualification": QUALIFICATION, "task_name": "practised-task", **preset(folder), **more}
    with launch_study(folder / "data", **settings) as run:
        yield run


@pytest.fixture(scope="module", params=PRESETS, ids=lambda preset: str(preset.__name__))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    with practising(tmp_path_factory.mktemp("practice"), request.param) as run:
        yield run


def items_of(run: RunningStudy) -> list[PracticeItem]:
    assert run.study.practice is not None, "the preset has a practice of its own"
    return list(run.study.practice.items)


def answer_to(item: PracticeItem, state: PageState, right: bool) -> dict[str, Any]:
    """The right answer to an item, or the most natural wrong one."""
    step = state.step
    match item:
        case PairItem():
            assert isinstance(step, FormStep)
            side = "first" if (item.better == 1) == right else "second"
            return {"kind": "form", "values": {question.question_id: side for question in step.questions}}
        case SegmentItem():
            labels = [sorted(one)[-1] for one in item.right]
            if not right:
                labels[1] = next(label for label in ("bot", "human", "unsure") if label not in item.right[1])
            return {"kind": "form", "values": {f"label_{index}": label for index, label in enumerate(labels)}}
        case RateItem():
            assert isinstance(step, RateStep)
            ends = {scale.scale_id: (scale.minimum, scale.maximum) for scale in step.scales}
            values = {name: ends[name][(side == "high") == right] for name, side in item.sides.items()}
            return {"kind": "rate", "values": values}
        case ChooseItem() if isinstance(step, RankStep):
            good = {item.replies[number - 1] for number in item.right}
            order = sorted(step.cards, key=lambda card: (card.text in good) != right)
            ranks = {card.candidate_id: place for place, card in enumerate(order, start=1)}
            return {"kind": "rank", "ranks": ranks}
        case ChooseItem():
            assert isinstance(step, ChooseStep)
            good = {item.replies[number - 1] for number in item.right}
            chosen = [card.candidate_id for card in step.cards if (card.text in good) == right]
            if step.max_choices == 1:
                chosen = chosen[:1]
            return {"kind": "choose", "selected": chosen, "none": not chosen}
    raise AssertionError(item)


async def practise(rater: Judge, run: RunningStudy, wrong: Collection[int] = ()) -> PageState:
    """All items once, those numbered in ``wrong`` answered wrong."""
    state = await rater.state()
    for number, item in enumerate(items_of(run), start=1):
        assert state.progress is not None
        assert (state.progress.unit, state.progress.current) == ("practice", number)
        assert state.panels, "there is something to read"
        state = await rater.answer(**answer_to(item, state, number not in wrong))
    return state


def granted(data_dir: Path, worker: str) -> dict[str, int]:
    sql = """SELECT qualification_name, value FROM granted_qualifications
             JOIN qualifications USING (qualification_id) JOIN workers USING (worker_id) WHERE worker_name = ?"""
    return dict(rows(data_dir, sql, f"{worker}_sandbox"))


async def test_wrong_then_right_passes_with_words_between(run: RunningStudy) -> None:
    async with Judge(run, "second-try") as rater:
        state = await practise(rater, run, wrong={2})
        assert state.notice is not None
        assert (
            "One answer was not what we were looking for. You have one more try. Please answer again."
            in state.notice.text
        )
        second = items_of(run)[1]
        place = "Pair 2" if isinstance(second, PairItem) else "Conversation 2"
        if isinstance(second, ChooseItem):
            place = f"After “{second.human}”"
        assert state.notice.points == [f"{place}: {second.why}"]
        state = await practise(rater, run)
        assert isinstance(state.step, EndStep)
        assert (state.step.title, state.step.next) == (PASSED_TITLE, "submit_onboarding")
        assert (await rater.client.submit_onboarding())["failure_reason"] is None
        state = await rater.state()
        assert state.phase == "task"
        assert state.notice == Notice(level="success", text=filled(PRACTICE_PASSED, run.study.unit_words))
        assert "{" not in state.notice.text
    assert granted(run.data_dir, "second-try") == {QUALIFICATION: 1}


async def test_twice_wrong_is_refused_politely_for_good(run: RunningStudy) -> None:
    async with Judge(run, "twice-wrong") as rater:
        everything = range(1, len(items_of(run)) + 1)
        state = await practise(rater, run, wrong=everything)
        assert state.notice is not None
        assert len(state.notice.points) == len(everything)
        state = await practise(rater, run, wrong={1})
        assert isinstance(state.step, EndStep)
        assert state.step.title == FAILED_TITLE
        details = await rater.client.submit_onboarding()
        assert str(details["failure_reason"]).startswith(only_closing(PHRASES["practice_failed"]))
    for assignment in ("a-twice-wrong", "another"):
        async with Judge(run, "twice-wrong", assignment) as rater:
            assert str(rater.client.refused).startswith(only_closing(PHRASES["practice_failed"]))
    assert granted(run.data_dir, "twice-wrong")[QUALIFICATION] == 0


async def test_right_at_once_passes_at_once(run: RunningStudy) -> None:
    items = items_of(run)
    async with Judge(run, "first-try") as rater:
        for number, item in enumerate(items):
            state = await rater.state()
            to_come = [later.why for later in items[number:]]
            assert told_of(list(rater.client.heard), to_come) == [], "what is right is told after the answer only"
            await rater.answer(**answer_to(item, state, right=True))
        state = await rater.state()
        assert isinstance(state.step, EndStep)
        assert state.step.title == PASSED_TITLE
        heard = list(rater.client.heard)
    secrets = ['"better"', "must_not", '"why"', '"sides"', "entities"]
    assert told_of(heard, secrets) == [], "no answer is given away"


async def test_a_reload_in_the_practice_finds_its_place(run: RunningStudy) -> None:
    async with Judge(run, "reloader") as first:
        item, state = items_of(run)[0], await first.state()
        before = await first.answer(**answer_to(item, state, right=False))
    async with Judge(run, "reloader") as again:
        assert await again.state() == before


def test_practice_asks_for_labels_alone_and_no_reasons(tmp_path: Path) -> None:
    """What has no right answer is not practised."""
    for preset, expected in ((segments, {"label_0": None, "label_1": None}), (pairs, {"preference": None})):
        with practising(tmp_path, preset, task_name=preset.__name__) as run:
            step = asyncio.run(first_state(run)).step
        assert isinstance(step, FormStep)
        assert {question.question_id: question.reason for question in step.questions} == expected


async def first_state(run: RunningStudy) -> PageState:
    async with Judge(run, "looks") as rater:
        return await rater.state()


def test_feedback_after_the_try(tmp_path: Path) -> None:
    """As Smith et al. 2022 practise (App. B.2): nothing is told between the items."""

    async def practise_in_silence(run: RunningStudy) -> None:
        async with Judge(run, "waits") as rater:
            assert (await rater.answer(**answer_to(items_of(run)[0], await rater.state(), right=False))).notice is None

    with practising(tmp_path, pairs, onboarding_feedback="after_try") as run:
        asyncio.run(practise_in_silence(run))


def test_feedback_at_each_item(tmp_path: Path) -> None:
    async def learn(run: RunningStudy) -> None:
        async with Judge(run, "learns") as rater:
            for item, right in zip(items_of(run)[:2], (False, True), strict=True):
                state = await rater.answer(**answer_to(item, await rater.state(), right))
                assert state.notice is not None
                assert item.why in state.notice.text
                assert ("was right" in state.notice.text) == right

    with practising(tmp_path, pairs) as run:
        asyncio.run(learn(run))
