"""What researchers write down of workers: notes, and that somebody may practise again. Only ever appended to."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.stored.lines_file import append_line, read_lines

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
