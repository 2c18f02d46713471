"""Engine 2 as a Mephisto blueprint: a person judges finished dialogues."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks.engine.blueprint import StudyBlueprint
from mephisto_tasks.engine.config import TaskConfig
from mephisto_tasks.engine.study import Study
from mephisto_tasks.judging.config import StaticConfig


class StaticBlueprint(StudyBlueprint):
    """A person reads one or two dialogues and answers questions about them."""

    CONFIG = StaticConfig

    @classmethod
    def build_study(cls, config: TaskConfig, task: str, data_dir: Path, task_name: str, reward: float) -> Study:
        """See :func:`mephisto_tasks.judging.building.build_study`."""
        from mephisto_tasks.judging.building import build_study  # it may load models, a report does not need it

        assert isinstance(config, StaticConfig)
        return build_study(config, task, data_dir, task_name, reward)
