"""Workers who were forgotten, and stay blocked: nothing but a pseudonym, by which they are known if they come again.

Their names are nowhere; only who has the key of the pseudonyms, and a worker's id, can tell whether they are among these.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.stored.lines_file import append_line, drop_lines, read_lines
from mephisto_tasks.stored.study_folder import study_folder

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
