"""Soft blocks in Mephisto's own database: they turn workers away, have a reason, name nobody, and can be lifted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from live import TASK, Launch, Rater, rows
from mephisto.abstractions.databases.local_database import LocalMephistoDB
from mephisto.abstractions.providers.mock.mock_requester import MockRequester
from mephisto.abstractions.providers.mock.mock_worker import MockWorker
from mephisto.data_model.worker import Worker

from mephisto_tasks.admission.admission import BLOCKED
from mephisto_tasks.storage.database import close_connections
from mephisto_tasks.storage.logs import BLOCKS, NOT_RECORDED
from mephisto_tasks.storage.results import PSEUDONYM_KEY, ResultsError
from mephisto_tasks.workers.qualifications import BlockError, block, list_blocks, unblock
from parlai_humaneval.cli import main
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

QUALIFICATION = "careless"
SECRET = "A1REALWORKERID"
REASON = "The messages have 1.5 words on average and do not reach 3."


@pytest.fixture
def db(data_dir: Path) -> Iterator[Any]:
    """Mephisto's database with one task, without a launch."""
    data_dir.mkdir()
    db = LocalMephistoDB(str(data_dir / "database.db"))
    task = db.new_task(TASK, "mock")
    requester = MockRequester.new(db, "tester")
    settings = json.dumps(f"blueprint:\n  block_qualification: {QUALIFICATION}\n")
    db.new_task_run(task, requester.db_id, settings, "mock", "mock")
    db.new_task("other", "mock")
    yield db
    close_connections(db)


@pytest.fixture
def worker(db: Any) -> Worker:
    return MockWorker.new(db, SECRET)


def pseudonym(data_dir: Path, worker: Worker) -> str:
    return Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY).worker(worker.worker_name)


def block_careless(worker: Worker) -> bool:
    return block(worker, QUALIFICATION, REASON, check="short_messages", task_name=TASK)


def command(data_dir: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["unblock", "--data-dir", str(data_dir), *arguments], terminal_width=200)


async def test_a_blocked_worker_is_turned_away_until_the_block_is_lifted(start: Launch, data_dir: Path) -> None:
    """In a live launch, lifted from outside by the command: the worker comes in again at once."""
    async with start(
        models=["alpha", "beta", "gamma"], dialogues_per_group=2, block_qualification=QUALIFICATION
    ) as run:
        async with Rater(run, "hasty") as rater:
            await rater.finish()
        ((worker_id,),) = rows(data_dir, "SELECT worker_id FROM workers")
        assert block(
            Worker.get(run.operator.db, str(worker_id)), QUALIFICATION, REASON, check="too_fast", task_name=TASK
        )
        async with Rater(run, "hasty", "second") as rater:
            assert rater.client.refused == BLOCKED
        async with Rater(run, "careful") as rater:
            assert rater.client.refused is None
        lifted = command(data_dir, "--task-name", TASK, "--all")
        assert lifted.exit_code == 0, lifted.output
        assert "may take part again" in lifted.output
        async with Rater(run, "hasty", "third") as rater:
            assert rater.client.refused is None


def test_the_qualification_is_made_and_granted(data_dir: Path, db: Any, worker: Worker) -> None:
    assert db.find_qualifications(QUALIFICATION) == []
    assert block_careless(worker) is True
    assert worker.is_qualified(QUALIFICATION)
    (found,) = list_blocks(data_dir, TASK)
    assert (found.worker, found.check, found.reason) == (pseudonym(data_dir, worker), "short_messages", REASON)
    assert found.at is not None


def test_the_file_names_nobody_and_only_grows(data_dir: Path, db: Any, worker: Worker) -> None:
    path = BLOCKS.path(data_dir)
    block_careless(worker)
    before = path.read_bytes()
    assert block_careless(worker) is False
    unblock(db, TASK, None)
    after = path.read_bytes()
    assert after.startswith(before)
    lines = [json.loads(line) for line in after.splitlines()]
    assert [line["event"] for line in lines] == ["blocked", "blocked", "unblocked"]
    assert {line["worker"] for line in lines} == {pseudonym(data_dir, worker)}
    assert SECRET.encode() not in after
    assert worker.db_id not in {line["worker"] for line in lines}
    assert path.stat().st_mode & 0o077 == 0, "readable by its owner only"


def test_lifting_names_the_right_workers(data_dir: Path, db: Any) -> None:
    workers = [MockWorker.new(db, f"worker {number}") for number in range(3)]
    for one in workers:
        block_careless(one)
    first = pseudonym(data_dir, workers[0])
    (lifted,) = unblock(db, TASK, [first])
    assert (lifted.block.worker, lifted.provider_agreed) == (first, True)
    assert [one.is_qualified(QUALIFICATION) for one in workers] == [False, True, True]
    assert {found.worker for found in list_blocks(data_dir, TASK)} == {pseudonym(data_dir, one) for one in workers[1:]}
    block_careless(workers[0])
    assert workers[0].is_qualified(QUALIFICATION), "a lifted block can be made again"


def test_an_unknown_pseudonym_changes_nothing(data_dir: Path, db: Any, worker: Worker) -> None:
    block_careless(worker)
    known = pseudonym(data_dir, worker)
    with pytest.raises(BlockError, match=rf"w000000000000: not blocked in task '{TASK}', where {known} is blocked"):
        unblock(db, TASK, [known, "w000000000000"])
    assert worker.is_qualified(QUALIFICATION)


def test_a_block_whose_line_is_lost_can_still_be_lifted(data_dir: Path, db: Any, worker: Worker) -> None:
    """The database says who is blocked; a damaged or missing file only costs the reason."""
    block_careless(worker)
    path = BLOCKS.path(data_dir)
    path.write_bytes(path.read_bytes()[:40] + b"\n\xff\n{}\n")
    (found,) = list_blocks(data_dir, TASK)
    assert (found.worker, found.reason, found.at) == (pseudonym(data_dir, worker), NOT_RECORDED, None)
    path.unlink()
    assert [one.block.reason for one in unblock(db, TASK, None)] == [NOT_RECORDED]
    assert not worker.is_qualified(QUALIFICATION)


def test_blocks_of_another_task_with_another_qualification_stay(data_dir: Path, db: Any, worker: Worker) -> None:
    block(worker, "elsewhere", REASON, task_name="other")
    block_careless(worker)
    assert len(unblock(db, TASK, None)) == 1
    assert worker.is_qualified("elsewhere")
    assert [found.qualification for found in list_blocks(data_dir, "other")] == ["elsewhere"]


def test_many_threads_block_at_once(data_dir: Path, db: Any) -> None:
    """Every rater's dialogue ends in a thread of its own: no block and no line is lost, and nothing raises."""
    workers = [MockWorker.new(db, f"worker {number}") for number in range(8)]
    problems: list[BaseException] = []

    def run(one: Worker) -> None:
        try:
            block_careless(one)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must see it
            problems.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in workers * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(list_blocks(data_dir, TASK)) == 8
    lines = (BLOCKS.path(data_dir)).read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 16


def test_a_block_needs_a_name(worker: Worker) -> None:
    with pytest.raises(BlockError, match="block_qualification"):
        block(worker, "", REASON)


def test_unknown_places_are_clear_errors(data_dir: Path, tmp_path: Path, db: Any) -> None:
    with pytest.raises(ResultsError, match=rf"no task 'nothing' in .*; choose one of its tasks: other, {TASK}"):
        list_blocks(data_dir, "nothing")
    with pytest.raises(ResultsError, match="no Mephisto database"):
        list_blocks(tmp_path / "empty", TASK)
    assert not (tmp_path / "empty").exists()


def test_the_command_lists_lifts_and_says_what_is_wrong(data_dir: Path, worker: Worker) -> None:
    name = pseudonym(data_dir, worker)
    assert "Nobody is blocked" in command(data_dir, "--task-name", TASK).output
    block_careless(worker)
    listed = command(data_dir, "--task-name", TASK, "--list")
    assert name in listed.output
    assert f"unblock --task-name {TASK} --worker {name}" in listed.output
    (row,) = json.loads(command(data_dir, "--task-name", TASK, "--json").output)["blocked"]
    assert (row["worker"], row["check"], row["reason"]) == (name, "short_messages", REASON)
    assert worker.is_qualified(QUALIFICATION), "listing lifts nothing"
    both = command(data_dir, "--task-name", TASK, "--worker", name, "--all")
    assert (both.exit_code, "choose one of --list, --worker and --all" in both.output) == (2, True)
    unknown = command(data_dir, "--task-name", TASK, "--worker", SECRET)
    assert unknown.exit_code == 1
    assert unknown.output.startswith(f"error: {SECRET}: not blocked in task")
    lifted = command(data_dir, "--task-name", TASK, "--worker", name, "--json")
    assert [row["worker"] for row in json.loads(lifted.output)["unblocked"]] == [name]
    assert not worker.is_qualified(QUALIFICATION)
    assert command(data_dir, "--task-name", TASK, "--all").output == "Nobody was blocked.\n"
