"""One launch of a task at a time; the lock ends with its process, however that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mephisto_tasks.storage.locks import AlreadyRunning, running_task_run, running_url, task_lock

HOLDER = """
import sys, time
from pathlib import Path
from mephisto_tasks.storage.locks import task_lock
with task_lock(Path(sys.argv[1]), sys.argv[2]) as lock:
    lock.name_run("17", "http://127.0.0.1:3000")
    print("held", flush=True)
    time.sleep(60)
"""


def holder(data_dir: Path, task: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(data_dir), task], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    task = "a task / with *any* name"
    process = holder(tmp_path, task)
    try:
        assert running_task_run(tmp_path, task) == "17"
        assert running_url(tmp_path, task) == "http://127.0.0.1:3000"
        with pytest.raises(AlreadyRunning, match=f"process {process.pid}"), task_lock(tmp_path, task):
            pass
        with task_lock(tmp_path, "another task"):
            assert running_task_run(tmp_path, task) == "17"
    finally:
        process.kill()
        process.communicate()
    assert running_task_run(tmp_path, task) is None
    assert running_url(tmp_path, task) is None
    with task_lock(tmp_path, task):
        pass


def test_released_by_an_error_in_the_launch(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), task_lock(tmp_path, "t"):
        raise ZeroDivisionError
    with task_lock(tmp_path, "t") as lock:
        assert running_task_run(tmp_path, "t") is None, "held, but no run has begun yet"
        lock.name_run("3")
        assert running_task_run(tmp_path, "t") == "3"
    assert running_task_run(tmp_path, "t") is None


def test_nothing_runs_where_nothing_ever_ran(tmp_path: Path) -> None:
    assert running_task_run(tmp_path / "nowhere", "t") is None
    assert not (tmp_path / "nowhere").exists()


def test_a_longer_name_before_leaves_nothing_behind(tmp_path: Path) -> None:
    with task_lock(tmp_path, "t") as lock:
        lock.name_run("123456789")
        lock.name_run("4")
        assert running_task_run(tmp_path, "t") == "4"
