"""The settings of the newest launch as they were asked for, with which a second launch of the task is compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from mephisto_tasks.storage.locks import study_folder
from parlai_humaneval._util.files import write_private

SETTINGS_FILE = "settings.json"

Settings = dict[str, JsonValue]
"""Name with its dots → value; a list is one value."""


class RunSettings(BaseModel):
    """``task``: the technique's name as it was launched; ``settings``: all below ``mephisto``."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task: str
    task_run_id: str
    settings: Settings


def flat(settings: Mapping[str, JsonValue], prefix: str = "") -> Settings:
    """Blocks of settings as names with dots."""
    found: Settings = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def note_settings(data_dir: Path, task_name: str, settings: RunSettings) -> None:
    """Write them down; readable by the owner only."""
    write_private(study_folder(data_dir, task_name) / SETTINGS_FILE, settings.model_dump_json().encode())


def read_settings(data_dir: Path, task_name: str) -> RunSettings | None:
    """Those of the newest launch; None where none wrote any that can be read."""
    try:
        return RunSettings.model_validate_json((study_folder(data_dir, task_name) / SETTINGS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
