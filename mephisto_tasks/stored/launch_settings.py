"""The settings that a task was launched with, as Mephisto's database keeps them. Read only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from mephisto_tasks.stored.results import check_task, query

_NEWEST = """
    SELECT task_runs.init_params FROM task_runs JOIN tasks ON tasks.task_id = task_runs.task_id
     WHERE tasks.task_name = ? ORDER BY CAST(task_runs.task_run_id AS INTEGER) DESC LIMIT 1
"""


def blueprint_of_newest(data_dir: Path, task_name: str) -> dict[str, Any]:
    """``mephisto.blueprint`` of the newest launch of a task; empty where there was none, or an older version's.

    Raises:
        ResultsError: there is no database, or no such task.
    """
    return _of_newest(data_dir, task_name, "blueprint")


def provider_of_newest(data_dir: Path, task_name: str) -> dict[str, Any]:
    """``mephisto.provider`` of it; otherwise as :func:`blueprint_of_newest`."""
    return _of_newest(data_dir, task_name, "provider")


def _of_newest(data_dir: Path, task_name: str, part: str) -> dict[str, Any]:
    rows = query(data_dir, _NEWEST, [task_name])
    if not rows:
        check_task(data_dir, task_name)
        return {}
    settings = yaml.safe_load(str(rows[0][0]))
    if isinstance(settings, str):  # Mephisto writes YAML as a string of JSON
        settings = yaml.safe_load(settings)
    found = settings.get(part) if isinstance(settings, dict) else None
    return found if isinstance(found, dict) else {}
