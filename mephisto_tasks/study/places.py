"""Which place a launch's crowd provider is."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from mephisto_tasks.crowds.link.datastore import PROVIDER_TYPE as LINK
from mephisto_tasks.crowds.link.place import LinkPlace
from mephisto_tasks.crowds.mturk.names import PROVIDERS as ON_MTURK
from mephisto_tasks.crowds.mturk.place import MTurkPlace
from mephisto_tasks.crowds.place import Place, Waiting


def place_of(config: DictConfig, data_dir: Path, task_name: str, waiting_for: Waiting) -> Place:
    """The place from which the raters of a launch come; a provider that is not ours counts as this machine."""
    if is_on_mturk(config):
        return MTurkPlace(config, data_dir, task_name, waiting_for)
    if config.mephisto.provider._provider_type == LINK:
        return LinkPlace(config, data_dir, task_name, waiting_for)
    return Place(config, data_dir, task_name, waiting_for)


def is_on_mturk(config: DictConfig) -> bool:
    """Whether raters come from MTurk or its sandbox."""
    return config.mephisto.provider._provider_type in ON_MTURK
