"""Logs of a data directory: JSON lines that several threads and processes append to at once, naming people by
pseudonym. An erasure goes through :data:`LOG_FILES`, so that it covers a new :class:`LogFile` without a change."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import shlex
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from mephisto_tasks.storage.locks import FOLDER, study_folder
from parlai_humaneval._util.files import create_once, settle_folders, write_private
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.judge_answers import AnyLine, JudgeLine
from parlai_humaneval.stopping.events import Event, log_rows

if TYPE_CHECKING:
    from parlai_humaneval.tables.columns import StoppingLog

logger = logging.getLogger(__name__)

L = TypeVar("L", bound=BaseModel)


class Personal(Enum):
    WORKER = "lines with the worker's pseudonym"
    DIALOGUE = "lines with the id of one of the worker's dialogues"
    NONE = "none"


class LogLine(BaseModel, extra="forbid", frozen=True):
    """A line of a log. ``at``, where there is one: seconds since the epoch."""


@dataclass(frozen=True)
class LogFile(Generic[L]):
    """A log, which its owner alone can read: of each study (``of_study``), in its folder, or of the data directory."""

    name: str
    line: TypeAdapter[L]
    personal: Personal
    of_study: bool = True

    def __post_init__(self) -> None:
        LOG_FILES.append(self)

    def path(self, data_dir: Path, task: str | None = None) -> Path:
        """Where the log is, or would be. ``task``: the name of the study, for a study's log."""
        if self.of_study == (task is None):
            raise ValueError(f"{self.name} is {'a study’s' if self.of_study else 'the data directory’s'}")
        return (data_dir if task is None else study_folder(data_dir, task)) / self.name

    def paths(self, data_dir: Path) -> list[Path]:
        return sorted(data_dir.glob(f"{FOLDER}/*/{self.name}" if self.of_study else self.name))

    def exists(self, data_dir: Path, task: str | None = None) -> bool:
        return self.path(data_dir, task).is_file()

    def append(self, data_dir: Path, *lines: L, task: str | None = None) -> None:
        """Append lines, all or none, which are on the disk afterwards. Those of several writers never mix."""
        if not lines:
            return
        path = self.path(data_dir, task)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path) as descriptor:
            size = os.fstat(descriptor).st_size
            # A process that was killed in the middle of a line damages that line alone.
            is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            text = b"\n" * is_torn + b"".join(line.model_dump_json().encode() + b"\n" for line in lines)
            if os.write(descriptor, text) < len(text):  # a disk that is almost full takes the beginning
                os.ftruncate(descriptor, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            os.fsync(descriptor)
        if size == 0:
            settle_folders(path.parent)

    def read(self, data_dir: Path, task: str | None = None) -> list[L]:
        """The lines, oldest first. A damaged line is left out with a warning: it must not stop a study."""
        path = self.path(data_dir, task)
        lines = []
        for number, text in enumerate(path.read_bytes().split(b"\n") if path.exists() else [], start=1):
            if not text.strip():
                continue
            try:
                lines.append(self.line.validate_json(text))
            except ValidationError:
                logger.warning("line %d of %s is damaged and was left out", number, path)
        return lines


LOG_FILES: list[LogFile[Any]] = []  # Every log that is defined


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, open for appending, that nobody else writes to or replaces meanwhile."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _drop_lines(path: Path, marks: Collection[bytes]) -> int:
    """Take out the lines with one of these marks; what others append meanwhile stays. Returns how many there were."""
    if not marks or not path.exists():
        return 0
    with _locked(path):
        lines = path.read_bytes().split(b"\n")
        kept = [line for line in lines if not any(mark in line for mark in marks)]
        if len(kept) < len(lines):
            write_private(path, b"\n".join(kept), outlasts_power=True)
    return len(lines) - len(kept)


def erase_lines(
    data_dir: Path, worker: str, dialogues: Sequence[str], tasks: Collection[str], *, everywhere: bool
) -> int:
    """Take lines of a worker and their ``dialogues`` out of the logs of ``tasks`` or ``everywhere``; returns how
    many."""
    # The dialogue with each of several partners, and each thing that is judged of one, has its id, a colon, and more.
    ids = [f'"{dialogue}{end}'.encode() for dialogue in dialogues for end in ('"', ":")]
    marks: dict[Personal, list[bytes]] = {Personal.WORKER: [worker.encode()], Personal.DIALOGUE: ids, Personal.NONE: []}
    folders = {study_folder(data_dir, task) for task in tasks}
    return sum(
        _drop_lines(path, marks[log.personal])
        for log in LOG_FILES
        for path in log.paths(data_dir)
        if everywhere or path.parent in folders or log.personal is Personal.DIALOGUE
    )


# -- what workers agreed to


class Agreement(LogLine):
    """A worker agreed to a consent text. ``version`` and ``digest`` are the text's. Nobody's refusal is kept."""

    worker: str
    version: str
    digest: str
    at: float = Field(default_factory=time.time)


CONSENTS = LogFile("consents.jsonl", TypeAdapter(Agreement), Personal.WORKER)
TEXTS_FOLDER = "consents"  # A file for each text that somebody could agree to, named by its digest


def keep_text(data_dir: Path, task: str, consent: Consent) -> None:
    """Keep the text of a launch, word for word, so that what people agreed to can be shown later."""
    path = study_folder(data_dir, task) / TEXTS_FOLDER / f"{consent.digest}.json"
    create_once(path, consent.model_dump_json(indent=2).encode())


def text_of(data_dir: Path, task: str, digest: str) -> Consent | None:
    path = study_folder(data_dir, task) / TEXTS_FOLDER / f"{digest}.json"
    return Consent.model_validate_json(path.read_bytes()) if path.is_file() else None


# -- what judges answered, and what a study was stopped by

JUDGE_ANSWERS = LogFile("judges.jsonl", TypeAdapter[AnyLine](JudgeLine), Personal.DIALOGUE)
"""Mephisto's database holds what people did, and nothing of this."""

DECISIONS = LogFile("deciding.jsonl", TypeAdapter[Event](Event), Personal.NONE)
"""Each decision of a study that stops once it reaches a decision can be reproduced from this log. Workers have different
names in it than in the tables, so an erasure keeps them."""


def stopping_logs(data_dir: Path, tasks: Sequence[str]) -> tuple[StoppingLog, ...]:
    """The logs of those tasks that stop once they reach a decision, as they go with tables."""
    from parlai_humaneval.tables.columns import StoppingLog

    return tuple(
        StoppingLog(task, tuple(log_rows(DECISIONS.read(data_dir, task))))
        for task in tasks
        if DECISIONS.exists(data_dir, task)
    )


# -- files that commands wrote outside of the data directory

Kind = Literal["table", "links", "report", "aggregate", "release"]
"""``table``: rows of answers. ``links``: rows of people who were invited. ``report``: figures, and examples of what people
wrote. ``aggregate``: figures alone. ``release``: made to be published."""


class WrittenFile(LogLine):
    """A file with workers' answers. ``path``: absolute; ``digest``: SHA-256 of what was written."""

    path: str
    kind: Kind
    digest: str
    tasks: list[str]
    at: float = Field(default_factory=time.time)

    @property
    def is_unchanged(self) -> bool:
        path = Path(self.path)
        return path.is_file() and _digest(path) == self.digest


WRITTEN_FILES = LogFile("written_files.jsonl", TypeAdapter(WrittenFile), Personal.NONE, of_study=False)
"""An erasure goes through the files, and takes out the lines of those that it deletes (:func:`note_deleted`)."""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def note_written(data_dir: Path, tasks: Sequence[str], kind: Kind, paths: Iterable[Path]) -> None:
    """Note that a command has just written these files; a folder means the files in it."""
    files = [
        file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()
    ]
    lines = [
        WrittenFile(path=str(file.resolve()), kind=kind, digest=_digest(file), tasks=list(tasks)) for file in files
    ]
    try:
        WRITTEN_FILES.append(data_dir, *lines)
    except OSError as error:  # a backup, say: the command has done its work all the same
        path = WRITTEN_FILES.path(data_dir)
        logger.warning("`forget` will not find what was written here: %s (%s)", path, error.strerror)


def note_deleted(data_dir: Path, file: WrittenFile) -> None:
    """Forget a file that is gone, with its name, which may be a person's."""
    _drop_lines(WRITTEN_FILES.path(data_dir), [json.dumps(file.path, ensure_ascii=False).encode()])


def written_files(data_dir: Path) -> list[WrittenFile]:
    return list({line.path: line for line in WRITTEN_FILES.read(data_dir)}.values())


# -- blocks

BLOCKED_EVERYWHERE = "parlai-humaneval-blocked"
"""Name of the qualification of workers who may take part in no study of the data directory."""
NOT_RECORDED = "not recorded here"  # Reason of a block whose line is lost, or that was made by something else


def blocked_here(task: str) -> str:
    """Name of the qualification of workers whom somebody blocked by hand in this study."""
    return f"{BLOCKED_EVERYWHERE}-{study_folder(Path(), task).name}"


class Block(LogLine):
    """Why a worker holds the qualification of a block. ``at`` None: not recorded."""

    worker: str
    qualification: str
    at: float | None = None
    task_name: str = ""
    check: str = ""
    reason: str = NOT_RECORDED

    @property
    def everywhere(self) -> bool:
        return self.qualification == BLOCKED_EVERYWHERE

    @property
    def place(self) -> str:
        if self.everywhere:
            return "in all studies"
        return f"in task {self.task_name!r}" if self.task_name else f"by {self.qualification}"

    @property
    def lifted_by(self) -> str:
        where = "--all-tasks" if self.everywhere else shlex.join(["--task-name", self.task_name or "NAME"])
        return f"workers unblock {self.worker} {where}"


class BlockLine(Block):
    event: Literal["blocked", "unblocked"]


BLOCKS = LogFile("blocks.jsonl", TypeAdapter(BlockLine), Personal.WORKER, of_study=False)
"""Why workers are blocked. Mephisto's database says who is."""


class ErasedButBlocked(LogLine):
    """A worker who was erased at this time, and stays blocked by the qualification."""

    worker: str
    qualification: str
    at: float = Field(default_factory=time.time)


ERASED_BUT_BLOCKED = LogFile("kept_out.jsonl", TypeAdapter(ErasedButBlocked), Personal.NONE, of_study=False)
"""Outlasts an erasure on purpose. Only the key of the pseudonyms and a worker's id together lead to a line."""


def keep_blocked(data_dir: Path, worker: str, qualifications: Collection[str]) -> None:
    """Block a worker who is erased by these qualifications; those that are noted already are not noted again."""
    known = {line.qualification for line in ERASED_BUT_BLOCKED.read(data_dir) if line.worker == worker}
    new = sorted(set(qualifications) - known)
    ERASED_BUT_BLOCKED.append(data_dir, *(ErasedButBlocked(worker=worker, qualification=name) for name in new))


def unblock_erased(data_dir: Path, worker: str) -> bool:
    """Let a worker who was erased take part again. False: they were not blocked."""
    return _drop_lines(ERASED_BUT_BLOCKED.path(data_dir), [worker.encode()]) > 0


# -- refusals and notes


class RefusalLine(LogLine):
    """A worker was turned away. ``kind``: of the reason; ``why``: for researchers, who may be asked."""

    worker: str
    kind: str
    why: str
    at: float = Field(default_factory=time.time)


REFUSALS = LogFile("turned_away.jsonl", TypeAdapter(RefusalLine), Personal.WORKER)
"""The same reason of the same worker is logged once a launch."""


class Note(LogLine):
    """A researcher's note on a worker. ``qualification``: of a practice that was reset."""

    event: Literal["note", "practice_reset"] = "note"
    worker: str
    at: float = Field(default_factory=time.time)
    text: str = ""
    qualification: str = ""


NOTES = LogFile("notes.jsonl", TypeAdapter(Note), Personal.WORKER, of_study=False)
