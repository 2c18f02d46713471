"""Raters of finished dialogues who leave and come back, launches that end in between: no answer and no rule is lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from judging_hands import (
    LONG,
    SHORT,
    TERSE,
    WORDY,
    Judge,
    agent_status,
    chats,
    duets,
    judgements,
    one_unit,
    panel_texts,
    says,
    study_beside,
)
from live import TASK, eventually

from mephisto_tasks.admission.admission import PHRASES
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.annotation.study import GO_ON, JUDGING, JUDGING_PAIRS
from mephisto_tasks.config.names import NothingToDo
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.study import AWAY, PAUSED, filled
from mephisto_tasks.storage.results import read_judgements
from parlai_humaneval.schema.records import JudgementRecord
from parlai_humaneval.schema.steps import EndStep


def idle(run: RunningStudy) -> bool:
    return not run.live_run.task_runner.running_units


def pairs(folder: Path, dialogues: int = 6, **more: Any) -> dict[str, Any]:
    """PW-Dialog: three pairs a unit."""
    files = [chats(folder, name, says(text), dialogues=dialogues) for name, text in ((WORDY, LONG), (TERSE, SHORT))]
    return {"task": "pw_dialog", "dialogues": files, "items_per_unit": 3, "judgements_per_group": 12, **more}


def segments(folder: Path, dialogues: int = 8, **more: Any) -> dict[str, Any]:
    """Spot The Bot: three segments a unit, two units a worker, two judgements a segment."""
    return {
        "task": "spot_the_bot",
        "models": [WORDY, TERSE],
        "generate": "",
        "dialogues": [duets(folder, WORDY, TERSE, dialogues=dialogues)],
        "human_dialogues": [],
        "human_share": 0,
        "segment_lengths": [1, 2],
        "items_per_unit": 3,
        "units_per_worker": 2,
        **more,
    }


def wholes(folder: Path, dialogues: int = 4, **more: Any) -> dict[str, Any]:
    """Whole dialogues on a scale: three a unit, two judgements each."""
    return {
        "task": "third_party",
        "dialogues": [chats(folder, WORDY, says(LONG), dialogues=dialogues)],
        "show": "whole",
        "metric": "dimensions",
        "scales": ["overall"],
        "items_per_unit": 3,
        "judgements_per_item": 2,
        **more,
    }


STUDIES = [pairs, segments, wholes]


def dialogues_of(found: list[JudgementRecord]) -> list[str]:
    return [shown.dialogue_id for record in found for shown in record.dialogues]


@pytest.mark.parametrize("study", STUDIES)
async def test_who_leaves_for_good_and_comes_back_goes_on_where_they_were(tmp_path: Path, study: Any) -> None:
    """One item judged, the second seen: back later, the same session goes on with that one, and they are told so."""
    async with study_beside(tmp_path / "data", **study(tmp_path, disconnect_after_s=1)) as run:
        async with Judge(run, "returns") as rater:
            await rater.state()
            state = await rater.answer_somehow()
            assert state.progress is not None
            assert (state.progress.current, state.progress.total) == (2, 3)
            seen = panel_texts(state)
        await eventually(lambda: idle(run), timeout=25)
        async with Judge(run, "returns") as rater:
            state = await rater.state()
            assert (state.notice, panel_texts(state)) == (GO_ON, seen)
            assert state.progress is not None
            assert (state.progress.current, state.progress.total) == (2, 3)
            asked = await rater.whole_unit()
            assert [state.notice for state in asked] == [GO_ON, None], "said once"
            await eventually(lambda: agent_status(run, rater) == "completed")
        found = judgements(run)
        assert [(record.status, record.number) for record in found] == [("complete", number) for number in (1, 2, 3)]
        assert len({record.session for record in found}) == 1
        met = dialogues_of(found)
        assert len(met) == len(set(met))
        done = sum(group.completed for group in run.study.progress())
        assert (done, sum(group.running for group in run.study.progress())) == (3, 0)


@pytest.mark.parametrize("study", STUDIES)
async def test_a_second_launch_goes_on_where_the_first_was_stopped(tmp_path: Path, study: Any) -> None:
    """Answers are kept, counts are right, nobody gets a dialogue they know, and the one who was cut off goes on."""
    settings = {"data_dir": tmp_path / "data", **study(tmp_path)}
    async with study_beside(**settings) as run:
        await one_unit(run, "done")
        cut_off = Judge(run, "cut-off")
        await cut_off.__aenter__()
        await cut_off.state()
        await cut_off.answer_somehow()
        before = cut_off.judgements(run)
    step = cut_off.newest.step
    assert isinstance(step, EndStep)
    assert (step.title, step.next) == (PAUSED[0], "stay")
    assert step.text == filled(PAUSED[1], run.study.unit_words)
    await cut_off.__aexit__(None, None, None)
    kept = read_judgements(run.data_dir, TASK)
    assert Counter(record.status for record in kept) == {"complete": 4, "partial": 1}
    assert [record.interrupted for record in kept if record.status == "partial"] == [True]

    async with study_beside(**settings) as run:
        assert sum(group.completed for group in run.study.progress()) == 4
        assert len(run.live_run.task_launcher.units) == run.study.remaining
        async with Judge(run, "cut-off") as rater:
            assert (await rater.state()).notice == GO_ON
            await rater.whole_unit()
        after = [record for record in judgements(run) if record.session == before[0].session]
        assert [(record.number, record.status) for record in after] == [(number, "complete") for number in (1, 2, 3)]
        assert after[1].dialogues == before[1].dialogues, "what was in sight when the launch ended"
        for number in range(9):
            if run.study.remaining == 0:
                break
            async with Judge(run, "done" if number == 0 else f"new-{number}", f"visit-{number}") as rater:
                if rater.client.refused is None:
                    await rater.whole_unit()
        await eventually(run.is_done)
    found = read_judgements(run.data_dir, TASK)
    names = {record.judgement_id: record for record in found}
    assert all(names[record.judgement_id].answers[: len(record.answers)] == record.answers for record in kept)
    by_worker, by_item = defaultdict(list), Counter()
    for record in found:
        by_worker[record.worker] += dialogues_of([record])
        by_item[record.item_id] += record.status == "complete"
    assert all(len(met) == len(set(met)) for met in by_worker.values())
    assert max(by_item.values()) <= run.study.config.judgements_per_item
    wanted = sum(group.wanted for group in run.study.progress())
    assert sum(record.status == "complete" for record in found) == wanted
    with pytest.raises(NothingToDo, match="have already been collected"):
        async with study_beside(**settings):
            pass


async def test_asking_for_more_later_collects_only_the_difference(tmp_path: Path) -> None:
    settings = {"data_dir": tmp_path / "data", **pairs(tmp_path, judgements_per_group=3)}
    async with study_beside(**settings) as run:
        await one_unit(run, "first")
        await eventually(run.is_done)
    async with study_beside(**{**settings, "judgements_per_group": 5}) as run:
        (group,) = run.study.progress()
        assert (group.wanted, group.completed) == (5, 3)
        assert run.study.remaining == 1
        assert len(await one_unit(run, "second")) == 2
        await eventually(run.is_done)


async def test_attention_checks_are_known_over_launches(tmp_path: Path) -> None:
    """A worker of both launches meets no check twice, and a check counts as no judgement of the study."""
    settings = {"data_dir": tmp_path / "data", **pairs(tmp_path, judgements_per_group=20, golds_per_unit=2)}
    golds: list[str] = []
    for number in (1, 2):
        async with study_beside(**settings) as run:
            found = await one_unit(run, "regular")
            assert [record.number for record in found] == [1, 2, 3, 4, 5]
            golds += [record.item_id for record in found if record.expected is not None]
            assert sum(group.completed for group in run.study.progress()) == 3 * number
    assert len(golds) == len(set(golds)) == 4


@pytest.mark.parametrize("again", ["same launch", "next launch"])
async def test_checks_cannot_be_got_round_by_leaving(tmp_path: Path, again: str) -> None:
    """Numbers go on after what was judged, checks included, and the unit has as many checks answered as any other."""
    study = {**pairs(tmp_path, judgements_per_group=20, golds_per_unit=2), "disconnect_after_s": 1}
    settings = {"data_dir": tmp_path / "data", **study}

    async def first_visit(run: RunningStudy) -> None:
        async with Judge(run, "returns") as rater:
            await rater.state()
            while rater.judgements(run)[-1].expected is None:  # away while the first check is on the page
                await rater.answer_somehow()
        await eventually(lambda: idle(run), timeout=25)

    async def second_visit(run: RunningStudy) -> None:
        before = [record for record in judgements(run) if record.status == "complete"]
        assert all(record.expected is None for record in before)
        async with Judge(run, "returns") as rater:
            state = await rater.state()
            assert state.notice == GO_ON
            assert state.progress is not None
            assert (state.progress.current, state.progress.total) == (len(before) + 1, 5)
            check = judgements(run)[-1]
            await rater.whole_unit()
        complete = [record for record in judgements(run) if record.status == "complete"]
        assert [record.number for record in complete] == [1, 2, 3, 4, 5]
        assert sum(record.expected is not None for record in complete) == 2
        checks = {record.number: record.item_id for record in judgements(run) if record.expected is not None}
        assert len(set(checks.values())) == 2
        assert checks[check.number] == check.item_id, "the one that was left is there again, in its place"

    async with study_beside(**settings) as run:
        await first_visit(run)
        if again == "same launch":
            await second_visit(run)
    if again == "next launch":
        async with study_beside(**settings) as run:
            await second_visit(run)


async def test_new_dialogues_join_a_study(tmp_path: Path) -> None:
    """Files that grow between launches: what was judged stays judged, under the same item ids."""
    settings = {"data_dir": tmp_path / "data", **wholes(tmp_path, dialogues=3, judgements_per_item=1)}
    async with study_beside(**settings) as run:
        old = set(run.study.items)
        await one_unit(run, "first")
        await eventually(run.is_done)
    grown = wholes(tmp_path, dialogues=5, judgements_per_item=1)
    async with study_beside(tmp_path / "data", **grown) as run:
        assert old < set(run.study.items)
        assert {record.item_id for record in await one_unit(run, "second")} == set(run.study.items) - old


async def test_silence_ends_a_unit_in_words(tmp_path: Path) -> None:
    """Who has more to do is invited back; who has not is told so. What they did counts."""
    async with study_beside(tmp_path / "data", **pairs(tmp_path, dialogues=4)) as run:
        run.study.config.answer_timeout_s = 1
        async with Judge(run, "idler") as rater:
            await rater.state()
            state = await rater.answer_somehow()
            ended = await rater.client.next_state(after_version=state.version, timeout=10)
            assert isinstance(ended.step, EndStep)
            assert (ended.step.title, ended.step.next) == (AWAY[0], "stay")
            assert ended.step.text == only_closing(filled(AWAY[1], JUDGING_PAIRS))
        assert sum(group.completed for group in run.study.progress()) == 1


async def test_who_has_seen_everything_is_invited_back_as_long_as_nobody_else_has_it(tmp_path: Path) -> None:
    """One item for one rater: who left it hears that another judges it now."""
    async with study_beside(tmp_path / "data", **wholes(tmp_path, dialogues=1, judgements_per_item=1)) as run:
        run.study.config.answer_timeout_s = 1
        async with Judge(run, "idler") as rater:
            state = await rater.state()
            ended = await rater.client.next_state(after_version=state.version, timeout=10)
            assert isinstance(ended.step, EndStep)
            assert ended.step.text == only_closing(filled(AWAY[1], JUDGING))
            await eventually(lambda: idle(run))
        run.study.config.answer_timeout_s = 60
        async with Judge(run, "other") as other:
            await other.state()
            async with Judge(run, "idler", "again") as rater:
                assert rater.client.refused == only_closing(filled(PHRASES["given_on"], JUDGING))
