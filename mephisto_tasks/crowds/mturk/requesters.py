"""Accounts in whose name MTurk is asked: requesters, whose keys AWS keeps in ~/.aws."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from mephisto_tasks._util import compat

compat.prepare()

import boto3
from omegaconf import OmegaConf

from mephisto_tasks.crowds.base import AccountCheck
from mephisto_tasks.crowds.database import opened
from mephisto_tasks.crowds.mturk.client import BRIEF, balance, client_for, endpoint, keys_in_environment
from mephisto_tasks.crowds.mturk.errors import MTurkError
from mephisto_tasks.crowds.mturk.setup import ensure_requester, expire_left_over
from mephisto_tasks.storage.provider_names import plain_name
from mephisto_tasks.storage.results import stored_agents
from parlai_humaneval._util.files import make_private_folder


@dataclass(frozen=True)
class MTurkAccounts:
    """Those of one marketplace. It is an :class:`~mephisto_tasks.crowds.base.Accounts`."""

    provider: str

    key_words: ClassVar[tuple[str, str]] = ("AWS access key id", "AWS secret access key")
    no_keys: ClassVar[str] = (
        "there is no AWS profile {name!r} in ~/.aws, no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, "
        "and no terminal to ask for keys at: give one of these"
    )
    only_here: ClassVar[str] = "Its keys are those of the environment, and are not kept: set them wherever you launch."

    def has_keys(self, name: str) -> bool:
        """Whether ~/.aws holds a profile of that name."""
        return plain_name(name) in boto3.Session().available_profiles

    def needs_keys(self, name: str) -> bool:
        return not (self.has_keys(name) or keys_in_environment())

    def add(self, data_dir: Path, name: str, keys: tuple[str, str] | None) -> str:
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

    def check(self, name: str) -> AccountCheck:
        try:
            where = endpoint(self.provider)
            client = client_for(name, self.provider, BRIEF)
            return AccountCheck(name=name, provider=self.provider, endpoint=where, balance=balance(client))
        except MTurkError as error:
            return AccountCheck(name=name, provider=self.provider, wrong=str(error))

    def take_off(self, data_dir: Path, task_name: str) -> int:
        """Raises ResultsError: there is no such task; MTurkError: HITs are still there."""
        stored_agents(data_dir, task_name)
        with opened(data_dir / "database.db") as db:
            return expire_left_over(db, task_name, self.provider)
