"""Requesters: the accounts in whose name a crowd provider is asked."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions.databases.local_database import LocalMephistoDB
from mephisto.abstractions.providers.mturk.mturk_utils import check_aws_credentials
from mephisto.operations.registry import get_crowd_provider_from_type
from omegaconf import OmegaConf

SANDBOX_SUFFIX = "_sandbox"


def has_profile(name: str) -> bool:
    """True when ~/.aws/credentials holds a profile of that name."""
    return bool(check_aws_credentials(name.removesuffix(SANDBOX_SUFFIX)))


def register(data_dir: Path, name: str, provider: str, keys: tuple[str, str] | None) -> str:
    """Register a requester, or renew its keys.

    Args:
        data_dir: Mephisto's data directory, made if need be.
        name: also the name of the AWS profile.
        provider: ``mturk`` or ``mturk_sandbox``.
        keys: AWS access key id and secret, or None to use the profile that is there.

    Returns:
        The name to launch with: Mephisto stores sandbox requesters with a suffix.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    db = LocalMephistoDB(str(data_dir / "database.db"))
    requester_class = get_crowd_provider_from_type(provider).RequesterClass
    stored = f"{name.removesuffix(SANDBOX_SUFFIX)}{SANDBOX_SUFFIX}" if provider == "mturk_sandbox" else name
    registered = db.find_requesters(requester_name=stored)
    requester = registered[0] if registered else requester_class.new(db, stored)
    if keys is not None:
        requester.register(OmegaConf.create({"name": name, "access_key_id": keys[0], "secret_access_key": keys[1]}))
        Path("~/.aws/credentials").expanduser().chmod(0o600)  # Mephisto leaves it readable for everybody
    return stored
