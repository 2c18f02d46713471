"""Every subclass and patch of Mephisto."""

from __future__ import annotations

from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import TaskConfig
from parlai_humaneval.techniques.registry import technique


def settings_model(task: str) -> type[TaskConfig]:
    """The settings of a technique, without Mephisto. Raises ConfigError."""
    task_dir(task)
    if technique(task).engine == "live":
        from mephisto_tasks.chat.config import InteractiveConfig

        return InteractiveConfig
    from mephisto_tasks.annotation.config import StaticConfig

    return StaticConfig
