"""Which place a launch's crowd provider is.

Who pays for the work of which crowd provider.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from mephisto_tasks.crowds.crowd import Place, Waiting
from mephisto_tasks.crowds.mturk.crowd import MTurkPlace
from mephisto_tasks.crowds.panels.crowd import LinkPlace
from mephisto_tasks.crowds.panels.datastore import PROVIDER_TYPE as LINK
from mephisto_tasks.crowds.panels.payer import FilePayer
from mephisto_tasks.payments.payer import Payer
from mephisto_tasks.storage.provider_names import PROVIDERS as ON_MTURK
from mephisto_tasks.storage.run_settings import read_settings


def payer_of(data_dir: Path, task_name: str, provider: str, requester: str, runs: Sequence[str]) -> Payer:
    """The payer of what was done in these runs of a task."""
    if provider in ON_MTURK:
        from mephisto_tasks.crowds.mturk.payer import MTurkPayer

        launched = read_settings(data_dir, task_name)
        masters_only = launched is not None and bool(launched.settings.get("blueprint.workers.masters"))
        return MTurkPayer(data_dir, provider, requester, runs, masters_only=masters_only)
    return FilePayer(data_dir, task_name, provider, requester)


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
