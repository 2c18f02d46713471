"""Who may take part in a launch: its rules, looked up and handed to whoever holds them in the place of the launch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.data_model.qualification import QUAL_NOT_EXIST
from mephisto.utils.qualifications import make_qualification_dict
from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.crowds.link.panel import NO_PANEL, read_panel
from mephisto_tasks.crowds.mturk.client import client_for
from mephisto_tasks.crowds.mturk.errors import asking
from mephisto_tasks.engine.config import ConfigError
from mephisto_tasks.study.launcher import MOCK_PROVIDER
from mephisto_tasks.workers.blocking import BLOCKED_EVERYWHERE, blocked_here
from mephisto_tasks.workers.eligibility import PREFIX, Eligibility, read_eligibility
from mephisto_tasks.workers.mturk_requirements import (
    MEPHISTOS_LOCALES,
    MOST_REQUIREMENTS,
    UnknownQualification,
    mturk_requirements,
    qualification_id,
)
from mephisto_tasks.workers.rules import WorkerRules

MTURK, SANDBOX = "mturk", "mturk_sandbox"


def who_may(config: DictConfig, rules: WorkerRules, data_dir: Path) -> Eligibility:
    """The rules of a launch as they hold at our door, with remarks on those that the place cannot check.

    Raises:
        ConfigError: a file, study or qualification that cannot be.
    """
    provider = str(config.mephisto.provider._provider_type)
    on_mturk = provider in (MTURK, SANDBOX)
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


def requirements_on_mturk(config: DictConfig, rules: WorkerRules) -> list[dict[str, Any]]:
    """What MTurk is to require of workers, who do not see the HITs else. It is asked where rules name qualifications of the
    account; nothing is made there.

    Raises:
        ConfigError: a qualification does not exist on MTurk, or there are too many requirements.
        MTurkError: MTurk cannot be asked.
    """
    provider, blueprint = str(config.mephisto.provider._provider_type), config.mephisto.blueprint
    sandbox = provider == SANDBOX

    def id_of(name: str) -> str:
        with asking("look for qualifications"):
            return qualification_id(client_for(str(config.mephisto.provider.requester_name), provider), name, sandbox)

    try:
        wanted = mturk_requirements(rules, sandbox, id_of)
    except UnknownQualification as error:
        raise ConfigError(f"{PREFIX}qualifications: {error}") from error
    ours = [OmegaConf.select(blueprint, name) for name in ("onboarding_qualification", "block_qualification")]
    total = len(wanted) + sum(map(bool, ours)) + len(_blocks(config))
    if total > MOST_REQUIREMENTS:
        raise ConfigError(
            f"{PREFIX[:-1]}: MTurk takes {MOST_REQUIREMENTS} requirements, and with ours there are {total}"
        )
    return wanted


def require(config: DictConfig, shared_state: Any, wanted: list[dict[str, Any]], db: Any) -> None:
    """Hand what MTurk is to require to Mephisto's provider; who was blocked by hand is among it."""
    made = [block for block in _blocks(config) if db.find_qualifications(block)]  # somebody was blocked at least once
    shared_state.mturk_specific_qualifications = wanted
    shared_state.qualifications += [make_qualification_dict(block, QUAL_NOT_EXIST, None) for block in made]


def _blocks(config: DictConfig) -> tuple[str, str]:
    return BLOCKED_EVERYWHERE, blocked_here(str(config.mephisto.task.task_name))
