"""Files with workers' answers that commands wrote outside of the data directory: who is forgotten goes from there, too.

A line for each file that was written, in ``written_files.jsonl``; the newest line of a path counts.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.stored.lines_file import append_line, drop_lines, read_lines

logger = logging.getLogger(__name__)

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
