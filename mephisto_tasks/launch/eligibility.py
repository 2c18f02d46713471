"""Who may take part in a launch: its rules, looked up, with what its crowd cannot check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from mephisto_tasks.admission.eligibility import Eligibility, read_eligibility
from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.crowds.registry import crowd_in


def load_eligibility(config: DictConfig, rules: WorkerRules, data_dir: Path) -> Eligibility:
    """The rules of a launch as they hold at our door, with remarks on those that its crowd cannot check.

    Raises:
        ConfigError: a file, study or qualification that cannot be.
    """
    crowd, task_name = crowd_in(config), str(config.mephisto.task.task_name)
    eligibility = read_eligibility(rules, data_dir, task_name, on_mturk=crowd.checks_rules)
    remarks = crowd.remarks(rules, dict(config.mephisto.provider))
    return replace(eligibility, remarks=[*eligibility.remarks, *remarks])
