"""One launch of a task at a time, and a way to see whether one is alive.

Two launches of the same task would each count only their own running dialogues and give out too many. The lock is
the operating system's (flock): it ends with the process, however that ends.

One process at a time does something: a lock that ends with the process, however that ends.

A study's own files beside Mephisto's database: what Mephisto has no place for.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from parlai_humaneval._util.errors import HumanevalError


@contextmanager
def only_one(path: Path, refusal: Callable[[str], Exception]) -> Iterator[None]:
    """Nobody else holds the file meanwhile.

    Args:
        path: of the lock file, which is made.
        refusal: from the id of the process that holds it to what is raised.

    Raises:
        Exception: somebody else holds it: what ``refusal`` makes of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode() or "unknown"
            raise refusal(holder) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


FOLDER = "studies"
"""In the data directory."""


def study_folder(data_dir: Path, task_name: str) -> Path:
    """The folder of a task, which this does not make. Task names are free text; a digest of one is a safe name."""
    return data_dir / FOLDER / hashlib.sha256(task_name.encode()).hexdigest()[:16]


class JudgingElsewhere(HumanevalError, RuntimeError):
    """Another process asks a judge about the same task."""


@contextmanager
def only_judging(data_dir: Path, task_name: str) -> Iterator[None]:
    """Nobody else asks a judge about the task meanwhile, which would be paid twice.

    Raises:
        JudgingElsewhere: somebody does.
    """

    def refusal(holder: str) -> JudgingElsewhere:
        return JudgingElsewhere(
            f"a judge is being asked about task {task_name!r} already (process {holder})",
            try_="wait until that has ended; the same command then asks what is missing",
        )

    with only_one(study_folder(data_dir, task_name) / "judges.lock", refusal):
        yield


_TRIES = 5
LOCKS = "locks"
"""Folder in the data directory."""


class AlreadyRunning(HumanevalError, RuntimeError):
    """The task is launched already, from this data directory."""


def _lock_file(data_dir: Path, task_name: str) -> Path:
    # Task names are free text; a digest is a safe file name.
    digest = hashlib.sha256(task_name.encode()).hexdigest()[:16]
    return data_dir / LOCKS / f"task-{digest}.lock"


class TaskLock:
    """Held by a launch for as long as it lives."""

    def __init__(self, descriptor: int, pid: int) -> None:
        self._descriptor = descriptor
        self._pid = pid

    def name_run(self, task_run_id: str, url: str = "") -> None:
        """Say which run the launch is, and its address, for :func:`running_task_run` and :func:`running_url`."""
        text = json.dumps({"pid": self._pid, "task_run_id": task_run_id, "url": url}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)


def _locked(descriptor: int) -> bool:
    """Whoever asks whether a launch is alive holds the lock for an instant: that must not keep a launch away."""
    for attempt in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02 * (attempt + 1 < _TRIES))
        else:
            return True
    return False


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the file that was opened is the one of this name: a launch that fails takes its own away."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def task_lock(data_dir: Path, task_name: str) -> Iterator[TaskLock]:
    """Hold the task. Where the block fails, the file that was made for it is gone again.

    Raises:
        AlreadyRunning: another process holds it; the message names it.
    """
    path = _lock_file(data_dir, task_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(descriptor):
            is_new = False
            holder = _read(path).get("pid", "unknown")
            raise AlreadyRunning(
                f"task {task_name!r} is already launched from {data_dir} (process {holder})",
                try_="stop that launch first, or give this one another task_name=…",
            )
        if not _is_still(path, descriptor):
            is_new = False
            raise AlreadyRunning(
                f"another launch of task {task_name!r} has failed at this very moment", try_="launch again"
            )
        lock = TaskLock(descriptor, os.getpid())
        lock.name_run("")
        yield lock
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def running_task_run(data_dir: Path, task_name: str) -> str | None:
    """Id of the run of a task that is alive now, or None."""
    return _said(data_dir, task_name, "task_run_id")


def running_url(data_dir: Path, task_name: str) -> str | None:
    """Where raters go whose task is launched now; None: it is not."""
    return _said(data_dir, task_name, "url")


def _said(data_dir: Path, task_name: str, key: str) -> str | None:
    """What the launch that is alive says of itself, or None."""
    path = _lock_file(data_dir, task_name)
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):  # nobody launched, or not one of this user's launches
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return str(_read(path).get(key, "")) or None
    finally:
        os.close(descriptor)
    return None


def _read(path: Path) -> dict[str, object]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
