"""The settings of a task's newest launch, as they were typed and as Mephisto keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, JsonValue, ValidationError

from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import StoredRun, check_task, stored_runs
from parlai_humaneval._util.data_files import FASTEST
from parlai_humaneval._util.files import write_private

SETTINGS_FILE = "settings.json"

Settings = dict[str, JsonValue]  # Name with its dots → value; a list is one value.


class RunSettings(BaseModel, extra="ignore", frozen=True):
    """``task``: the name of the technique as it was launched; ``settings``: all below ``mephisto``."""

    task: str
    task_run_id: str
    settings: Settings


def flat(settings: Mapping[str, JsonValue], prefix: str = "") -> Settings:
    names: Settings = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            names |= flat(value, f"{prefix}{name}.")
        else:
            names[f"{prefix}{name}"] = value
    return names


def note_settings(data_dir: Path, task_name: str, settings: RunSettings) -> None:
    write_private(study_folder(data_dir, task_name) / SETTINGS_FILE, settings.model_dump_json().encode())


def read_settings(data_dir: Path, task_name: str) -> RunSettings | None:
    try:
        return RunSettings.model_validate_json((study_folder(data_dir, task_name) / SETTINGS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def newest_settings(data_dir: Path, task_name: str, part: Literal["blueprint", "provider"]) -> dict[str, Any]:
    """Those below ``mephisto`` of a task's newest launch; empty: none, or of an older version. Raises ResultsError."""
    runs = stored_runs(data_dir, task_name)
    if not runs:
        check_task(data_dir, task_name)
    return _part(runs[0], part) if runs else {}


def blueprints(data_dir: Path, task_name: str) -> dict[str, dict[str, Any]]:
    """Mephisto's id of each launch of a task, the newest first → its ``mephisto.blueprint``, as for the newest."""
    return {run.run_id: _part(run, "blueprint") for run in stored_runs(data_dir, task_name)}


def currencies_of(data_dir: Path, task_name: str) -> dict[str, str]:
    """Mephisto's id of a launch of a task → the currency of its rewards, where its crowd has a choice."""
    runs = {run.run_id: _part(run, "provider") for run in stored_runs(data_dir, task_name)}
    return {run: str(settings["currency"]) for run, settings in runs.items() if settings.get("currency")}


def _part(run: StoredRun, part: str) -> dict[str, Any]:
    settings = yaml.load(run.settings, FASTEST)
    if isinstance(settings, str):  # Mephisto writes YAML as a string of JSON
        settings = yaml.load(settings, FASTEST)
    values = settings.get(part) if isinstance(settings, dict) else None
    return values if isinstance(values, dict) else {}
