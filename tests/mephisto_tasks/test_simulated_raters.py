"""Whoever is a program is stored as one, with the worker and with every record; who is not, is not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, chats, says, study_beside
from live import Launch, Rater, eventually, rows, whole_dialogue
from stored_study import StoredStudy, choices

from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.raters import Behaviour, browser_of_simulated, run_raters
from mephisto_tasks.storage.results import PSEUDONYM_KEY, read_judgements, read_records
from mephisto_tasks.workers.qualifications import SIMULATED
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

DEMO = "demo-pw-turn-20260102-030405-ab12"


def pseudonym(data_dir: Path, worker: str) -> str:
    return Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY).worker(f"{worker}_sandbox")


async def simulate(run: RunningStudy, units: int, name: str = "sim1") -> None:
    outcomes = await run_raters(
        run.url,
        Behaviour(practice=run.study.practice),
        announce=run.study.simulated.add,
        raters=2,
        dialogues=units,
        seed=1,
        name=name,
    )
    assert all(outcome.finished for outcome in outcomes)


async def test_people_and_programs_in_one_launch_are_told_apart(start: Launch, tmp_path: Path) -> None:
    """Two programs and two pages of people at once, one of whom takes a name such as a demo gives to programs."""
    async with start(dialogues_per_group=4) as run:
        await asyncio.gather(simulate(run, 2), whole_dialogue(run, "somebody"), whole_dialogue(run, "sim9-1"))
        await eventually(run.is_done)
        data_dir = run.data_dir
    by_worker = {record.worker: record.simulated for record in read_records(data_dir, run.task_name)}
    expected = {"sim1-1": True, "sim1-2": True, "somebody": False, "sim9-1": False}
    assert by_worker == {pseudonym(data_dir, worker): simulated for worker, simulated in expected.items()}
    marked = rows(
        data_dir,
        """SELECT worker_name FROM workers JOIN granted_qualifications USING (worker_id)
             JOIN qualifications USING (qualification_id) WHERE qualification_name = ?""",
        SIMULATED,
    )
    assert {str(name) for (name,) in marked} == {"sim1-1_sandbox", "sim1-2_sandbox"}


async def test_judgements_are_told_apart_too(tmp_path: Path) -> None:
    files = [chats(tmp_path, model, says(said)) for model, said in ((WORDY, LONG), (TERSE, SHORT))]
    async with study_beside(
        tmp_path / "data", "pw_dialog", models=[WORDY, TERSE], dialogues=files, judgements_per_group=4, items_per_unit=2
    ) as run:
        await simulate(run, 1)
        async with Judge(run, "somebody") as rater:
            await rater.whole_unit()
        await eventually(run.is_done)
    judged = read_judgements(run.data_dir, run.task_name)
    programs = pseudonym(run.data_dir, "sim1-1")
    assert [record.simulated for record in judged] == [record.worker == programs for record in judged]
    assert {record.simulated for record in judged} == {True, False}


async def test_who_was_a_program_stays_one_in_the_next_launch(start: Launch) -> None:
    """The mark is the worker's, not the launch's: a program whose name a later launch was not told is no person."""
    async with start(dialogues_per_group=1) as run:
        await simulate(run, 1)
        await eventually(run.is_done)
    async with start(dialogues_per_group=1, task_name="another") as run:
        await whole_dialogue(run, "sim1-1", browser_of_simulated("sim1-1"))
        await eventually(run.is_done)
    (record,) = read_records(run.data_dir, "another")
    assert record.simulated


async def test_no_page_can_say_what_it_is(start: Launch) -> None:
    """A packet that calls its rater simulated changes nothing: no field of a page is read for it."""
    async with start(dialogues_per_group=1) as run:
        async with Rater(run, "somebody") as rater:
            step: Any = (await rater.state()).step
            await rater.send(kind=step.kind, step_id=step.step_id, text="hello there", simulated=True)
            await rater.finish()
        await eventually(run.is_done)
        granted = rows(
            run.data_dir, "SELECT qualification_id FROM qualifications WHERE qualification_name = ?", SIMULATED
        )
    assert [record.simulated for record in read_records(run.data_dir, run.task_name)] == [False]
    assert granted == []


@pytest.mark.parametrize(
    ("task", "worker", "simulated"),
    [
        (DEMO, "sim1-12_sandbox", True),
        (DEMO, "A2VX8PERSON", False),
        (DEMO, "sim1-x", False),
        ("my-study", "sim1-12_sandbox", False),
    ],
)
def test_records_without_the_mark_go_by_the_names_of_a_demo(
    tmp_path: Path, task: str, worker: str, simulated: bool
) -> None:
    """Only a name that a demo gives, in a task that a demo named, proves that nobody rated."""
    StoredStudy(tmp_path).add(task, worker, list(choices("d1", [[1]])))
    (record,) = read_records(tmp_path, task)
    assert record.simulated is simulated


def test_what_the_launch_wrote_goes_before_names(tmp_path: Path) -> None:
    begun, *rest = choices("d1", [[1]])
    StoredStudy(tmp_path).add(DEMO, "sim1-1", [begun.model_copy(update={"simulated": False}), *rest])
    (record,) = read_records(tmp_path, DEMO)
    assert not record.simulated
