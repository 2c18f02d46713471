"""One launch of a task at a time, and one process for each kind of work, by the system's locks, which end with the
process; and the folder of a study's files."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import json_object_in

if TYPE_CHECKING:
    from parlai_humaneval.display.images import ImageStore

FOLDER = "studies"  # Folder in the data directory
LOCKS = "locks"  # Folder in the data directory
IMAGES = "images"  # Folder of a study's pictures, in its own
_TRIES = 5


def _digest(task_name: str) -> str:
    return hashlib.sha256(task_name.encode()).hexdigest()[:16]


def study_folder(data_dir: Path, task_name: str) -> Path:
    """The folder for files of a task that Mephisto has no place for. It may not exist yet."""
    return data_dir / FOLDER / _digest(task_name)


def image_store(data_dir: Path, task_name: str, *, uploads: bool = False) -> ImageStore:
    from parlai_humaneval.display.images import ImageStore

    return ImageStore(study_folder(data_dir, task_name) / IMAGES, uploads=uploads)


@contextmanager
def exclusive_lock(path: Path, refusal: Callable[[str], Exception]) -> Iterator[None]:
    """Hold a lock file, which is made if need be. Raises Exception."""
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


class JudgingElsewhere(HumanevalError, RuntimeError):
    """Another process asks a judge about the same task."""


@contextmanager
def only_judging(data_dir: Path, task_name: str) -> Iterator[None]:
    """Keep others from asking a judge about the task, which would be paid twice. Raises JudgingElsewhere."""

    def refusal(holder: str) -> JudgingElsewhere:
        return JudgingElsewhere(
            f"a judge is being asked about task {task_name!r} already (process {holder})",
            try_="wait until it has ended; the same command then asks the rest",
        )

    with exclusive_lock(study_folder(data_dir, task_name) / "judges.lock", refusal):
        yield


class AlreadyRunning(HumanevalError, RuntimeError):
    """The task is already launched from this data directory."""


def _lock_file(data_dir: Path, task_name: str) -> Path:
    return data_dir / LOCKS / f"task-{_digest(task_name)}.lock"


@dataclass(frozen=True)
class TaskLock:
    _descriptor: int
    _pid: int

    def name_run(self, task_run_id: str, url: str = "") -> None:
        """Write down the launch's run and address, for :func:`running_task_run` and :func:`running_url`."""
        text = json.dumps({"pid": self._pid, "task_run_id": task_run_id, "url": url}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)


def _locked(descriptor: int) -> bool:
    """Take the lock. A process that asks whether a launch is alive holds it for an instant, so try several times."""
    for attempt in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02 * (attempt + 1 < _TRIES))
        else:
            return True
    return False


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the open file still has this name: a launch that fails deletes its lock file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def task_lock(data_dir: Path, task_name: str) -> Iterator[TaskLock]:
    """Hold a task's lock; where the block fails, a lock file made for it is deleted. Raises AlreadyRunning."""
    path = _lock_file(data_dir, task_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(descriptor):
            is_new = False
            holder = json_object_in(path).get("pid", "unknown")
            what = f"task {task_name!r} is already launched from {data_dir} (process {holder})"
            raise AlreadyRunning(what, try_="stop that launch first, or give the new launch a different task_name=…")
        if not _is_still(path, descriptor):
            is_new = False
            raise AlreadyRunning(f"another launch of task {task_name!r} has failed just now", try_="launch again")
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
    return _note_of_launch(_lock_file(data_dir, task_name), "task_run_id")


def running_url(data_dir: Path, task_name: str) -> str | None:
    return _note_of_launch(_lock_file(data_dir, task_name), "url")


def any_running(data_dir: Path) -> bool:
    """Whether some task of the directory is launched now."""
    return any(_note_of_launch(path, "pid") for path in (data_dir / LOCKS).glob("task-*.lock"))


def _note_of_launch(path: Path, key: str) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):  # nobody launched, or not one of this user's launches
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return str(json_object_in(path).get(key, "")) or None
    finally:
        os.close(descriptor)
    return None
