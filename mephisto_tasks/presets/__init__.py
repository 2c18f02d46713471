"""The published techniques' confs and materials, a folder each; what a technique is stands in its entry."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks.engine.config import ConfigError
from parlai_humaneval.techniques import UnknownTechnique, technique


def task_dir(task: str) -> Path:
    """Folder of a task's ``hydra_configs/conf`` and ``task_config``.

    Raises:
        ConfigError: there is no such task, or not the folder that its entry names.
    """
    try:
        entry = technique(task)
    except UnknownTechnique as error:
        raise ConfigError(str(error).replace("technique", "task", 1)) from error
    folder = entry.folder or Path(__file__).parent / task
    if not (folder / "hydra_configs" / "conf").is_dir():
        raise ConfigError(f"the folder of the technique {task!r} has no hydra_configs/conf: {folder}")
    return folder
