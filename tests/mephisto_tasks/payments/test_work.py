"""What every worker did is told by what they rated, whatever Mephisto's status says; units may take several visits."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from live import TASK, Rater, good_replies, launch_beside
from stored_study import StoredStudy, choices, rated

from mephisto_tasks.payments.statement import terms_of
from mephisto_tasks.storage.locks import task_lock
from mephisto_tasks.storage.work import Work, cents, completed_work
from parlai_humaneval.schema.events import Event, Failed, Finished, Interrupted, Judged, JudgingStarted
from parlai_humaneval.schema.records import GivenAnswer, ReplayedRating, ShownDialogue, Turn


def left_after(events: Iterator[Event], count: int) -> list[Event]:
    """The first ``count`` events."""
    return list(events)[:count]


def set_status(data_dir: Path, status: str, agent_id: str = "%") -> None:
    """Mephisto's status of agents."""
    with closing(sqlite3.connect(data_dir / "database.db")) as connection, connection:
        connection.execute("UPDATE agents SET status = ? WHERE agent_id LIKE ?", (status, agent_id))


def outcomes(work: list[Work]) -> list[tuple[str, int, int]]:
    return [(one.outcome, one.done, one.whole) for one in work]


@pytest.fixture
def study(tmp_path: Path) -> StoredStudy:
    return StoredStudy(tmp_path / "data")


def conversation(number: int, *, unit: str = "u", whole: bool = True) -> list[Event]:
    """One of the three conversations of a unit of direct assessment: a turn and the scales; not ``whole``: no scales."""
    events = rated(f"{unit}-{number}", "alpha", {"fun": 1.0}, session=unit, conversation=number, conversations=3)
    return [event for event in events if whole or not isinstance(event, Finished)]


def test_complete_by_its_record_whatever_the_status(study: StoredStudy) -> None:
    """A launch that was killed before it wrote the status has lost nobody's work."""
    study.add("task", "ann", list(choices("d1", [[1], [2]])))
    for status in ("none", "in task", "completed", "disconnect", "approved"):
        set_status(study.data_dir, status)
        assert outcomes(completed_work(study.data_dir, "task")) == [("complete", 2, 2)]


def test_who_leaves_did_a_part(study: StoredStudy) -> None:
    study.add("task", "ann", left_after(choices("d1", [[1], [2], [1]]), 5))
    set_status(study.data_dir, "disconnect")
    assert outcomes(completed_work(study.data_dir, "task")) == [("partial", 1, 2)]


def test_who_was_stopped_by_us(study: StoredStudy) -> None:
    """By a model's failure, by a pause, and by the death of the launch, which could write nothing down."""
    part = left_after(choices("d1", [[1], [2], [1]]), 5)
    study.add("task", "ann", [*part, Failed(at=part[-1].at, reason="a model failed")])
    study.add("task", "bob", [*part, Interrupted(at=part[-1].at)])
    set_status(study.data_dir, "disconnect")
    study.add("task", "cyd", part)
    set_status(study.data_dir, "in task", "3")
    assert [one.outcome for one in completed_work(study.data_dir, "task")] == ["stopped", "stopped", "stopped"]
    set_status(study.data_dir, "approved", "3")
    assert [one.outcome for one in completed_work(study.data_dir, "task")] == ["stopped", "stopped", "stopped"]


def test_a_pause_between_two_conversations_stops_the_unit(study: StoredStudy) -> None:
    """No conversation was under way, so that no record is interrupted: the unit was."""
    study.add("task", "ann", [*conversation(1), Interrupted(at=0)])
    set_status(study.data_dir, "disconnect")
    assert outcomes(completed_work(study.data_dir, "task")) == [("stopped", 2, 6)]


def test_a_unit_in_two_visits_is_one_piece_of_work(study: StoredStudy) -> None:
    study.add("task", "ann", [*conversation(1), *conversation(2, whole=False)])
    set_status(study.data_dir, "disconnect")
    assert outcomes(completed_work(study.data_dir, "task")) == [("partial", 3, 6)]
    study.add("task", "ann", [*conversation(2), *conversation(3)])
    set_status(study.data_dir, "disconnect")
    assert outcomes(completed_work(study.data_dir, "task")) == [("continued", 3, 6), ("complete", 6, 6)]


def test_who_left_can_go_on_while_a_launch_is_alive(study: StoredStudy) -> None:
    """With whatever they left in the middle."""
    study.add("task", "ann", conversation(1))
    study.add("task", "bob", left_after(choices("d1", [[1], [2], [1]]), 5))
    set_status(study.data_dir, "disconnect")
    assert [one.resumable for one in completed_work(study.data_dir, "task")] == [False, False]
    with task_lock(study.data_dir, "task") as lock:
        lock.name_run("2")
        assert [one.resumable for one in completed_work(study.data_dir, "task")] == [True, True]


def judgement(number: int, answered: int, *, whole: bool, turns: int = 0) -> list[Event]:
    """An item of a unit of two, of which so many questions were answered; ``turns``: of a dialogue that is replayed."""
    replayed = ReplayedRating(
        technique="sata",
        metric="preference",
        question="?",
        turns=[Turn(turn=turn, human_text="hi", human_at=0) for turn in range(1, turns + 1)],
    )
    shown = ShownDialogue(
        dialogue_id="d", kind="human_bot", entities=["human", "alpha"], lines=[], replayed=replayed if turns else None
    )
    started = JudgingStarted(
        at=0, schema_version=2, judgement_id=f"j{number}", item_id="i", technique="third_party", settings={}, seed=1,
        metric="preference", group=["alpha"], dialogues=[shown], questions=[], session="u", number=number, numbers=2,
    )  # fmt: skip
    answers = [
        GivenAnswer(question_id="q", turn=turn if turns else None, seconds=1, at=turn)
        for turn in range(1, answered + 1)
    ]
    end = [Finished(at=9)] if whole else []
    return [started, *(Judged(at=answer.at, answers=[answer]) for answer in answers), *end]


@pytest.mark.parametrize(("turns", "expected"), [(0, ("partial", 1, 2, "items")), (3, ("partial", 5, 6, "turns"))])
def test_items_that_were_judged(study: StoredStudy, turns: int, expected: tuple[str, int, int, str]) -> None:
    """An item counts when it is complete; of one that is replayed turn by turn, every turn counts."""
    answered = max(turns - 1, 1)
    study.add(
        "task", "ann", [*judgement(1, 3, whole=True, turns=turns), *judgement(2, answered, whole=False, turns=turns)]
    )
    set_status(study.data_dir, "disconnect")
    (work,) = completed_work(study.data_dir, "task")
    assert (work.outcome, work.done, work.whole, work.counted) == expected


def test_who_was_stopped_and_left_later_was_promised_the_whole(study: StoredStudy) -> None:
    study.add("task", "ann", [*conversation(1), Interrupted(at=0)])
    study.add("task", "ann", conversation(2, whole=False))
    set_status(study.data_dir, "disconnect")
    assert [one.outcome for one in completed_work(study.data_dir, "task")] == ["continued", "stopped"]


def test_two_workers_never_share_a_unit(study: StoredStudy) -> None:
    """Given out again under the same name, say: each is paid for their own."""
    study.add("task", "ann", conversation(1))
    study.add("task", "bob", conversation(2))
    set_status(study.data_dir, "disconnect")
    assert outcomes(completed_work(study.data_dir, "task")) == [("partial", 2, 6), ("partial", 2, 6)]


def test_who_looked_in_did_no_work(study: StoredStudy) -> None:
    study.add("task", "ann", [])
    assert completed_work(study.data_dir, "task") == []


@pytest.mark.parametrize(("dollars", "rounded"), [("2.5", "2.50"), ("0.165", "0.17"), ("0.1", "0.10"), ("0", "0.00")])
def test_cents_are_whole_and_rounded_in_the_workers_favour(dollars: str, rounded: str) -> None:
    assert str(cents(dollars)) == rounded


async def _a_day(data_dir: Path) -> list[Work]:
    async with launch_beside(
        data_dir, dialogues_per_group=9, onboarding_qualification="passed", payment={"practice": 0.25}
    ) as run:
        good = good_replies(run)
        assert run.study.practice is not None
        items = len(run.study.practice.items)
        async with Rater(run, "done") as done:
            await done.practise(["good"] * items, good)
            await done.client.submit_onboarding()
            await done.finish()
        async with Rater(run, "practised") as practised:
            await practised.practise(["good"], good)
        async with Rater(run, "inside") as inside:
            await inside.practise(["good"] * items, good)
            await inside.client.submit_onboarding()
            await inside.talk_until("choose", turn=2)
            running = completed_work(data_dir, TASK)
            assert [one.outcome for one in running] == ["complete", "running", "practice_only"]
    return completed_work(data_dir, TASK)


def test_a_launched_study(tmp_path: Path) -> None:
    """Real raters: complete with a practice, practice only, and one who is inside when the launch ends."""
    begun = time.time()
    done, inside, practised = asyncio.run(_a_day(tmp_path))
    assert outcomes([done, inside, practised]) == [("complete", 2, 2), ("stopped", 1, 2), ("practice_only", 0, 0)]
    assert done.reward > 0
    assert done.reward == cents(done.reward)
    assert done.practice_seconds > 0
    assert begun < done.begun < done.ended < time.time()
    assert practised.reward == Decimal(0)
    assert len({one.worker for one in (done, inside, practised)}) == 3
    assert terms_of(tmp_path, TASK).practice == Decimal("0.25")
    assert all(one.worker.startswith("w") and len(one.worker) == 13 for one in (done, inside, practised))
