"""A whole study over connections that are cut at random, in mid-frame: nothing is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from live import Launch, eventually, records, rows

from mephisto_tasks.simulation.raters import Behaviour, run_raters
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

RATERS = 6


def chaos() -> ModuleType:
    """The router's proxy; its folder is on the path only when its own tests are collected."""
    spec = importlib.util.spec_from_file_location("chaos", Path(__file__).parents[1] / "server" / "chaos.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("chaos", module)
    spec.loader.exec_module(module)
    return module


async def test_a_study_through_chaos_loses_and_doubles_nothing(start: Launch) -> None:
    """Six raters with practice, all at once; every connection is cut after at most 6 kB, one in seven at once."""
    async with start(dialogues_per_group=RATERS, turns=3, onboarding_qualification="q") as run:
        assert run.study.practice is not None
        behaviour = Behaviour(practice=run.study.practice)
        port = int(run.url.rpartition(":")[2])
        async with chaos().ChaosProxy(port, seed=11) as proxy:
            outcomes = await asyncio.wait_for(
                run_raters(
                    proxy.url, behaviour, announce=run.study.simulated.add, raters=RATERS, dialogues=RATERS, seed=2
                ),
                timeout=60,
            )
            cuts = proxy.cuts
        await eventually(run.is_done)
        found = records(run)
    assert cuts > 3 * RATERS
    assert all(outcome.finished for outcome in outcomes)
    names = Pseudonymizer.load_or_create(run.data_dir / "pseudonym.key")
    stored = {record.worker: record for record in found}
    assert len(found) == len(stored) == RATERS
    for outcome in outcomes:
        record = stored[names.worker(f"{outcome.worker}_sandbox")]
        assert record.status == "complete"
        assert record.refused_answers == 0
        assert [turn.selected for turn in record.turns] == [turn.selected for turn in outcome.turns]
        assert [turn.reason for turn in record.turns] == [turn.reason for turn in outcome.turns]
        assert [turn.human_text for turn in record.turns[1:]] == [turn.message for turn in outcome.turns[1:]]
        assert record.feedback == outcome.feedback
    assert rows(run.data_dir, "SELECT status FROM agents") == [("completed",)] * RATERS
    assert rows(run.data_dir, "SELECT COUNT(*) FROM onboarding_agents") == [(RATERS,)]


@pytest.mark.parametrize(
    "settings",
    [
        {"task": "sata", "setting": "sata_user", "turns": 3},
        {"task": "direct_assessment", "turns": 2, "conversations_per_unit": 3},
        {"task": "arena", "turns": 2},
    ],
    ids=lambda settings: str(settings["task"]),
)
async def test_other_techniques_through_chaos(start: Launch, settings: dict[str, Any]) -> None:
    """Whatever kind of answer is in the line when it is cut: each is taken once, and no page is left waiting."""
    async with start(models=["eliza", "retrieval"], dialogues_per_group=RATERS, **settings) as run:
        port = int(run.url.rpartition(":")[2])
        behaviour = Behaviour(model_of=run.study.shown.get, prefer="retrieval")
        async with chaos().ChaosProxy(port, seed=7) as proxy:
            raters = run_raters(
                proxy.url, behaviour, announce=run.study.simulated.add, raters=RATERS, dialogues=RATERS, seed=4
            )
            outcomes = await asyncio.wait_for(raters, timeout=60)
            assert proxy.cuts > RATERS
        await eventually(run.is_done)
        found = records(run)
    assert all(outcome.finished for outcome in outcomes)
    assert {(record.status, record.refused_answers) for record in found} == {("complete", 0)}
    names = Pseudonymizer.load_or_create(run.data_dir / "pseudonym.key")
    for outcome in outcomes:
        own = [record for record in found if record.worker == names.worker(f"{outcome.worker}_sandbox")]
        sent = [answer["text"] for answer in outcome.answers if answer["kind"] == "message"]
        assert [turn.human_text for record in own for turn in record.turns] == sent
        rated = [answer["values"] for answer in outcome.answers if answer["kind"] == "rate"]
        assert [record.final_ratings for record in own if record.criteria] == rated
        written = [answer["text"] for answer in outcome.answers if answer["kind"] == "write"]
        assert [turn.written for record in own for turn in record.turns if turn.written] == written
