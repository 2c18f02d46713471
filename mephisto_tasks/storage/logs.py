"""Files of JSON lines that are only ever appended to, by several threads and processes at once.

Who agreed to which consent text of a study: a file of the study, and each text once. Nothing is kept of who said no.

The log of a study that ends when it is decided: a file of the study's own, from which each decision can be made again.

Workers stand in it under names of their own, which are in no table.

What judges answered, in a file of the study's own: Mephisto's database holds what people did.

The logs of studies that end when they are decided, as they go with tables. (A launch needs no tables.)

Files with workers' answers that commands wrote outside of the data directory: who is forgotten goes from there, too.

A line for each file that was written, in ``written_files.jsonl``; the newest line of a path counts.

Workers who were forgotten, and stay blocked: nothing but a pseudonym, by which they are known if they come again.

Their names are nowhere; only who has the key of the pseudonyms, and a worker's id, can tell whether they are among these.

Who was turned away, and why in truth: a file of the study, so that one can answer a worker who asks.

What researchers write down of workers: notes, and that somebody may practise again. Only ever appended to.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mephisto_tasks.storage.locks import FOLDER, only_one, study_folder
from parlai_humaneval._util.files import create_once, settle_folders, write_private
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.judge_answers import AnyLine, JudgeLine
from parlai_humaneval.stopping.events import Event, log_rows

if TYPE_CHECKING:
    from parlai_humaneval.tables.columns import StoppingLog

logger = logging.getLogger(__name__)

L = TypeVar("L", bound=BaseModel)


def append_line(path: Path, line: BaseModel) -> None:
    """:func:`append_lines` of one line."""
    append_lines(path, [line])


def append_lines(path: Path, lines: Sequence[BaseModel]) -> None:
    """One write of whole lines, so that those of several writers never mix; they are on the disk afterwards, all or none.

    The file can be read by its owner only.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _held(path) as descriptor:
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


def drop_lines(path: Path, goes: Callable[[bytes], bool]) -> int:
    """Take lines out of a file for good; what others append meanwhile is kept. Returns how many went."""
    if not path.exists():
        return 0
    with _held(path):
        lines = path.read_bytes().split(b"\n")
        staying = [line for line in lines if not goes(line)]
        if len(staying) < len(lines):
            write_private(path, b"\n".join(staying), outlasts_power=True)
    return len(lines) - len(staying)


@contextmanager
def _held(path: Path) -> Iterator[int]:
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


def read_lines(path: Path, model: type[L] | TypeAdapter[L]) -> list[L]:
    """The file, oldest line first. A damaged line is left out with a warning: it must not keep anybody from anything."""
    adapter: TypeAdapter[L] = model if isinstance(model, TypeAdapter) else TypeAdapter(model)
    lines = []
    for number, text in enumerate(path.read_bytes().split(b"\n") if path.exists() else [], start=1):
        if not text.strip():
            continue
        try:
            lines.append(adapter.validate_json(text))
        except ValidationError:
            logger.warning("line %d of %s is damaged and was left out", number, path)
    return lines


AGREEMENTS_FILE = "consents.jsonl"
TEXTS_FOLDER = "consents"
"""A file for each text that somebody could agree to, named by its digest."""


class Agreement(BaseModel):
    """``worker``: their pseudonym; ``version`` and ``digest``: of the text; ``at``: seconds since the epoch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker: str
    version: str
    digest: str
    at: float = Field(default_factory=time.time)


def note_agreement(data_dir: Path, task_name: str, agreement: Agreement) -> None:
    append_line(study_folder(data_dir, task_name) / AGREEMENTS_FILE, agreement)


def agreements(data_dir: Path, task_name: str) -> list[Agreement]:
    """All of a study, oldest first."""
    return read_lines(study_folder(data_dir, task_name) / AGREEMENTS_FILE, Agreement)


def keep_text(data_dir: Path, task_name: str, consent: Consent) -> None:
    """Keep the text of a launch, word for word, so that what people agreed to can be shown later."""
    path = study_folder(data_dir, task_name) / TEXTS_FOLDER / f"{consent.digest}.json"
    create_once(path, consent.model_dump_json(indent=2).encode())


def text_of(data_dir: Path, task_name: str, digest: str) -> Consent | None:
    """The text of a digest; None where it is not there any more."""
    path = study_folder(data_dir, task_name) / TEXTS_FOLDER / f"{digest}.json"
    return Consent.model_validate_json(path.read_bytes()) if path.is_file() else None


DECIDING_FILE = "deciding.jsonl"
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def log_file(data_dir: Path, task_name: str) -> Path:
    """Where the log of a task is, if it ends when it is decided."""
    return study_folder(data_dir, task_name) / DECIDING_FILE


def is_deciding(data_dir: Path, task_name: str) -> bool:
    """Whether the task ends when it is decided."""
    return log_file(data_dir, task_name).is_file()


def deciding_events(data_dir: Path, task_name: str) -> list[Event]:
    """All that happened in a task that ends when it is decided, oldest first; nothing of any other."""
    return read_lines(log_file(data_dir, task_name), _EVENT)


def keep_events(data_dir: Path, task_name: str, events: Sequence[Event]) -> None:
    """Write events down; they are on the disk afterwards, all of them or none."""
    append_lines(log_file(data_dir, task_name), events)


JUDGES_FILE = "judges.jsonl"
LOCK = "judges.lock"
_LINE: TypeAdapter[AnyLine] = TypeAdapter(JudgeLine)


class JudgingElsewhere(RuntimeError):
    """Another process asks a judge about the same task."""


def judge_lines(data_dir: Path, task_name: str) -> list[AnyLine]:
    """All that judges answered in a task, oldest first; nothing where none was asked."""
    return read_lines(study_folder(data_dir, task_name) / JUDGES_FILE, _LINE)


def keep_line(data_dir: Path, task_name: str, line: AnyLine) -> None:
    """Write a line down; it is on the disk afterwards."""
    append_line(study_folder(data_dir, task_name) / JUDGES_FILE, line)


@contextmanager
def only_judging(data_dir: Path, task_name: str) -> Iterator[None]:
    """Nobody else asks a judge about the task meanwhile, which would be paid twice.

    Raises:
        JudgingElsewhere: somebody does.
    """

    def refusal(holder: str) -> JudgingElsewhere:
        return JudgingElsewhere(
            f"a judge is being asked about task {task_name!r} already (process {holder}). Wait until that has ended; the "
            "same command then asks what is missing"
        )

    with only_one(study_folder(data_dir, task_name) / LOCK, refusal):
        yield


def drop_judged(data_dir: Path, dialogues: Sequence[str]) -> int:
    """Take out what judges read and said of these dialogues, in every task: their words stand there.

    Returns how many lines went.
    """
    # Of two partners side by side, the dialogue with each has the id, a colon, and more; so has each thing that is judged.
    names = [f'"{dialogue}{end}'.encode() for dialogue in dialogues for end in ('"', ":")]
    files = sorted((data_dir / FOLDER).glob(f"*/{JUDGES_FILE}")) if names else []
    return sum(drop_lines(path, lambda line: any(name in line for name in names)) for path in files)


def stopping_logs(data_dir: Path, tasks: Sequence[str]) -> tuple[StoppingLog, ...]:
    """Of those of the tasks that end when they are decided."""
    from parlai_humaneval.tables.columns import StoppingLog

    return tuple(
        StoppingLog(task, tuple(log_rows(deciding_events(data_dir, task))))
        for task in tasks
        if is_deciding(data_dir, task)
    )


WRITTEN_FILE = "written_files.jsonl"

Kind = Literal["table", "links", "report", "aggregate", "release"]
"""``table``: rows of answers. ``links``: rows of people who were invited. ``report``: figures, and examples of what people
wrote. ``aggregate``: figures alone. ``release``: made to be published."""


class WrittenFile(BaseModel):
    """``path``: absolute; ``digest``: SHA-256 of what was written; ``at``: seconds since the epoch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    kind: Kind
    digest: str
    tasks: list[str]
    at: float = Field(default_factory=time.time)

    @property
    def is_unchanged(self) -> bool:
        """Whether the file holds what was written then."""
        path = Path(self.path)
        return path.is_file() and digest_of(path) == self.digest


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def note_written(data_dir: Path, tasks: Sequence[str], kind: Kind, paths: Iterable[Path]) -> None:
    """Write down that a command has just written these files; a folder stands for the files in it."""
    there = [
        file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()
    ]
    lines = [
        WrittenFile(path=str(file.resolve()), kind=kind, digest=digest_of(file), tasks=list(tasks)) for file in there
    ]
    try:
        for line in lines:
            append_line(data_dir / WRITTEN_FILE, line)
    except OSError as error:  # a backup, say: what was asked for is written all the same
        logger.warning("`forget` will not find what was written here: %s (%s)", data_dir / WRITTEN_FILE, error.strerror)


def no_longer(data_dir: Path, file: WrittenFile) -> None:
    """The file is there no more; not even its name stays, which may be somebody's."""
    path = json.dumps(file.path, ensure_ascii=False).encode()
    drop_lines(data_dir / WRITTEN_FILE, lambda line: path in line)


def written_files(data_dir: Path) -> list[WrittenFile]:
    """The files as they were last written, oldest first."""
    newest = {line.path: line for line in read_lines(data_dir / WRITTEN_FILE, WrittenFile)}
    return list(newest.values())


KEPT_OUT_FILE = "kept_out.jsonl"
"""In the data directory."""
BLOCKED_EVERYWHERE = "parlai-humaneval-blocked"
"""Name of the qualification of workers who may take part in no study of the data directory."""


class KeptOut(BaseModel):
    """``worker``: a pseudonym; ``qualification``: that of the block; ``at``: when they were forgotten."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker: str
    qualification: str
    at: float = Field(default_factory=time.time)


def blocked_here(task_name: str) -> str:
    """Name of the qualification of workers whom somebody blocked by hand in this study."""
    return f"{BLOCKED_EVERYWHERE}-{study_folder(Path(), task_name).name}"


def kept_out(data_dir: Path) -> list[KeptOut]:
    """All of them, oldest first."""
    return read_lines(data_dir / KEPT_OUT_FILE, KeptOut)


def keep_out(data_dir: Path, worker: str, qualifications: Collection[str]) -> None:
    """Keep a worker out by these blocks from now on; those that hold already are not written again."""
    known = {line.qualification for line in kept_out(data_dir) if line.worker == worker}
    for name in sorted(set(qualifications) - known):
        append_line(data_dir / KEPT_OUT_FILE, KeptOut(worker=worker, qualification=name))


def let_in(data_dir: Path, worker: str) -> bool:
    """A worker who was kept out may come again. False: they were not."""
    return drop_lines(data_dir / KEPT_OUT_FILE, lambda line: worker.encode() in line) > 0


TURNED_AWAY_FILE = "turned_away.jsonl"


class TurnedAway(BaseModel):
    """``worker``: their pseudonym; ``kind``: of the reason; ``why``: for researchers; ``at``: seconds since the epoch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker: str
    kind: str
    why: str
    at: float = Field(default_factory=time.time)


def note_turned_away(data_dir: Path, task_name: str, turned: TurnedAway) -> None:
    append_line(study_folder(data_dir, task_name) / TURNED_AWAY_FILE, turned)


def turned_away(data_dir: Path, task_name: str) -> list[TurnedAway]:
    """All of a study, oldest first; the same reason of the same worker once a launch."""
    return read_lines(study_folder(data_dir, task_name) / TURNED_AWAY_FILE, TurnedAway)


NOTES_FILE = "notes.jsonl"
"""In the data directory, beside ``blocks.jsonl``."""


class Note(BaseModel):
    """A line. ``worker``: a pseudonym; ``at``: seconds since the epoch; ``qualification``: of a practice that was reset."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    event: Literal["note", "practice_reset"] = "note"
    worker: str
    at: float = Field(default_factory=time.time)
    text: str = ""
    qualification: str = ""


def write_note(data_dir: Path, note: Note) -> None:
    append_line(data_dir / NOTES_FILE, note)


def notes(data_dir: Path) -> list[Note]:
    """All of them, oldest first."""
    return read_lines(data_dir / NOTES_FILE, Note)


def practice_resets(data_dir: Path, qualification: str) -> dict[str, float]:
    """Pseudonym → when the practice of this qualification was last reset."""
    reset = (note for note in notes(data_dir) if note.event == "practice_reset" and note.qualification == qualification)
    return {note.worker: note.at for note in reset}
