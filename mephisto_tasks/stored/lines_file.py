"""Files of JSON lines that are only ever appended to, by several threads and processes at once."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

logger = logging.getLogger(__name__)

L = TypeVar("L", bound=BaseModel)


def append_line(path: Path, line: BaseModel) -> None:
    """One write a line, so that lines never mix; it is on the disk afterwards. The file can be read by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        # A process that was killed in the middle of a line damages that line alone.
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, b"\n" * is_torn + line.model_dump_json().encode() + b"\n")
        os.fsync(descriptor)
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
