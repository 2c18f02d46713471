"""Accounts in whose name MTurk is asked: requesters, whose keys AWS keeps in ~/.aws."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

import boto3
from mephisto.data_model.requester import Requester
from mephisto.operations.registry import get_crowd_provider_from_type
from omegaconf import OmegaConf

from mephisto_tasks.crowds.base import AccountCheck
from mephisto_tasks.crowds.database import opened
from mephisto_tasks.crowds.mturk.client import BRIEF, balance, client_for, endpoint, keys_in_environment
from mephisto_tasks.crowds.mturk.errors import MTurkError
from mephisto_tasks.crowds.mturk.hits import expire, open_hits, study_mark
from mephisto_tasks.storage.provider_names import PROVIDERS, SANDBOX, SANDBOX_SUFFIX, plain_name
from mephisto_tasks.storage.results import stored_agents
from parlai_humaneval._util.files import make_private_folder

logger = logging.getLogger(__name__)


@dataclass
class MTurkAccounts:
    """Those of one marketplace. It is an :class:`~mephisto_tasks.crowds.base.Accounts`."""

    provider: str

    key_words: tuple[str, ...] = ("AWS access key id", "AWS secret access key")
    needs: str = (
        "two keys of an IAM user who has the policy AmazonMechanicalTurkFullAccess. An AWS profile of that name in ~/.aws, "
        "or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, is used without a question"
    )
    no_keys: str = (
        "there is no AWS profile {name!r} in ~/.aws, no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, "
        "and this is not a terminal where you could type them"
    )
    keys_advice: str = "give one of these"
    only_here: str = "Its keys are those of the environment, and are not kept: set them wherever you launch."

    def has_keys(self, name: str) -> bool:
        """Whether ~/.aws holds a profile of that name."""
        return plain_name(name) in boto3.Session().available_profiles

    def needs_keys(self, name: str) -> bool:
        return not (self.has_keys(name) or keys_in_environment())

    def add(self, data_dir: Path, name: str, keys: tuple[str, ...] | None) -> str:
        """``name`` is also that of the AWS profile; Mephisto stores those of the sandbox with a suffix."""
        make_private_folder(data_dir)
        with opened(data_dir / "database.db") as db:
            stored = ensure_requester(db, name, self.provider)
            if keys is not None:
                requester = db.find_requesters(requester_name=stored)[0]
                given = {"name": name, "access_key_id": keys[0], "secret_access_key": keys[1]}
                requester.register(OmegaConf.create(given))
                Path("~/.aws/credentials").expanduser().chmod(0o600)  # Mephisto leaves it readable for everybody
        return stored

    def check(self, name: str) -> list[AccountCheck]:
        try:
            where = endpoint(self.provider)
            client = client_for(name, self.provider, BRIEF)
            return [AccountCheck(name=name, provider=self.provider, endpoint=where, balance=balance(client))]
        except MTurkError as error:
            return [AccountCheck(name=name, provider=self.provider, wrong=str(error))]

    def forget(self, name: str) -> str:
        return (
            f"The keys of {name} are AWS's: other programs may use them. Delete the profile {plain_name(name)} from "
            "~/.aws/credentials yourself."
        )

    def take_off(self, data_dir: Path, task_name: str) -> int:
        """Raises ResultsError: there is no such task; MTurkError: HITs are still there."""
        stored_agents(data_dir, task_name)
        with opened(data_dir / "database.db") as db:
            return expire_left_over(db, task_name, self.provider)


def stored_name(requester_name: str, provider: str) -> str:
    """The name under which Mephisto keeps a requester of a provider: those of its sandbox have a suffix."""
    profile = plain_name(requester_name)
    return profile + SANDBOX_SUFFIX if provider == SANDBOX else profile


def ensure_requester(db: Any, requester_name: str, provider: str) -> str:
    """Make the requester known to Mephisto's database, where it is not; returns the name that it has there.

    So whoever has keys for one of MTurk's sites goes to the other by one word.
    """
    stored = stored_name(requester_name, provider)
    same = [each for each in db.find_requesters(requester_name=stored) if each.provider_type == provider]
    if not same:
        if db.find_requesters(requester_name=stored):
            raise MTurkError(f"a requester {stored!r} of another provider is there already", try_="choose another name")
        get_crowd_provider_from_type(provider).RequesterClass.new(db, stored)
    return stored


def expire_left_over(db: Any, task_name: str, of_provider: str | None = None) -> int:
    """Take off the market what earlier launches of a task left there, a killed one's HITs; returns how many.

    Asks MTurk only where the task was launched there before; ``of_provider``: on that one alone. Raises MTurkError.
    """
    expired = 0
    for requester, provider, runs in _launches_on_mturk(db, task_name):
        if of_provider not in (None, provider):
            continue
        store = get_crowd_provider_from_type(provider)(db).datastore
        client = client_for(requester, provider)
        left = open_hits(client, set(store.hits_of_runs(runs)), study_mark(str(db.db_root), task_name))
        problems = expire(client, left)
        if problems:
            raise MTurkError(
                f"{len(problems)} of {len(left)} HITs of an earlier launch are still on MTurk ({problems[0]})"
            )
        expired += len(left)
    return expired


def _launches_on_mturk(db: Any, task_name: str) -> Iterable[tuple[str, str, list[str]]]:
    runs: dict[tuple[str, str], list[str]] = {}
    for task in db.find_tasks(task_name=task_name):
        for run in db.find_task_runs(task_id=task.db_id):
            if run.provider_type in PROVIDERS:
                name = Requester.get(db, run.requester_id).requester_name
                runs.setdefault((name, run.provider_type), []).append(run.db_id)
    return [(name, provider, ids) for (name, provider), ids in runs.items()]


def clear_before_launch(db: Any, task_name: str) -> str | None:
    """:func:`expire_left_over`, and a sentence on what was done where anything was."""
    expired = expire_left_over(db, task_name)
    if not expired:
        return None
    logger.warning("%d HITs of an earlier launch of %r were still on MTurk, and were taken off", expired, task_name)
    return (
        f"{expired} HIT(s) of an earlier launch, which did not end cleanly, were still on MTurk: they were taken off."
    )
