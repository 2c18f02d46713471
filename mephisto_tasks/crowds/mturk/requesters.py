"""Requesters: the accounts in whose name a crowd provider is asked."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from mephisto_tasks._util import compat

compat.prepare()

import boto3
from omegaconf import OmegaConf
from pydantic import BaseModel, ConfigDict

from mephisto_tasks.crowds.database import opened
from mephisto_tasks.crowds.mturk.client import BRIEF, balance, client_for, endpoint, profile_of
from mephisto_tasks.crowds.mturk.errors import MTurkError
from mephisto_tasks.crowds.mturk.setup import ensure_requester, expire_left_over
from mephisto_tasks.storage.provider_names import PROVIDERS
from mephisto_tasks.storage.results import requesters, stored_agents
from parlai_humaneval._util.files import make_private_folder


class RequesterCheck(BaseModel):
    """What MTurk said when it was asked in a requester's name; ``wrong`` where it did not answer as it should."""

    model_config = ConfigDict(frozen=True)

    name: str
    provider: str
    endpoint: str = ""
    balance: Decimal | None = None
    wrong: str | None = None


def has_profile(name: str) -> bool:
    """True when ~/.aws holds a profile of that name."""
    return profile_of(name) in boto3.Session().available_profiles


def register(data_dir: Path, name: str, provider: str, keys: tuple[str, str] | None) -> str:
    """Register a requester, or renew its keys.

    Args:
        data_dir: Mephisto's data directory, made if need be.
        name: also the name of the AWS profile.
        provider: ``mturk`` or ``mturk_sandbox``.
        keys: AWS access key id and secret, or None to use the profile that is there, or the keys of the environment.

    Returns:
        The name to launch with: Mephisto stores sandbox requesters with a suffix.
    """
    make_private_folder(data_dir)
    with opened(data_dir / "database.db") as db:
        stored = ensure_requester(db, name, provider)
        if keys is not None:
            requester = db.find_requesters(requester_name=stored)[0]
            requester.register(OmegaConf.create({"name": name, "access_key_id": keys[0], "secret_access_key": keys[1]}))
            Path("~/.aws/credentials").expanduser().chmod(0o600)  # Mephisto leaves it readable for everybody
    return stored


def check_requester(name: str, provider: str) -> RequesterCheck:
    """Ask MTurk for the balance in a requester's name."""
    try:
        where = endpoint(provider)
        return RequesterCheck(
            name=name, provider=provider, endpoint=where, balance=balance(client_for(name, provider, BRIEF))
        )
    except MTurkError as error:
        return RequesterCheck(name=name, provider=provider, wrong=str(error))


def check_requesters(data_dir: Path) -> list[RequesterCheck]:
    """:func:`check_requester` for each of MTurk's in the data directory."""
    known = requesters(data_dir) if (data_dir / "database.db").exists() else []
    return [check_requester(name, provider) for name, provider in known if provider in PROVIDERS]


def expire_task(data_dir: Path, task_name: str) -> int:
    """Take every HIT that launches of a task left on MTurk off the market; returns how many there were.

    Raises:
        ResultsError: there is no such task; MTurkError: they are still there.
    """
    stored_agents(data_dir, task_name)
    with opened(data_dir / "database.db") as db:
        return expire_left_over(db, task_name)
