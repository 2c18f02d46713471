"""Files of JSON lines that are only ever appended to, by several threads and processes at once."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

logger = logging.getLogger(__name__)

L = TypeVar("L", bound=BaseModel)


def append_line(path: Path, line: BaseModel) -> None:
    """One write a line, so that lines never mix; the file can be read by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.model_dump_json().encode("utf-8") + b"\n")
    finally:
        os.close(descriptor)


def read_lines(path: Path, model: type[L]) -> list[L]:
    """The file, oldest line first. A damaged line is left out with a warning: it must not keep anybody from anything."""
    lines = []
    for number, text in enumerate(path.read_bytes().splitlines() if path.exists() else [], start=1):
        try:
            lines.append(model.model_validate_json(text))
        except ValidationError:
            logger.warning("line %d of %s is damaged and was left out", number, path)
    return lines
