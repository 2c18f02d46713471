"""A rater's ``state.json``, checked as it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from parlai_humaneval.protocol.records.events import Event


class _Outputs(BaseModel):
    model_config = ConfigDict(extra="ignore")
    messages: list[Event]


class StateFile(BaseModel):
    """The parts of the file that records are made of: the plan of the unit, and the events, in order."""

    model_config = ConfigDict(extra="ignore")
    inputs: dict[str, Any] | None = None
    outputs: _Outputs
    last_page: dict[str, Any] | None = None
    """The page's end, where it came to one."""


class StateFiles:
    """Reads state files, and one again only when it has changed: for who looks at a study again and again."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, int, int], StateFile]] = {}
        self.changes = 0
        """So many files were new or other ones than before."""

    def read(self, path: Path) -> StateFile:
        """What stands in the file now. It is not to be changed.

        Raises:
            FileNotFoundError: there is no such file.
            ValidationError: it is none of ours.
        """
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)  # a file that is replaced is another one
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = self._read[path] = (stamp, StateFile.model_validate_json(path.read_bytes()))
            self.changes += 1
        return known[1]
