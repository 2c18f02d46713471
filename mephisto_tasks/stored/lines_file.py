"""Files of JSON lines that are only ever appended to, by several threads and processes at once."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from parlai_humaneval.private_files import settle_folders, write_private

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
