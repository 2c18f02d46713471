"""Who may take part in a launch: its rules, looked up and handed to whoever holds them in the place of the launch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.data_model.qualification import QUAL_NOT_EXIST
from mephisto.utils.qualifications import make_qualification_dict
from omegaconf import DictConfig

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
    panel = str(provider.get("panel", "") or "").lower()
    if panel in ("", "none"):
        return "invite only people of whom you know it."
    site = Path(panel).stem.capitalize()
    return f"set it on {site}'s page of the study."


def require_on_mturk(config: DictConfig, shared_state: Any, db: Any) -> None:
    """Have MTurk hide the HITs from who may not take part, as far as it can. Nothing is made there yet.

    Args:
        config: of the launch.
        shared_state: Mephisto's, with the study; its provider takes the requirements from there.
        db: Mephisto's database.

    Raises:
        ConfigError: a qualification does not exist on MTurk, or there are too many requirements.
    """
    provider = str(config.mephisto.provider._provider_type)
    if provider not in (MTURK, SANDBOX):
        return
    rules: WorkerRules = shared_state.study.config.workers
    name = str(config.mephisto.provider.requester_name)
    try:
        wanted = mturk_requirements(
            rules, provider == SANDBOX, lambda wanted: qualification_id(_client(db, name), wanted)
        )
    except UnknownQualification as error:
        raise ConfigError(f"{PREFIX}qualifications: {error}") from error
    blocks = [BLOCKED_EVERYWHERE, blocked_here(str(config.mephisto.task.task_name))]
    made = [block for block in blocks if db.find_qualifications(block)]  # somebody was blocked by hand at least once
    ours = [shared_state.study.config.onboarding_qualification, shared_state.study.config.block_qualification, *made]
    total = len(wanted) + sum(bool(one) for one in ours)
    if total > MOST_REQUIREMENTS:
        raise ConfigError(
            f"{PREFIX[:-1]}: MTurk takes {MOST_REQUIREMENTS} requirements, and with ours there are {total}"
        )
    shared_state.mturk_specific_qualifications = wanted
    shared_state.qualifications += [make_qualification_dict(block, QUAL_NOT_EXIST, None) for block in made]


def _client(db: Any, requester_name: str) -> Any:
    requesters = db.find_requesters(requester_name=requester_name)
    if not requesters:
        raise ConfigError(
            f"mephisto.provider.requester_name: there is no requester {requester_name!r} (parlai-humaneval requester list)"
        )
    return requesters[0]._get_client(requesters[0]._requester_name)
