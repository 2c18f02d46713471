"""Where a task's confs and materials are: in ``presets``, or where the entry of its technique says."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks.engine.config import ConfigError
from parlai_humaneval.techniques import UnknownTechnique, technique

PRESETS = Path(__file__).resolve().parents[1] / "presets"


def task_dir(task: str) -> Path:
    """Folder of a task's ``hydra_configs/conf`` and ``task_config``.

    Raises:
        ConfigError: there is no such task, or not the folder that its entry names.
    """
    try:
        entry = technique(task)
    except UnknownTechnique as error:
        raise ConfigError(str(error).replace("technique", "task", 1)) from error
    folder = entry.folder or PRESETS / task
    if not (folder / "hydra_configs" / "conf").is_dir():
        raise ConfigError(f"the folder of the technique {task!r} has no hydra_configs/conf: {folder}")
    return folder
