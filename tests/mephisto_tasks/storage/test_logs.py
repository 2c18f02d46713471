"""Erasing a worker takes their lines out of every log, of those as well that are defined later."""

from __future__ import annotations

import ast
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from stored_study import StoredStudy, choices

import mephisto_tasks
from mephisto_tasks.privacy.erase import forget
from mephisto_tasks.privacy.erase_traces import all_going
from mephisto_tasks.storage import logs
from mephisto_tasks.storage.logs import LOG_FILES, NOTES, LogFile, LogLine, Note, Personal, erase_lines
from mephisto_tasks.workers.roster import known_workers

WORKER, OTHER = "A1ERASEME0001", "A2REMAINS0002"
TASK, OTHER_TASK = "erased-study", "study of others"
ROOT = Path(mephisto_tasks.__file__).parent


class Visit(LogLine):
    worker: str
    heard: list[str]


@pytest.fixture(params=[(Personal.WORKER, True), (Personal.WORKER, False), (Personal.DIALOGUE, True)])
def new_log(request: pytest.FixtureRequest) -> Iterator[LogFile[Visit]]:
    """A log that somebody defines tomorrow."""
    personal, of_study = request.param
    log = LogFile("visits.jsonl", TypeAdapter(Visit), personal, of_study=of_study)
    yield log
    LOG_FILES.remove(log)


def test_an_erasure_goes_through_every_log(tmp_path: Path, new_log: LogFile[Visit]) -> None:
    """The whole way: a real database, lines of two workers in every log that names people, and one worker is erased."""
    study = StoredStudy(tmp_path)
    for name in (WORKER, OTHER):
        study.add(TASK, name, list(choices(f"dialogue-of-{name}", [[1], [2]])))
    known = {worker.name: worker for worker in known_workers(tmp_path).values()}
    personal = [log for log in LOG_FILES if log.personal is not Personal.NONE]
    for log in personal:
        _write(tmp_path, log, TASK, {name: worker.pseudonym for name, worker in known.items()})
    (person,) = all_going(tmp_path, [known[WORKER]], None)
    (erased,) = forget(tmp_path, [person])
    assert erased.left_over == []
    assert new_log in personal
    for log in personal:
        left = log.path(tmp_path, TASK if log.of_study else None).read_text()
        assert known[WORKER].pseudonym not in left, log.name
        assert f"dialogue-of-{WORKER}" not in left, log.name
        assert known[OTHER].pseudonym in left, log.name


def _write(data_dir: Path, log: LogFile[Visit], task: str, pseudonyms: dict[str, str]) -> None:
    """Lines as the log has them: marked by a pseudonym, or by ids of dialogues, alone or with a partner's name."""
    path = log.path(data_dir, task if log.of_study else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for name, pseudonym in pseudonyms.items():
            for id_ in (f"dialogue-of-{name}", f"dialogue-of-{name}:alpha"):
                line = {"worker": pseudonym, "heard": [id_]}
                if log.personal is Personal.DIALOGUE and name == WORKER:
                    line["worker"] = "a judge"
                file.write(json.dumps(line) + "\n")


def test_an_erasure_of_one_study_leaves_other_logs_alone(tmp_path: Path, new_log: LogFile[Visit]) -> None:
    """What others judged of the worker's dialogues goes wherever it is: the words are theirs."""
    line = Visit(worker="worker-1", heard=["dialogue-1"])
    tasks = [TASK, OTHER_TASK] if new_log.of_study else [None]
    for task in tasks:
        new_log.append(tmp_path, line, task=task)
    erase_lines(tmp_path, "worker-1", ["dialogue-1"], [TASK], everywhere=False)
    left = {task: new_log.read(tmp_path, task) for task in tasks}
    match new_log.personal:
        case Personal.DIALOGUE:
            assert left == {TASK: [], OTHER_TASK: []}
        case _ if new_log.of_study:
            assert left == {TASK: [], OTHER_TASK: [line]}
        case _:
            assert left == {None: [line]}


def test_an_id_is_not_the_beginning_of_another(tmp_path: Path) -> None:
    log = LogFile("heard.jsonl", TypeAdapter(Visit), Personal.DIALOGUE)
    try:
        lines = [Visit(worker="", heard=[id_]) for id_ in ("dialogue-1", "dialogue-1:alpha", "dialogue-12")]
        log.append(tmp_path, *lines, task=TASK)
        assert erase_lines(tmp_path, "worker-1", ["dialogue-1"], [], everywhere=False) == 2
        assert log.read(tmp_path, TASK) == lines[2:]
    finally:
        LOG_FILES.remove(log)


def test_the_eraser_knows_every_log_that_names_people() -> None:
    """A log is known once its module is imported: one that names people must be in the module that the eraser imports."""
    elsewhere = [path for path in ROOT.rglob("*.py") if path != Path(logs.__file__)]
    calls = [
        (path.name, call.args[2])
        for path in elsewhere
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "LogFile"
    ]
    assert [name for name, _ in calls] == ["orders.py"], "which names nobody; a log that does belongs into storage/logs"
    assert all(isinstance(mark, ast.Attribute) and mark.attr == "NONE" for _, mark in calls)


def test_what_is_appended_while_lines_are_erased_stays(tmp_path: Path) -> None:
    """Erasing replaces the file: whoever waits for it then must write into the new one."""

    def write() -> None:
        for number in range(60):
            NOTES.append(tmp_path, Note(worker="worker-2", text=str(number)))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        NOTES.append(tmp_path, Note(worker="worker-1"))
        erase_lines(tmp_path, "worker-1", [], [], everywhere=True)
    assert [note.text for note in NOTES.read(tmp_path)] == [str(number) for number in range(60)]


def test_a_log_is_of_a_study_or_of_the_data_directory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="data directory"):
        NOTES.read(tmp_path, TASK)
