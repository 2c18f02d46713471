"""Studies of finished dialogues that end when their answer is reached, over real pages: drawn, counted, cut off, gone on."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deciding_raters import rated
from judging_hands import (
    LONG,
    SHORT,
    TERSE,
    WORDY,
    Judge,
    chats,
    duets,
    judgements,
    launch_study,
    one_unit,
    says,
    study_beside,
)
from live import TASK, eventually

from mephisto_tasks.annotation.study import GO_ON
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.session.build import NothingToDo
from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.storage.results import read_judgements
from parlai_humaneval.schema.records import JudgementRecord
from parlai_humaneval.stopping.events import Answered, Arrived, Extended, Left, Returned
from parlai_humaneval.stopping.study import replay

THIRD = "zz-third-model"
DECIDED: dict[str, Any] = {"stop": "decided", "margin": 0.3, "max_dialogues": 60}


def study(folder: Path, *models: str, dialogues: int = 8, **more: Any) -> dict[str, Any]:
    """PW-Dialog, three pairs a unit, of the models that are there."""
    texts = {WORDY: LONG, TERSE: SHORT, THIRD: "Something else."}
    files = [chats(folder, name, says(texts[name]), dialogues=dialogues) for name in models or (WORDY, TERSE)]
    return {"task": "pw_dialog", "dialogues": files, "items_per_unit": 3, **DECIDED, **more}


def by_worker(found: list[JudgementRecord]) -> dict[str, list[JudgementRecord]]:
    workers: dict[str, list[JudgementRecord]] = {}
    for record in found:
        workers.setdefault(record.worker, []).append(record)
    return workers


def check_log(data_dir: Path, found: list[JudgementRecord]) -> None:
    """The log leads to its decisions, and holds each judgement of the study once, under the pair that was drawn."""
    log = DECISIONS.read(data_dir, TASK)
    replay(log)
    drawn = {event.worker: event.dialogues for event in log if isinstance(event, Arrived)}
    counted = Counter(frozenset(drawn[event.worker][event.dialogue]) for event in log if isinstance(event, Answered))
    complete = [record for record in found if record.status == "complete" and record.expected is None]
    assert counted == Counter(frozenset(record.group) for record in complete)
    for records in by_worker(complete).values():
        pairs = Counter(frozenset(record.group) for record in records)
        assert any(pairs <= Counter(map(frozenset, of_one)) for of_one in drawn.values())
        assert len({record.session for record in records}) == 1
        met = [shown.dialogue_id for record in records for shown in record.dialogues]
        assert len(met) == len(set(met))
    assert max(Counter(record.item_id for record in complete).values()) == 1


async def test_a_study_of_pairs_ends_when_its_answer_is_reached(tmp_path: Path) -> None:
    """Guards the whole way, with several judgements of the same pair in a unit and attention checks among them."""
    async with study_beside(tmp_path / "data", **study(tmp_path, golds_per_unit=1)) as run:
        await rated(run, WORDY)
        assert run.is_done()
        now = run.study.deciding_now()
        assert now is not None
        standing = now.standing
        assert (standing.ended, standing.answer) == ("decided", f"{WORDY} > {TERSE}")
        assert run.study.progress()[0].stopped == f"decided: {WORDY} > {TERSE}"
        assert run.study.so_far() == (standing.answered, standing.answered)
        async with Judge(run, "late") as late:
            assert late.client.refused is not None
        found = judgements(run)
    assert any(record.expected is not None for record in found)
    assert standing.answered == sum(record.expected is None for record in found) <= 36
    check_log(tmp_path / "data", found)


async def test_of_three_models_raters_judge_what_is_open(tmp_path: Path) -> None:
    """Guards the draw where no model is named, with one item of each pair for a rater: units shorten with what is open."""
    settings = study(tmp_path, WORDY, TERSE, THIRD, items_per_worker_and_group=1)
    async with study_beside(tmp_path / "data", **settings) as run:
        assert any("assignments become shorter, down to 1 item." in said for said in run.study.remarks)
        await rated(run, WORDY)
        assert run.study.remaining == 0
        found = judgements(run)
    check_log(tmp_path / "data", found)
    arrived = [event for event in DECISIONS.read(tmp_path / "data", TASK) if isinstance(event, Arrived)]
    assert {len(event.dialogues) for event in arrived} > {3}
    for event in arrived:
        assert len(set(event.dialogues)) == len(event.dialogues) == len(event.open)
        assert set(event.propensities) == {1 / len(event.open)}


async def test_self_chats_are_judged_until_it_is_decided(tmp_path: Path) -> None:
    """Guards the preset whose dialogues are made first: as many as the cap takes, or it is refused before they are."""
    settings: dict[str, Any] = {
        "models": ["eliza", "retrieval"],
        "start": "openers",
        "exchanges": 1,
        "items_per_unit": 2,
        **DECIDED,
        "max_dialogues": 25,
    }
    with pytest.raises(ConfigError, match=r"max_dialogues=16 or less, or use more dialogues: num_dialogues=5"):
        await _launched(tmp_path / "data", task="self_chat", num_dialogues=4, **settings)
    assert not (tmp_path / "data" / "self_chats").exists()
    async with study_beside(tmp_path / "data", "self_chat", num_dialogues=5, **settings) as run:
        await rated(run, "retrieval")
        now = run.study.deciding_now()
        assert now is not None
        assert now.standing.ended is not None
        found = judgements(run)
    check_log(tmp_path / "data", found)


async def test_who_leaves_goes_on_within_the_drawn_pairs(tmp_path: Path) -> None:
    """Guards going on in the same launch: what others judge by now is replaced by another item of the same two models."""
    settings = study(tmp_path, WORDY, TERSE, THIRD, dialogues=3, max_dialogues=9, disconnect_after_s=1)
    async with study_beside(tmp_path / "data", **settings) as run:
        ahead = Judge(run, "ahead")  # nobody after them is folded in before they are
        await ahead.__aenter__()
        await ahead.state()
        async with Judge(run, "returns") as rater:
            await rater.state()
            await rater.answer_somehow()
            before = rater.judgements(run)
        await eventually(lambda: any(isinstance(event, Left) for event in DECISIONS.read(run.data_dir, TASK)))
        async with Judge(run, "returns") as rater:
            assert (await rater.state()).notice == GO_ON
            await rater.whole_unit()
        await ahead.whole_unit()
        await ahead.__aexit__(None, None, None)
        await eventually(lambda: not run.live_run.task_runner.running_units)
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.workers, now.standing.answered, now.standing.in_flight) == (2, 6, 0)
        found = judgements(run)
    check_log(tmp_path / "data", found)
    log = DECISIONS.read(tmp_path / "data", TASK)
    assert [type(event) for event in log if isinstance(event, (Left, Returned))] == [Left, Returned]
    assert not any(event.late for event in log if isinstance(event, Answered))
    assert before[0].session in {record.session for record in found}


async def test_a_later_launch_goes_on_with_the_evidence(tmp_path: Path) -> None:
    """Guards the log over launches, with several judgements of one pair in each unit, each of which counts once."""
    settings = {"data_dir": tmp_path / "data", **study(tmp_path)}
    async with study_beside(**settings) as run:
        await one_unit(run, "first")
        cut_off = Judge(run, "cut-off")
        await cut_off.__aenter__()
        await cut_off.state()
        await cut_off.answer_somehow()
        before = run.study.deciding_now()
    await cut_off.__aexit__(None, None, None)
    async with study_beside(**{**settings, "max_dialogues": 64}) as run:
        now = run.study.deciding_now()
        assert before is not None
        assert now is not None
        assert (now.standing.answered, now.standing.in_flight, now.standing.cap) == (4, 2, 64)
        assert now.standing.pairs == before.standing.pairs
        async with Judge(run, "cut-off") as rater:
            assert (await rater.state()).notice == GO_ON
            await rater.whole_unit()
        await rated(run, WORDY)
        assert run.is_done()
    log = DECISIONS.read(run.data_dir, TASK)
    assert sum(isinstance(event, Extended) for event in log) == 1
    check_log(run.data_dir, read_judgements(run.data_dir, TASK))
    with pytest.raises(NothingToDo, match="answer reached"):
        await _launched(**{**settings, "max_dialogues": 64})


@pytest.mark.parametrize("lines", [2, 3, 4, 6])
async def test_what_was_answered_and_not_counted_is_counted_by_the_next_launch(tmp_path: Path, lines: int) -> None:
    """Guards a launch that was killed before the log had all of its lines: the records are there, and count once each.

    The log is cut after so many of: began, arrived, three answers, folded.
    """
    settings = {"data_dir": tmp_path / "data", **study(tmp_path)}
    async with study_beside(**settings) as run:
        await one_unit(run, "w1")
    (path,) = (tmp_path / "data").glob("studies/*/deciding.jsonl")
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join(whole[:lines]) + '{"event":"ans')
    async with study_beside(**settings) as run:
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.workers, now.standing.answered, now.standing.in_flight) == (1, 3, 0)
        check_log(run.data_dir, judgements(run))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alpha": 0.01, "margin": 0.2}, "margin was 0.3 and is now 0.2, alpha was 0.05 and is now 0.01"),
        ({"stop": "collected", "margin": None, "max_dialogues": None}, "began with stop=decided"),
    ],
)
async def test_the_rule_cannot_change_once_it_is_used(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    settings = {"data_dir": tmp_path / "data", **study(tmp_path)}
    async with study_beside(**settings) as run:
        await one_unit(run, "w1")
    with pytest.raises(ConfigError, match=said):
        await _launched(**{**settings, **changed})


async def test_a_task_that_began_otherwise_cannot_become_one_that_is_decided(tmp_path: Path) -> None:
    settings = {"data_dir": tmp_path / "data", **study(tmp_path)}
    async with study_beside(**{**settings, "stop": "collected", "margin": None, "max_dialogues": None}) as run:
        await one_unit(run, "w1")
    with pytest.raises(ConfigError, match="given out without stop=decided"):
        await _launched(**settings)


async def test_dialogues_that_cannot_serve_such_a_study_are_refused(tmp_path: Path) -> None:
    """Guards against pairs that stay open with nothing left to judge, and against two questions in one study."""
    data_dir = tmp_path / "data"
    few = study(tmp_path, dialogues=4, golds_per_unit=1)
    words = rf"{WORDY} vs {TERSE} can be judged at most 16 times, .*4 of {WORDY} with 4 of {TERSE}.*max_dialogues=16 or less"
    with pytest.raises(ConfigError, match=words + r".*: 8 for every model are enough"):
        await _launched(data_dir, **few)
    mixed = study(tmp_path)
    mixed["dialogues"].append(duets(tmp_path, WORDY, WORDY))
    with pytest.raises(ConfigError, match=r"several kinds \(human_bot, mixed\)"):
        await _launched(data_dir, **mixed)
    with pytest.raises(ConfigError, match="stop=decided needs a margin"):
        await _launched(data_dir, **study(tmp_path, margin=None))


async def _launched(data_dir: Path, **settings: Any) -> None:
    def whole() -> None:
        with launch_study(data_dir, **settings):
            pass

    await asyncio.to_thread(whole)


async def test_bots_are_spotted_until_it_is_decided(tmp_path: Path) -> None:
    """Guards segments of two bots, among some of people that are no evidence: each dialogue is judged once, at any of the
    lengths."""
    settings: dict[str, Any] = {
        "task": "spot_the_bot",
        "models": [WORDY, TERSE],
        "generate": "",
        "seed_exchanges": 0,
        "dialogues": [duets(tmp_path, WORDY, TERSE, dialogues=60)],
        "human_dialogues": [duets(tmp_path, "human", "human", dialogues=6)],
        "judgements_per_item": 1,
        "units_per_worker": 1,
        "items_per_unit": 5,
        **DECIDED,
    }
    async with study_beside(tmp_path / "data", **settings) as run:
        items = [item for item in run.study.items.values() if WORDY in item.cell.models]
        assert set(Counter(item.dialogues for item in items).values()) == {1}
        assert {(item.k, item.wanted) for item in items} == {(2, 1), (3, 1), (5, 1)}
        await rated(run, WORDY)
        assert run.is_done()
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.ended, now.standing.answer) == ("decided", f"{WORDY} > {TERSE}")
        assert run.study.so_far()[0] == now.standing.answered
        found = judgements(run)
    of_models = [record for record in found if WORDY in record.group]
    assert now.standing.answered == len(of_models)
    assert len({record.dialogues[0].dialogue_id for record in of_models}) == len(of_models)
    assert {record.dialogues[0].k for record in of_models} == {2, 3, 5}
    check_log(tmp_path / "data", of_models)
    units = by_worker(found)
    assert {len(records) - sum(record in of_models for record in records) for records in units.values()} == {1}
