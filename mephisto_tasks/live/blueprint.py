"""Engine 1 as a Mephisto blueprint: a person talks to models, and rates."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks.engine.blueprint import StudyBlueprint
from mephisto_tasks.engine.config import TaskConfig
from mephisto_tasks.engine.study import Study
from mephisto_tasks.live.config import InteractiveConfig


class InteractiveBlueprint(StudyBlueprint):
    """A person talks to models and rates at every turn, or at the end."""

    CONFIG = InteractiveConfig

    @classmethod
    def build_study(cls, config: TaskConfig, task: str, data_dir: Path, task_name: str, reward: float) -> Study:
        """See :func:`mephisto_tasks.live.building.build_study`."""
        from mephisto_tasks.live.building import (
            build_study,  # it loads all that speaks, a report does not need it
        )

        assert isinstance(config, InteractiveConfig)
        return build_study(config, task, data_dir, task_name, reward)
