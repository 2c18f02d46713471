"""The settings of a task's newest launch, as they were typed and as Mephisto keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import check_task, query
from parlai_humaneval._util.files import write_private

SETTINGS_FILE = "settings.json"

Settings = dict[str, JsonValue]
"""Name with its dots → value; a list is one value."""


class RunSettings(BaseModel):
    """``task``: the name of the technique as it was launched; ``settings``: all below ``mephisto``."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task: str
    task_run_id: str
    settings: Settings


def flat(settings: Mapping[str, JsonValue], prefix: str = "") -> Settings:
    """Nested settings as names with dots."""
    names: Settings = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            names |= flat(value, f"{prefix}{name}.")
        else:
            names[f"{prefix}{name}"] = value
    return names


def note_settings(data_dir: Path, task_name: str, settings: RunSettings) -> None:
    """Keep the settings of a launch; readable by the owner only."""
    write_private(study_folder(data_dir, task_name) / SETTINGS_FILE, settings.model_dump_json().encode())


def read_settings(data_dir: Path, task_name: str) -> RunSettings | None:
    """The settings of the newest launch; None where there are none that can be read."""
    try:
        return RunSettings.model_validate_json((study_folder(data_dir, task_name) / SETTINGS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


_SETTINGS = """
    SELECT task_runs.init_params, task_runs.task_run_id FROM task_runs JOIN tasks ON tasks.task_id = task_runs.task_id
     WHERE tasks.task_name = ? ORDER BY CAST(task_runs.task_run_id AS INTEGER) DESC
"""


def blueprint_of_newest(data_dir: Path, task_name: str) -> dict[str, Any]:
    """``mephisto.blueprint`` of the newest launch of a task; empty where there was none, or one of an older version.

    Raises:
        ResultsError: there is no database, or no such task.
    """
    return _of_newest(data_dir, task_name, "blueprint")


def provider_of_newest(data_dir: Path, task_name: str) -> dict[str, Any]:
    """``mephisto.provider`` of the newest launch; otherwise as :func:`blueprint_of_newest`."""
    return _of_newest(data_dir, task_name, "provider")


def blueprints(data_dir: Path, task_name: str) -> dict[str, dict[str, Any]]:
    """Mephisto's id of each launch of a task, the newest first → its ``mephisto.blueprint``, as for the newest."""
    return {str(row[1]): _part(row, "blueprint") for row in query(data_dir, _SETTINGS, [task_name])}


def currencies_of(data_dir: Path, task_name: str) -> dict[str, str]:
    """Mephisto's id of a launch of a task → the currency of its rewards, where its crowd has a choice."""
    runs = {str(row[1]): _part(row, "provider") for row in query(data_dir, _SETTINGS, [task_name])}
    return {run: str(settings["currency"]) for run, settings in runs.items() if settings.get("currency")}


def _of_newest(data_dir: Path, task_name: str, part: str) -> dict[str, Any]:
    rows = query(data_dir, f"{_SETTINGS} LIMIT 1", [task_name])
    if not rows:
        check_task(data_dir, task_name)
        return {}
    return _part(rows[0], part)


def _part(row: tuple[object, ...], part: str) -> dict[str, Any]:
    settings = yaml.safe_load(str(row[0]))
    if isinstance(settings, str):  # Mephisto writes YAML as a string of JSON
        settings = yaml.safe_load(settings)
    values = settings.get(part) if isinstance(settings, dict) else None
    return values if isinstance(values, dict) else {}
