"""Checks that block: who fails one is turned away from then on, with a sentence, until the block is lifted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from hands import Hands
from live import Launch, Rater, eventually, records

from mephisto_tasks.admission.admission import BLOCKED
from mephisto_tasks.cli.workers import unblock
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.storage import results
from mephisto_tasks.storage.results import ResultsError
from mephisto_tasks.workers.qualifications import list_blocks
from parlai_humaneval.schema.steps import EndStep

PAIRS: dict[str, Any] = {"models": ["alpha", "beta", "gamma"], "turns": 3, "dialogues_per_group": 5}
"""Three pairs, so that a worker could come three times."""
BLOCKING: dict[str, Any] = {"block_qualification": "blocked-here", "blocking_checks": ["short_messages"]}


async def dialogue(run: RunningStudy, worker: str, visit: int, text: str) -> EndStep:
    async with Rater(run, worker, f"visit-{visit}") as rater:
        assert rater.client.refused is None, rater.client.refused
        state = await rater.state()
        while state.step.kind not in ("feedback", "end"):
            state = await (rater.choose() if state.step.kind == "choose" else rater.write(text))
        return await end_of(run, rater)


async def end_of(run: RunningStudy, rater: Rater) -> EndStep:
    state = await rater.finish()
    await eventually(lambda: not run.live_run.task_runner.running_units)
    assert isinstance(state.step, EndStep)
    return state.step


async def refusal(run: RunningStudy, worker: str) -> str | None:
    async with Rater(run, worker, "once-more") as rater:
        return rater.client.refused


async def test_who_fails_is_paid_and_turned_away_until_let_in_again(start: Launch) -> None:
    """One-word messages: the dialogue counts and its rater is thanked; then BLOCKED; after `unblock` they rate on."""
    async with start(**PAIRS, **BLOCKING) as run:
        end = await dialogue(run, "terse", 1, "ok")
        assert end.title == "Thank you!", "a check does not take back what was promised"
        assert await refusal(run, "terse") == BLOCKED
        await dialogue(run, "chatty", 1, "I would love to hear more about it")
        assert await refusal(run, "chatty") is None
        (block,) = list_blocks(run.data_dir, run.task_name)
        assert (block.check, block.qualification, block.task_name) == ("short_messages", "blocked-here", run.task_name)
        assert block.worker == records(run)[0].worker
        assert "word" in block.reason
        arguments = ["--task-name", run.task_name, "--data-dir", str(run.data_dir)]
        lifted = CliRunner().invoke(unblock, [*arguments, "--worker", block.worker, "--json"])
        assert [one["worker"] for one in json.loads(lifted.output)["unblocked"]] == [block.worker]
        assert await refusal(run, "terse") is None, "A running launch admits them immediately"
    assert {record.status for record in records(run)} >= {"complete"}
    assert records(run)[0].checks["short_messages"]["passed"] is False


async def test_a_block_outlives_its_launch(start: Launch) -> None:
    """The next launch with the same qualification turns them away from the beginning; one without does not."""
    async with start(**PAIRS, **BLOCKING) as run:
        await dialogue(run, "terse", 1, "ok")
    async with start(**PAIRS, **BLOCKING) as run:
        assert await refusal(run, "terse") == BLOCKED
    async with start(**PAIRS) as run:
        assert await refusal(run, "terse") is None


async def test_a_check_that_does_not_block_is_only_noted(start: Launch) -> None:
    """Without blocking_checks the verdict stands in the record, and nobody is turned away."""
    async with start(**PAIRS, block_qualification="blocked-here") as run:
        await dialogue(run, "terse", 1, "ok")
        assert await refusal(run, "terse") is None
        assert records(run)[0].checks["short_messages"]["passed"] is False
        assert list_blocks(run.data_dir, run.task_name) == []


ASSESSMENT: dict[str, Any] = {
    "task": "direct_assessment",
    "models": ["alpha", "beta"],
    "turns": 1,
    "dialogues_per_group": 2,
    "topic": "none",
    "ask_opinion": False,
    "block_qualification": "blocked-here",
    "blocking_checks": ["constant_scores"],
}


async def assess(run: RunningStudy, worker: str, *values: float) -> None:
    async with Hands(run, worker) as rater:
        for value in values:
            await rater.say()
            await rater.do("end")
            await rater.rate(value)
        await rater.hand_in()
    await eventually(lambda: not run.live_run.task_runner.running_units)


async def test_a_check_on_workers_looks_at_the_whole_unit(start: Launch) -> None:
    """Direct assessment with all sliders at the same place in three conversations: sd = 0 blocks (Ji et al. 2022)."""
    async with start(**ASSESSMENT) as run:
        await assess(run, "lazy", 50, 50, 50)
        await assess(run, "careful", 20, 80, 40)
        lazy = records(run)[0].worker
        found = list_blocks(run.data_dir, run.task_name)
        assert [(block.worker, block.check) for block in found] == [(lazy, "constant_scores")]


async def test_who_cannot_be_judged_has_done_the_work(start: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file of theirs: the checks cannot be made, but the unit is complete and its rater is thanked."""

    def damaged(*_: Any) -> list[Any]:
        raise ResultsError("state.json cannot be read")

    monkeypatch.setattr(results, "worker_records", damaged)
    async with start(**ASSESSMENT) as run:
        await assess(run, "lazy", 50, 50, 50)
        assert list_blocks(run.data_dir, run.task_name) == []
    assert [record.status for record in records(run)] == ["complete"] * 3


async def test_a_damaged_file_of_somebody_else_saves_nobody_from_a_check(start: Launch) -> None:
    async with start(**ASSESSMENT) as run:
        await assess(run, "earlier", 20, 80, 40)
        (file,) = run.data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json")
        whole = file.read_text()
        file.write_text(whole[: len(whole) // 2])
        await assess(run, "lazy", 50, 50, 50)
        assert run.is_done()
        assert [block.check for block in list_blocks(run.data_dir, run.task_name)] == ["constant_scores"]
        file.write_text(whole)
    assert [record.status for record in records(run)] == ["complete"] * 6
