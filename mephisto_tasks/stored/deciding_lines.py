"""The log of a study that ends when it is decided: a file of the study's own, from which each decision can be made again.

Workers stand in it under names of their own, which are in no table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from mephisto_tasks.stored.lines_file import append_lines, read_lines
from mephisto_tasks.stored.study_folder import study_folder
from parlai_humaneval.sequential.events import Event

FILE = "deciding.jsonl"
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def log_file(data_dir: Path, task_name: str) -> Path:
    """Where the log of a task is, if it ends when it is decided."""
    return study_folder(data_dir, task_name) / FILE


def is_deciding(data_dir: Path, task_name: str) -> bool:
    """Whether the task ends when it is decided."""
    return log_file(data_dir, task_name).is_file()


def deciding_events(data_dir: Path, task_name: str) -> list[Event]:
    """All that happened in a task that ends when it is decided, oldest first; nothing of any other."""
    return read_lines(log_file(data_dir, task_name), _EVENT)


def keep_events(data_dir: Path, task_name: str, events: Sequence[Event]) -> None:
    """Write events down; they are on the disk afterwards, all of them or none."""
    append_lines(log_file(data_dir, task_name), events)
