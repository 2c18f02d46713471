"""Records come from Mephisto's own database and files, which are only read; trouble is told by file and reason."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from live import TASK, Rater, launch, whole_dialogue

from mephisto_tasks.storage.results import ResultsError, past_dialogues, read_dialogues, stored_agents, task_names


async def _leave_in_turn_two(url: str) -> None:
    async with Rater(url, "left") as rater:
        await rater.talk_until("choose", turn=2)


async def _leave_at_once(url: str) -> None:
    async with Rater(url, "peeped") as rater:
        await rater.state()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with two tasks; the first with a complete dialogue, one left in turn 2, one left in turn 1."""
    data_dir = tmp_path_factory.mktemp("finished")
    with launch(data_dir, dialogues_per_group=5) as run:
        asyncio.run(whole_dialogue(run, "done"))
        asyncio.run(_leave_in_turn_two(run.url))
        asyncio.run(_leave_at_once(run.url))
    with launch(data_dir, task_name="other task"):
        pass
    read_dialogues(data_dir, TASK)  # makes the key of the pseudonyms
    return data_dir


@pytest.fixture
def data_dir(finished: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def state_files(data_dir: Path) -> list[Path]:
    return sorted(data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json"))


def fingerprint(data_dir: Path) -> dict[str, tuple[str, float]]:
    files = [path for path in data_dir.rglob("*") if path.is_file()]
    return {str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime) for path in files}


def test_complete_and_partial_come_back_as_such(finished: Path) -> None:
    found = read_dialogues(finished, TASK)
    assert [(record.status, len(record.complete_turns), len(record.turns)) for record in found] == [
        ("complete", 2, 2),
        ("partial", 1, 2),
        ("partial", 0, 1),
    ]
    assert found[1].turns[1].human_text == "left in turn 2"
    assert len({record.worker for record in found}) == 3
    assert len({record.unit_id for record in found}) == 3


def test_reading_changes_nothing(data_dir: Path) -> None:
    """Database, files and their times stay as they are, and no journal or lock is left beside them."""
    before = fingerprint(data_dir)
    read_dialogues(data_dir, TASK)
    past_dialogues(data_dir, TASK)
    task_names(data_dir)
    assert fingerprint(data_dir) == before


def test_the_database_is_opened_for_reading_only(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    connect = sqlite3.connect

    def spy(database: str, **options: object) -> sqlite3.Connection:
        opened.append(database)
        return connect(database, **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr("mephisto_tasks.storage.sqlite.sqlite3.connect", spy)
    read_dialogues(data_dir, TASK)
    assert opened
    assert all(address.startswith("file:") and address.endswith("?mode=ro") for address in opened)


def test_the_past_of_a_task_for_its_next_launch(finished: Path) -> None:
    past = past_dialogues(finished, TASK)
    assert [(dialogue.complete, dialogue.rated_turns) for dialogue in past] == [(True, 2), (False, 1), (False, 0)]
    assert {dialogue.cell.models for dialogue in past} == {("alpha", "beta")}
    workers = {agent.worker_id for agent in stored_agents(finished, TASK)}
    assert {dialogue.worker for dialogue in past} == workers


def test_a_task_without_any_rater_is_empty(finished: Path) -> None:
    assert read_dialogues(finished, "other task") == []
    assert past_dialogues(finished, "other task") == []


def test_tasks_are_listed_newest_first(finished: Path) -> None:
    assert task_names(finished) == ["other task", TASK]


def test_screening_and_gold_units_are_left_out(data_dir: Path) -> None:
    """Mephisto marks them by negative unit indices; what is answered there tests the worker, not the models."""
    with sqlite3.connect(data_dir / "database.db") as connection:
        connection.execute("UPDATE units SET unit_index = -1 WHERE unit_id = (SELECT unit_id FROM agents LIMIT 1)")
    assert [record.status for record in read_dialogues(data_dir, TASK)] == ["partial", "partial"]


def test_an_unknown_task_lists_those_there_are(finished: Path) -> None:
    with pytest.raises(ResultsError, match=f"no task 'nothing' in .*; choose one of its tasks: other task, {TASK}"):
        read_dialogues(finished, "nothing")
    assert past_dialogues(finished, "nothing") == []


def test_a_directory_without_a_database(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"no Mephisto database in .*--data-dir"):
        read_dialogues(tmp_path, TASK)
    assert past_dialogues(tmp_path, TASK) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"this is no database, it is a text\n" * 50])
def test_a_file_that_is_no_mephisto_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "database.db").write_bytes(content)
    with pytest.raises(ResultsError, match="Mephisto 1"):
        read_dialogues(tmp_path, TASK)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read"),
        (lambda text: "", "cannot be read"),
        (lambda text: json.dumps({"inputs": {}}), "outputs"),
        (lambda text: text.replace('"event": "human_message"', '"event": "from the future"'), "from the future"),
        (lambda text: text.replace('"event": "started"', '"event": "delayed"'), "cannot be read"),
    ],
)
def test_a_spoiled_file_is_named(data_dir: Path, spoil: object, said: str) -> None:
    file = state_files(data_dir)[0]
    assert callable(spoil)
    file.write_text(spoil(file.read_text()))
    with pytest.raises(ResultsError) as caught:
        read_dialogues(data_dir, TASK)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)


def test_an_agent_without_a_file_left_before_anything_happened(data_dir: Path) -> None:
    state_files(data_dir)[0].unlink()
    assert len(read_dialogues(data_dir, TASK)) == 2


def test_running_and_partial_are_told_apart_while_a_launch_is_alive(tmp_path: Path) -> None:
    """In one live launch: one rater at work is running, one who left is partial; both are partial once it has ended."""
    with launch(tmp_path, dialogues_per_group=3, disconnect_after_s=1) as run:

        async def both() -> None:
            await _leave_in_turn_two(run.url)
            while run.live_run.task_runner.running_units:
                await asyncio.sleep(0.05)
            async with Rater(run, "at work") as rater:
                await rater.talk_until("message", turn=2)
                assert [record.status for record in read_dialogues(tmp_path, TASK)] == ["partial", "running"]

        asyncio.run(both())
    assert [record.status for record in read_dialogues(tmp_path, TASK)] == ["partial", "partial"]


def test_pseudonyms_stay_the_same_and_follow_the_worker(finished: Path, data_dir: Path) -> None:
    assert [r.worker for r in read_dialogues(finished, TASK)] == [r.worker for r in read_dialogues(data_dir, TASK)]
    (data_dir / "pseudonym.key").unlink()
    assert [r.worker for r in read_dialogues(finished, TASK)] != [r.worker for r in read_dialogues(data_dir, TASK)]
