"""Who may take part in a launch: its rules, looked up and handed to whoever holds them in the place of the launch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mephisto_tasks._util import compat

compat.prepare()

from omegaconf import DictConfig

from mephisto_tasks.adapter.task_launcher import MOCK_PROVIDER
from mephisto_tasks.admission.eligibility import PREFIX, Eligibility, read_eligibility
from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.crowds.mturk.requirements import (
    MEPHISTOS_LOCALES,
)
from mephisto_tasks.crowds.panels.panel import NO_PANEL, read_panel
from mephisto_tasks.storage.provider_names import MTURK, PROVIDERS


def load_eligibility(config: DictConfig, rules: WorkerRules, data_dir: Path) -> Eligibility:
    """The rules of a launch as they hold at our door, with remarks on those that the place cannot check.

    Raises:
        ConfigError: a file, study or qualification that cannot be.
    """
    provider = str(config.mephisto.provider._provider_type)
    on_mturk = provider in PROVIDERS
    eligibility = read_eligibility(rules, data_dir, str(config.mephisto.task.task_name), on_mturk=on_mturk)
    remarks = _of_mturk(rules, provider) if on_mturk else _unchecked(rules, _name_of(config))
    return replace(eligibility, remarks=[*eligibility.remarks, *remarks])


def _of_mturk(rules: WorkerRules, provider: str) -> list[str]:
    if provider == MTURK and not rules.locales:
        places = ", ".join(MEPHISTOS_LOCALES)
        return [f"Only workers in {places} will see the task (Mephisto's choice); others: {PREFIX}locales=[…]."]
    return []


def _unchecked(rules: WorkerRules, place: str) -> list[str]:
    """Nothing that is asked for is ignored without a word."""
    return [
        f"Nobody checks here that workers {words} ({PREFIX}{name}): {place}"
        for name, words in rules.checked_by_mturk().items()
    ]


def _name_of(config: DictConfig) -> str:
    provider = config.mephisto.provider
    if provider._provider_type == MOCK_PROVIDER:
        return "MTurk does, on which you can launch with place=mturk."
    panel = str(provider.get("panel", NO_PANEL))
    if panel == NO_PANEL:
        return "invite only people of whom you know it."
    return f"set it on {read_panel(panel).title}'s page of the study."
