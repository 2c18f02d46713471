"""The logs of studies that end when they are decided, as they go with tables. (A launch needs no tables.)"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mephisto_tasks.stored.deciding_lines import deciding_events, is_deciding
from parlai_humaneval.sequential.events import log_rows
from parlai_humaneval.tables.columns import StoppingLog


def stopping_logs(data_dir: Path, tasks: Sequence[str]) -> tuple[StoppingLog, ...]:
    """Of those of the tasks that end when they are decided."""
    return tuple(
        StoppingLog(task, tuple(log_rows(deciding_events(data_dir, task))))
        for task in tasks
        if is_deciding(data_dir, task)
    )
