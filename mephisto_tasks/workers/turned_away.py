"""Who was turned away, and why in truth: a file of the study, so that one can answer a worker who asks."""

from __future__ import annotations

import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.stored.lines_file import append_line, read_lines
from mephisto_tasks.stored.study_folder import study_folder

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
